"""Tables of text, for the page and for a terminal: columns of names, and cells with what stands below them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import accumulate, groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

Row = Mapping[str, Any]
BLOCK = 48
"""Characters of a line of what stands above a block, in a terminal: its column does not wrap by itself."""


@dataclass(frozen=True)
class TextCell:
    """A text, and what stands in brackets below it; `stands_out`: in bold."""

    text: str
    under: str = ""
    stands_out: bool = False
    mark: str = ""
    """What stands behind the text, such as ★ and †."""
    hint: str = ""
    """What the page says of it where the pointer rests."""
    tone: str = ""
    """Of a text that was compared with an answer: `right`, `outdated` or `wrong`. The page colours it."""


@dataclass(frozen=True)
class TextLine:
    """A row: its names, and a cell for each column."""

    names: tuple[str, ...]
    cells: tuple[TextCell, ...]
    about: str = ""
    """What the row stands for, beside its name."""
    block: str = ""
    """What stands above this row and those after it of the same block."""
    method: str = ""
    """The method whose colour it has; empty: that of its first name."""
    is_apart: bool = False
    """Whether it is shown in another way than the rows that compete, as Oracle series are."""
    command: str = ""
    """The command that gives the row again; the page offers to copy it."""


@dataclass(frozen=True)
class TextTable:
    """A table; `main`: it is shown at once, and in the terminal too."""

    title: str
    names: tuple[str, ...]
    """Headings of the names of a row."""
    columns: tuple[str, ...]
    lines: tuple[TextLine, ...]
    notes: tuple[str, ...] = ()
    main: bool = False
    prose: bool = False
    """Whether its cells are texts, not numbers."""
    heading: str = ""
    """What stands above this table and those after it with the same heading."""
    groups: tuple[tuple[str, int], ...] = ()
    """Headings above the columns, each with the number of columns below it; none, or one for all columns."""
    hints: tuple[str, ...] = ()
    """What the page says of each column where the pointer rests; none, or one for each, which may be empty."""
    group_hints: tuple[str, ...] = ()

    def begins(self, column: int) -> bool:
        """Return whether a column is the first of a group, which is set off; without groups all of them are."""
        return not self.groups or column in accumulate((number for _, number in self.groups), initial=0)

    def hint(self, column: int) -> str:
        return self.hints[column] if self.hints else ""

    def group_hint(self, place: int) -> str:
        return self.group_hints[place] if self.group_hints else ""

    @property
    def by_block(self) -> list[tuple[str, list[TextLine]]]:
        """Neighbouring rows of one block, and its name."""
        return [(block, list(lines)) for block, lines in groupby(self.lines, key=lambda line: line.block)]


def parts(table: TextTable, most: int) -> list[TextTable]:
    """Return a table with groups of columns in parts of about `most` columns each, and any other table as it is. The
    first part has the title, the last one the notes."""
    if not table.groups:
        return [table]
    *others, last = split(table, most)
    found = [*(replace(one, notes=()) for one in others), last]
    return [replace(one, title="" if k else one.title) for k, one in enumerate(found)]


def terminal(table: TextTable) -> Table:
    """Return a table for a terminal."""
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    above = [name if k == 0 else "" for name, number in table.groups for k in range(number)]
    out = Table(box=HORIZONTALS, title=table.title, title_justify="left", caption_justify="left")
    for name in table.names:
        out.add_column(f"\n{name}" if above else name, no_wrap=True)
    for place, name in enumerate(table.columns):
        heading = f"{above[place]}\n{name}" if above else name
        out.add_column(heading, justify="left" if table.prose else "right")
    has_marks = any(cell.mark for line in table.lines for cell in line.cells)
    before = TextLine((), ())
    for line in table.lines:
        if before.names and (line.block != before.block or (len(line.names) > 1 and line.names[0] != before.names[0])):
            out.add_section()
        if line.block != before.block:
            out.add_row(Text("\n".join(wrap(line.block, BLOCK)), "italic"))
        names = [name if k or line.names[:1] != before.names[:1] else "" for k, name in enumerate(line.names)]
        names[0] += f"\n  {line.about}" if line.about else ""
        out.add_row(
            *map(Text, names), *(Text(_written(cell, has_marks), "bold" * cell.stands_out) for cell in line.cells)
        )
        before = line
    return out


def _written(cell: TextCell, has_marks: bool) -> str:
    """Return a cell above what is below it; a space takes the place of a mark, so that digits align."""
    return f"{cell.text}{cell.mark or ' ' * has_marks}" + (f"\n({cell.under})" if cell.under else "")


def split(table: TextTable, most: int) -> list[TextTable]:
    """Return tables of about `most` columns each, with the same rows, for a terminal. Groups of columns stay whole."""
    groups = table.groups or tuple(("", 1) for _ in table.columns)
    parts: list[list[int]] = []
    at = 0
    for _, number in groups:
        if not parts or sum(parts[-1]) + number > most:
            parts.append([])
        parts[-1].append(number)
    found, begun = [], 0
    for sizes in parts:
        end, last = at + sum(sizes), begun + len(sizes)
        lines = tuple(replace(line, cells=line.cells[at:end]) for line in table.lines)
        part = replace(table, columns=table.columns[at:end], lines=lines, hints=table.hints[at:end])
        found.append(replace(part, groups=table.groups[begun:last], group_hints=table.group_hints[begun:last]))
        at, begun = end, last
    return found


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as mappings."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]
