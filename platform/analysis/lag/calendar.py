"""How far periods lie apart, and the units in which that is said."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from ticlm.core.periods import Period
from ticlm.platform.analysis.numbers import signed


def months(day: date) -> float:
    """Return the months from the start of year 0 to a day; a day counts as its share of its month."""
    return 12 * day.year + day.month - 1 + (day.day - 1) / monthrange(day.year, day.month)[1]


def apart(trained: Period, evaluated: Period) -> float:
    """Return the months from an evaluated period to the end of a trained one.

    It is 0 if training ended within the evaluated period, positive if training went on after it (201403 is 1 after
    201402), and negative if training ended before it.
    """
    end, until = months(trained.end), months(evaluated.end)
    since = min(months(evaluated.start) + 1, until)
    if end > until:
        return end - until
    return min(end - since, 0.0)


def nearest(trained: Sequence[Period], evaluated: Sequence[Period]) -> list[int]:
    """Return for each trained period the position of the evaluation nearest in time; of two at the same distance, the
    earlier one."""
    positions = []
    for checkpoint in trained:
        away = [apart(checkpoint, e) for e in evaluated]
        positions.append(min(range(len(away)), key=lambda j: (round(abs(away[j]), 9), away[j] < 0)))
    return positions


def places(periods: Sequence[Period]) -> list[float]:
    """Return the middle of each period on an axis of months."""
    return [round((months(p.start) + months(p.end)) / 2, 2) for p in periods]


@dataclass(frozen=True)
class Unit:
    """The unit of lags: the length of a study's periods."""

    name: str
    months: float


WEEK, MONTH, QUARTER = Unit("week", 12 * 7 / 365.25), Unit("month", 1), Unit("quarter", 3)
HALF_YEAR, YEAR = Unit("half-year", 6), Unit("year", 12)


def unit(periods: Sequence[Period]) -> Unit:
    """Return the unit that is nearest to the median length of the periods."""
    return nearest_unit(float(np.median([months(period.end) - months(period.start) for period in periods])))


def nearest_unit(length: float) -> Unit:
    """Return the unit that is nearest to a length in months."""
    return min((WEEK, MONTH, QUARTER, HALF_YEAR, YEAR), key=lambda one: abs(np.log(length / one.months)))


def lag_text(lag: float, unit: Unit = MONTH) -> str:
    """Return a lag of so many units in words: +14 months, −1 week, 0 quarters."""
    shown = signed(lag, 1, plus=True).removesuffix(".0")
    shown = "0" if shown in ("+0", "−0") else shown
    return f"{shown} {unit.name}{'' if shown in ('+1', '−1') else 's'}"
