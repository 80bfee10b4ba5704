"""Models and evaluations in time: which evaluation is nearest to a checkpoint (TiC-LM, Figure 4), how long after an
evaluated period the model that is best on it was trained (Figure 5), and how methods do by the age of their models."""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np

from ticlm.core.periods import Period
from ticlm.platform.analysis.matrix import Array, MethodView, View, nanmean, period
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
    return _nearest_unit(float(np.median([months(period.end) - months(period.start) for period in periods])))


def _nearest_unit(length: float) -> Unit:
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


def age(trained: Period, evaluated: Period) -> float:
    """Return how old a model that was trained up to one period is on the text of another, in months.

    It is 0 in the period in which its training ended, positive on later text and negative on past text. The period
    after its own is as far away as the shorter of the two is long: 1 for months, 3 for quarters.
    """
    end, start, until = months(trained.end), months(evaluated.start), months(evaluated.end)
    if end > until:
        return until - end
    return start - end + min(end - months(trained.start), until - start) if end <= start else 0.0


@dataclass(frozen=True)
class AgeCurve:
    """How a method does by the age of its models: the mean over all cells (a model on a period) of each age."""

    method: str
    ages: tuple[int, ...]
    """In units of the whole, without ages that have no cell."""
    values: Array
    """float64[age]: regret, or raw values where the study has no reference."""
    cells: tuple[int, ...]
    """Number of cells that each mean is over, each itself a mean over seeds."""


@dataclass(frozen=True)
class Ages:
    """The curves of all methods of a view that have cells."""

    unit: Unit
    curves: tuple[AgeCurve, ...]
    left_out: int
    """Cells of runs that are in no mean because another run lacks them."""


def by_age(view: View) -> Ages:
    """Return how each method does by the age of its models, each dated by what it was really trained on.

    Runs that are trained period after period are compared on the same cells: those that all of them have (of those
    that have any). An Oracle series, or another method with fewer models, has cells of its own; those of the reference
    are left out, whose regret is 0 by definition.
    """
    study, unit = view.study, _steps([*view.axes()])
    known = {one.method.name: nanmean(view.relative(one.values), axis=0) for one in view.methods}
    runs = [one.method.name for one in view.methods if one.method.is_run and not np.isnan(known[one.method.name]).all()]
    shared = np.all([~np.isnan(known[name]) for name in runs], axis=0) if runs else None
    left_out, curves = 0, []
    for one in view.methods:
        values = known[one.method.name].copy()
        if one.method.name in runs and shared is not None:
            left_out += int((~np.isnan(values) & ~shared).sum())
            values[~shared] = np.nan
        elif view.reference is not None and study.reference is not None and one.method.name == study.reference[0]:
            values[[label == study.reference[2] for label in one.labels]] = np.nan
        if not np.isnan(values).all() and (curve := _curve(view, one, values, unit)) is not None:
            curves.append(curve)
    return Ages(unit, tuple(curves), left_out)


def _curve(view: View, method: MethodView, values: Array, unit: Unit) -> AgeCurve | None:
    """Return the curve of a method; None for an imported model of no known date (`as_of: outside`), which has no
    age."""
    try:
        trained = [period(view.study.timeline, label) for label in method.labels]
    except ValueError:
        return None
    evaluated = view.axes()[1]
    away = np.array([[age(t, e) / unit.months for e in evaluated] for t in trained]).reshape(values.shape)
    bins, inside = np.floor(away + 0.5).astype(int), ~np.isnan(values)
    ages = sorted(set(bins[inside].tolist()))
    of = [values[inside & (bins == one)] for one in ages]
    return AgeCurve(method.method.name, tuple(ages), np.array([one.mean() for one in of]), tuple(map(len, of)))


def _steps(axes: Sequence[Sequence[Period]]) -> Unit:
    """Return the unit that is nearest to the median distance between neighbours, of the axis where that is longer: with
    a finer one, most ages of a calendar with gaps would have a cell or none."""
    gaps = [np.diff([months(one.end) for one in axis]) for axis in axes if len(axis) > 1]
    lengths = [months(one.end) - months(one.start) for axis in axes for one in axis]
    length = max((float(np.median(gap)) for gap in gaps), default=float(np.median(lengths)))
    return _nearest_unit(length)
