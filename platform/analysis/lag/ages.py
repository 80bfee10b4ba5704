"""How methods do by the age of their models: the time from the end of training to the text that is scored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ticlm.core.periods import Period
from ticlm.platform.analysis.lag.calendar import Unit, months, nearest_unit
from ticlm.platform.analysis.matrix import Array, MethodView, View, nanmean, period


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
    return nearest_unit(length)
