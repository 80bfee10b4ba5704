"""The numbers that papers print, beside those of a report."""

from __future__ import annotations

from collections.abc import Sequence

from ticlm.platform.display.parts import Part, Section

TITLE = "Beside the numbers that the papers print"
WHAT = (
    "A number of the paper stands beside ours where method and measure have its names. The difference is ours minus "
    "the paper's. It says something about a reproduction only if model, text and budget are those of the paper."
)


def printed(parts: Sequence[Part]) -> tuple[Part, list[str]]:
    """Return the printed numbers of all papers that have parts in a report, and lines about them."""
    found = [one() for part in parts for one in part.printed]
    tables = tuple(one.table for one in found if one.table is not None)
    section = Section("paper", TITLE, tables, notes=(WHAT,), short="Printed numbers")
    whole = Part(TITLE, {one.file: one.frame for one in found}, (section,) if tables else ())
    return whole, [line for one in found for line in one.lines]
