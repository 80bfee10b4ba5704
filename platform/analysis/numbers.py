"""TODO"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    pass


HEADINGS = {"backward": "Bwd.", "in_distribution": "ID", "forward": "Fwd."}


class TableColumn(NamedTuple):
    """A task and a source of text (empty: all): three columns of the table."""

    task: str
    source: str

    @property
    def name(self) -> str:
        return f"{self.task} · {self.source}" if self.source else self.task


def count(value: float) -> str:
    """Three digits and a suffix: 224B, 1.16T, 20.5M."""
    if not math.isfinite(value):
        return "–"
    for power, suffix in ((12, "T"), (9, "B"), (6, "M"), (3, "K")):
        if abs(value) >= 0.9995 * 10**power:
            return f"{_digits(value / 10**power)}{suffix}"
    return f"{value:.0f}"


def power(value: float) -> str:
    """Three digits and a power of ten: 2.10e21."""
    return f"{value:.2e}".replace("e+0", "e").replace("e+", "e") if math.isfinite(value) else "–"


def signed(value: float, digits: int = 3) -> str:
    """Fixed digits with a real minus sign; a dash where there is no number."""
    return f"{value:.{digits}f}".replace("-", "−") if math.isfinite(value) else "–"


def _digits(value: float) -> str:
    places = 0 if abs(value) >= 99.95 else 1 if abs(value) >= 9.995 else 2
    return f"{value:.{places}f}"
