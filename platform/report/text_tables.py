"""Tables of text, for the page and for a terminal: columns of names, and cells with what stands below them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
    study: str = ""
    """The study that it is about, where colours need it."""


def terminal(table: TextTable) -> Table:
    """Return a table for a terminal."""
    from rich.box import HORIZONTALS
    from rich.table import Table
    from rich.text import Text

    out = Table(box=HORIZONTALS, title=table.title, title_justify="left", caption_justify="left")
    for name in table.names:
        out.add_column(name, no_wrap=True)
    for name in table.columns:
        out.add_column(name, justify="right")
    before: tuple[str, ...] = ()
    for line in table.lines:
        if len(line.names) > 1 and before and line.names[0] != before[0]:
            out.add_section()
        names = [name if k or line.names[:1] != before[:1] else "" for k, name in enumerate(line.names)]
        cells = (Text(f"{c.text}\n({c.under})" if c.under else c.text, "bold" * c.stands_out) for c in line.cells)
        out.add_row(*map(Text, names), *cells)
        before = line.names
    return out


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as mappings."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]
