"""Models and evaluations in time: which evaluation is nearest to a checkpoint (TiC-LM, Figure 4), and how long after an
evaluated period the model that is best on it was trained (Figure 5)."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from ticlm.core.periods import Period
from ticlm.platform.analysis.matrix import MethodView, View, nanmean, period
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
class Peak:
    """The model of a method that is best on one evaluated period; the first if several are equally good."""

    label: str
    """The last period that the model was trained on."""
    lag: float
    """Months from the evaluated period to that period; positive if the method became best at the period only later."""
    at_edge: bool
    """Whether it is the first or last of the method's models that were scored on the period, so that the best might lie
    beyond."""


def peaks(view: View, method: MethodView) -> list[Peak | None]:
    """Return for each evaluated period the best of the method's own models by the mean over seeds; None if none was
    scored on the period. The models of an Oracle series are those of its cutoffs."""
    values = nanmean(method.values, axis=0)
    if view.metric.higher_is_better:
        values = -values
    _, evaluated = view.axes()
    trained = [period(view.study.timeline, label) for label in method.labels]
    found: list[Peak | None] = []
    for j, e in enumerate(evaluated):
        column = values[:, j]
        if np.isnan(column).all():
            found.append(None)
            continue
        best, scored = int(np.nanargmin(column)), np.flatnonzero(~np.isnan(column))
        found.append(Peak(method.labels[best], apart(trained[best], e), best in (scored[0], scored[-1])))
    return found


@dataclass(frozen=True)
class Unit:
    """The unit of lags: the length of a study's periods."""

    name: str
    months: float


WEEK, MONTH, QUARTER = Unit("week", 12 * 7 / 365.25), Unit("month", 1), Unit("quarter", 3)
HALF_YEAR, YEAR = Unit("half-year", 6), Unit("year", 12)


def unit(periods: Sequence[Period]) -> Unit:
    """Return the unit that is nearest to the median length of the periods."""
    length = float(np.median([months(period.end) - months(period.start) for period in periods]))
    return min((WEEK, MONTH, QUARTER, HALF_YEAR, YEAR), key=lambda one: abs(np.log(length / one.months)))


def describe(found: Sequence[Peak | None], unit: Unit = MONTH) -> str:
    """Return the median lag in words, and how many of the peaks lie at an end of the training."""
    known = [peak for peak in found if peak is not None]
    if not known:
        return "no values"
    median = float(np.median([peak.lag for peak in known]))
    edges = sum(peak.at_edge for peak in known)
    more = f"; {edges} of {len(known)} at the first or last model" if edges else ""
    return f"median {lag_text(median / unit.months, unit)}{more}"


def lag_text(lag: float, unit: Unit = MONTH) -> str:
    """Return a lag of so many units in words: +14 months, −1 week, 0 quarters."""
    shown = signed(lag, 1, plus=True).removesuffix(".0")
    shown = "0" if shown in ("+0", "−0") else shown
    return f"{shown} {unit.name}{'' if shown in ('+1', '−1') else 's'}"
