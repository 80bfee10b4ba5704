"""Standard output that outlives its reader."""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import Any


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
