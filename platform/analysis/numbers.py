"""Numbers and headings as the tables of a report print them."""

from __future__ import annotations

import math
from typing import NamedTuple

from ticlm.core.quantities import COUNTS, scaled

HEADINGS = {"backward": "Bwd.", "in_distribution": "ID", "forward": "Fwd."}
"""Heading of a table's column for each of the three means."""


class TableColumn(NamedTuple):
    """A task and a source of text (empty: all of them), which take three columns of the table."""

    task: str
    source: str

    @property
    def name(self) -> str:
        return f"{self.task} · {self.source}" if self.source else self.task


def count(value: float) -> str:
    """Return a count with three digits and a suffix: 224B, 1.16T, 20.5M; a dash if it is not a finite number."""
    return scaled(value, COUNTS) if math.isfinite(value) else "–"


def power(value: float) -> str:
    """Return three digits and a power of ten: 2.10e21; a dash if it is not a finite number."""
    return f"{value:.2e}".replace("e+0", "e").replace("e+", "e") if math.isfinite(value) else "–"


def signed(value: float, digits: int = 3, plus: bool = False) -> str:
    """Return a number with `digits` decimals and a real minus sign; with `plus`, also a sign above zero. Return a dash
    if it is not a finite number."""
    if not math.isfinite(value):
        return "–"
    return ("+" if plus and value > 0 else "") + f"{value:.{digits}f}".replace("-", "−")


def percent(value: float) -> str:
    """Return a share in percent without its unit: 46.0; a dash if it is not a finite number."""
    return signed(100 * value, 1)


def share_bound(share: float, n: int) -> float | None:
    """Return the one-sided bound of 95 % (Clopper and Pearson; about 3 / n from the end) of a share of n outcomes that
    are all alike; None for other shares, and for no outcomes."""
    if n < 1 or share not in (0.0, 1.0):
        return None
    tail = float(0.05 ** (1 / n))
    return 1 - tail if share == 0 else tail


def ratio(value: float) -> str:
    """Return how many times as much: 5.18×; a dash if it is not a finite number."""
    return f"{value:.2f}×" if math.isfinite(value) else "–"
