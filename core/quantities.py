"""What is shown to people: quantities with three significant digits and a suffix, the largest of many sources, and text
from data without what would steer a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Control characters but tabs and ends of lines; marks that turn the direction of text; halves of surrogate pairs and
what is no character."""
COUNTS = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "K"))
BYTES = ((1e15, " PB"), (1e12, " TB"), (1e9, " GB"), (1e6, " MB"), (1e3, " kB"))
NAMED_SOURCES = 10
"""Most sources of text that a page or a table in the terminal names: 417 of them made a page three times as tall, with
821 figures. Files beside them hold all."""


def scaled(value: float, units: Sequence[tuple[float, str]]) -> str:
    """Return a finite value with three digits and the suffix of the largest of the `units` (scale, suffix) that it
    reaches when rounded: 1.16T, 20.5M. A value below the smallest unit has no decimals and no suffix."""
    for scale, suffix in units:
        # By what a value is rounded to: 999.6 is shown as 1.00K, and 9.996M as 10.0M, never with four digits.
        if abs(value) >= 0.9995 * scale:
            shown = value / scale
            places = 0 if abs(shown) >= 99.95 else 1 if abs(shown) >= 9.995 else 2
            return f"{shown:.{places}f}{suffix}"
    return f"{value:.0f}"


def size(count: float) -> str:
    """Return a number of bytes with three digits and a unit: 20.5 MB."""
    return f"{count:.0f} B" if count < 1000 else scaled(count, BYTES)


def rate(count: float, seconds: float, unit: str) -> str:
    """Return how fast `count` units were done, per second, minute or hour, so that at least one is: 12 cells/min."""
    if count <= 0 or seconds <= 0:
        return ""
    for span, name in ((1, "s"), (60, "min"), (3600, "h")):
        if count / seconds * span >= 1 or name == "h":
            break
    found = count / seconds * span
    return f"{found:,.0f} {unit}/{name}" if found >= 9.95 else f"{found:,.1f} {unit}/{name}"


def duration(seconds: float) -> str:
    """Return a time in words of a clock: 14 s, 3 min 05 s, 2 h 03 min."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest:02d} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"


def printable(text: str) -> str:
    """Return a text with the characters of STEERING spelled as Python does: \\x1b, \\u202e."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


def one_line(text: str, most: int) -> str:
    """Return a text that a model wrote on one line: ends of lines as ↵, other white space as one space, steering
    characters spelled (`printable`), and what is longer than `most` characters cut, with … at the end."""
    plain = re.sub(r"\s+", " ", re.sub(r" *(\r\n|\r|\n) *", " ↵ ", text)).strip()
    shown = printable(plain[: most + 1])  # cut first: a text of megabytes is not worth spelling
    return shown if len(shown) <= most else f"{shown[: most - 1].rstrip()}…"


def largest(names: Iterable[str], sizes: Mapping[str, float]) -> list[str]:
    """Return the NAMED_SOURCES largest sources, largest first, and equal ones by name.

    `sizes` are tokens of the train text over all periods, or what was scored where nothing else is known of a text; a
    source that is not there has none.
    """
    return sorted(names, key=lambda name: (-sizes.get(name, 0), name))[:NAMED_SOURCES]
