"""How numbers of EvolvingQA are written, and rows of frames as tables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from ticlm.platform.analysis.numbers import share_bound, signed
from ticlm.platform.display.text_tables import Row, TextCell, TextLine

if TYPE_CHECKING:
    import pandas as pd

DIGITS = 2
"""Decimals of percentages, as the paper prints them."""
BOUND = (
    "Where all answers are wrong, or all are right, the one-sided bound of 95 % stands in the place of an error of 0."
)


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
    would be 0, their `share_bound`."""
    bound = share_bound(share, n)
    return plus_minus(error) if bound is None else bounded(share, bound)


def bounded(share: float, bound: float) -> str:
    """Return the one-sided bound of a share of 0 or 1 as it stands below it."""
    return f"{'≤' if share == 0 else '≥'} {percent(bound)}"


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
