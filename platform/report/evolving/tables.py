"""A table of text: some columns of names, and cells with a number and what stands below it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.numbers import signed

if TYPE_CHECKING:
    import pandas as pd
    from rich.table import Table

Row = Mapping[str, Any]
DIGITS = 2
"""Decimals of percentages, as the paper prints them."""
BOUND = (
    "Where all answers are wrong, or all are right, the one-sided bound of 95 % stands in the place of an error of 0."
)


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
        if before and line.names[0] != before[0]:
            out.add_section()
        names = [name if k or line.names[:1] != before[:1] else "" for k, name in enumerate(line.names)]
        cells = (Text(f"{c.text}\n({c.under})" if c.under else c.text, "bold" * c.stands_out) for c in line.cells)
        out.add_row(*map(Text, names), *cells)
        before = line.names
    return out


def percent(share: float, digits: int = DIGITS) -> str:
    """Return a share in percent without its unit; a dash if it is not known."""
    return signed(100 * share, digits)


def points(difference: float) -> str:
    """Return a difference of shares in points, with its sign."""
    return signed(100 * difference, DIGITS, plus=True)


def plus_minus(error: float, scale: float = 100.0) -> str:
    """Return an error as it stands below a number; empty if it is not known."""
    return f"± {signed(scale * error, DIGITS)}" if math.isfinite(error) else ""


def uncertain(share: float, error: float, n: int) -> str:
    """Return what stands below the mean of n outcomes of 0 or 1: its error; if all of them are alike, of which an error
    would be 0, the one-sided bound of 95 % (Clopper and Pearson; about 3 / n from the end)."""
    if n < 1 or share not in (0.0, 1.0):
        return plus_minus(error)
    tail = 0.05 ** (1 / n)
    return f"≤ {percent(1 - tail)}" if share == 0 else f"≥ {percent(tail)}"


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the rows of a frame as mappings."""
    return [{str(key): value for key, value in row.items()} for row in frame.to_dict("records")]


def blocks(frames: Iterable[pd.DataFrame]) -> list[tuple[str, str]]:
    """Return every (study, block) that these frames are about, in their order."""
    found = dict.fromkeys(
        (str(study), str(block)) for one in frames for study, block in zip(one["study"], one["evolving"])
    )
    return list(found)


def pivoted(
    rows: Sequence[Row], names: Sequence[str], across: str, cell: Callable[[Row], TextCell]
) -> tuple[tuple[str, ...], tuple[TextLine, ...]]:
    """Return (labels, lines): a line for each combination of `names`, and a column for each period in `across`.

    `cell` makes what stands in the place of a row; a dash stands where there is none.
    """
    labels = tuple(sorted({str(row[across]) for row in rows}))
    held: dict[tuple[str, ...], dict[str, TextCell]] = {}
    for row in rows:
        held.setdefault(tuple(str(row[name]) for name in names), {})[str(row[across])] = cell(row)
    lines = (TextLine(key, tuple(by.get(one, TextCell("–")) for one in labels)) for key, by in held.items())
    return labels, tuple(lines)
