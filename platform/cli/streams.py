"""Standard output: a reader that goes away stops no work, and text from data cannot steer a terminal."""

from __future__ import annotations

import io
import os
import re
import sys
from contextlib import suppress
from typing import Any

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but tabs and ends of lines; marks that turn the direction of text; halves of surrogate pairs."""


def printable(text: str) -> str:
    """Return a text with the characters of STEERING spelled as Python does: \\x1b, \\u202e."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def outlive_readers() -> None:
    """Make standard output drop what is written once nobody reads it, as in `ticlm run … | head -1`.

    What its encoding lacks is spelled as Python does. Does nothing where standard output is no file of the system.
    """
    with suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Outlives(sys.stdout.fileno(), "wb", closefd=False)),
            encoding=sys.stdout.encoding,
            errors="backslashreplace",
            line_buffering=sys.stdout.isatty(),
        )


class _Outlives(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(data)
