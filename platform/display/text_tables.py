"""Tables of text, for the page and for a terminal: columns of names, and cells with what stands below them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

Row = Mapping[str, Any]


@dataclass(frozen=True)
class TextCell:
    """A text, and what stands in brackets below it; `stands_out`: in bold."""

    text: str
    under: str = ""
    stands_out: bool = False


@dataclass(frozen=True)
class TextLine:
    """A row: its names, and a cell for each column."""

    names: tuple[str, ...]
    cells: tuple[TextCell, ...]


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
        out.add_column(f"{above[place]}\n{name}" if above else name, justify="right")
    before: tuple[str, ...] = ()
    for line in table.lines:
        if len(line.names) > 1 and before and line.names[0] != before[0]:
            out.add_section()
        names = [name if k or line.names[:1] != before[:1] else "" for k, name in enumerate(line.names)]
        cells = (Text(f"{c.text}\n({c.under})" if c.under else c.text, "bold" * c.stands_out) for c in line.cells)
        out.add_row(*map(Text, names), *cells)
        before = line.names
    return out


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
        end, own = at + sum(sizes), table.groups[begun : begun + len(sizes)]
        lines = tuple(replace(line, cells=line.cells[at:end]) for line in table.lines)
        found.append(replace(table, columns=table.columns[at:end], lines=lines, groups=own))
        at, begun = end, begun + len(sizes)
    return found


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as mappings."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]
