"""When the model that is best on an evaluated period was trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ticlm.platform.analysis.lag.calendar import MONTH, Unit, apart, lag_text
from ticlm.platform.analysis.matrix import MethodView, View, nanmean, period


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


def describe(found: Sequence[Peak | None], unit: Unit = MONTH) -> str:
    """Return the median lag in words, and how many of the peaks lie at an end of the training."""
    known = [peak for peak in found if peak is not None]
    if not known:
        return "no values"
    median = float(np.median([peak.lag for peak in known]))
    edges = sum(peak.at_edge for peak in known)
    more = f"; {edges} of {len(known)} at the first or last model" if edges else ""
    return f"median {lag_text(median / unit.months, unit)}{more}"
