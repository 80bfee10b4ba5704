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
    """Return the printed numbers of all papers that have parts in a report, and lines about them. A paper of which no
    number can be compared says so only if no other one has any."""
    every = [one() for part in parts for one in part.printed]
    found = [one for one in every if one.tables] or every
    tables = tuple(table for one in found for table in one.tables)
    lines = list(dict.fromkeys(line for one in found for line in one.lines))
    told = {note for table in tables for note in table.notes}
    notes = (WHAT, *(line for line in lines if line not in told))
    section = Section("paper", TITLE, tables, notes=notes, short="Printed numbers")
    return Part(TITLE, {one.file: one.frame for one in found}, (section,)), lines
