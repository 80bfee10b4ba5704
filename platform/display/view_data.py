"""The numbers behind the charts of one evaluation, as JSON.

A matrix travels as 16-bit steps above the lowest value of its view, in base64: 2.7 bytes a cell, each wrong by at most
1/131068 of the view's range. All values are in the units in which they are shown, so shares are in percent.
"""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ticlm.core.fingerprint import hash64
from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.analysis.lag.calendar import Unit, nearest, places, unit
from ticlm.platform.analysis.lag.peaks import describe, peaks
from ticlm.platform.analysis.leaders import best_overall, leaders
from ticlm.platform.analysis.matrix import Array, MethodView, View, cost_of
from ticlm.platform.analysis.metrics import Quantity, quantity
from ticlm.platform.analysis.numbers import HEADINGS, TableColumn
from ticlm.platform.display.scales import limit, spread
from ticlm.platform.display.table_rows import lines
from ticlm.platform.display.words import measured
from ticlm.platform.display.words import unit as counted
from ticlm.platform.results.study_result import TaskMetric

if TYPE_CHECKING:
    import pandas as pd

MISSING = 65535
KINDS = {"forward": 0, "backward": 1, "in_distribution": 2, "uncounted": 3, "unasked": 4}


def view_payload(view: View, summary: pd.DataFrame, preset: Preset, differences: pd.DataFrame) -> dict[str, Any]:
    """Return the numbers of the charts of one task and source.

    `summary` holds its means, `differences` those between methods (analysis/paired_bootstrap.py).
    """
    what = quantity(view.metric)
    matrices = [what.scale * method.mean for method in view.methods]
    reference = None if view.reference is None else what.scale * view.reference
    shown = [what.scale * view.relative(one.mean) for one in view.methods if not one.method.frozen_of]
    low, high = spread([*matrices, *([] if reference is None else [reference])])
    lowest, highest = spread(matrices)
    step = (high - low) / (MISSING - 1) or 1.0
    trained, evaluated = view.axes()
    period = unit(view.study.timeline.periods)
    return {
        "name": view.name,
        "metric": _metric(what, view.metric),
        "evaluated": view.evaluated,
        "asked": _asked(view),
        "places": places(evaluated),
        "low": low,
        "step": step,
        "lowest": rounded(lowest),
        "highest": rounded(highest),
        "limit": rounded(what.scale * limit([m / what.scale for m in shown])),
        "widest": rounded(max((float(np.nanmax(np.abs(m))) for m in shown if not np.isnan(m).all()), default=1.0)),
        "kinds": base64.b64encode(_kinds(view, preset).tobytes()).decode(),
        "nearest": nearest(trained, evaluated),
        "reference": None if reference is None else _encode(reference, low, step),
        "matrices": [_encode(matrix, low, step) for matrix in matrices],
        "means": _means(view, summary, what),
        "carried": [_carried(method) for method in view.methods],
        "curves": [_curve(view, method, what) for method in view.methods],
        "unit": period.name,
        "lags": [None if method.method.frozen_of else _lag(view, method, period) for method in view.methods],
        "differences": _differences(view, summary, differences, what),
    }


def _asked(view: View) -> str:
    """Return a hash of what was asked on each period; empty if that is not known, or of a single source of text."""
    known = {} if view.source else view.study.asked.get(view.task, {})
    return f"{hash64(repr(sorted(known.items()))):016x}" if known else ""


def rounded(value: float, digits: int = 6) -> float | None:
    """Round to the digits that a chart can show; returns None for NaN, which JSON lacks."""
    return float(f"{value:.{digits}g}") if np.isfinite(value) else None


def _metric(what: Quantity, metric: TaskMetric) -> dict[str, object]:
    return {
        "name": what.name,
        "titled": what.titled,
        "measured": measured(metric, False),
        "unit": what.unit,
        "difference": what.difference,
        "counted": counted(metric, True),
        "digits": what.digits,
        "log": what.is_log,
        "higher": what.higher_is_better,
    }


def _kinds(view: View, preset: Preset) -> NDArray[np.uint8]:
    cells = view.cells(preset)
    kinds = np.full(cells.forward.shape, KINDS["uncounted"], np.uint8)
    for name in ("forward", "backward", "in_distribution"):  # what is both backward and ID shows as ID
        kinds[getattr(cells, name)] = KINDS[name]
    kinds[~view.asked] = KINDS["unasked"]
    return kinds


def _encode(values: Array, low: float, step: float) -> str:
    steps = np.where(np.isnan(values), MISSING, np.rint((np.nan_to_num(values, nan=low) - low) / step))
    return base64.b64encode(steps.astype("<u2").tobytes()).decode()


def _means(view: View, summary: pd.DataFrame, what: Quantity) -> list[str]:
    """Return the three means of each method, as one line of text for each."""
    rows = summary[(summary["study"] == view.study.name) & (summary["task"] == view.task)]
    own = lines(rows[rows["source"] == view.source], [TableColumn(view.task, view.source)])
    values = {line.method: line.values for line in own}
    return [
        " · ".join(
            f"{name}\u00a0{what.text(value.exact)}"
            for name, value in zip(HEADINGS.values(), values.get(m.method.name, ()))
        )
        for m in view.methods
    ]


def _differences(view: View, summary: pd.DataFrame, every: pd.DataFrame, what: Quantity) -> dict[str, object] | None:
    """Return the differences by mean, each as [method A, method B, A − B, low, high] with methods by their positions.

    `best` is the method that the others are shown against first, `up` whether a positive difference is an improvement.
    `against` are the methods that all others are compared with, where these are not all methods. Returns None if no
    difference is known.
    """
    own = every[(every["study"] == view.study.name) & (every["task"] == view.task) & (every["source"] == view.source)]
    held = len(own) // len(HEADINGS)
    own = own[own["difference"].notna()]
    if not len(own):
        return None
    place = {method.method.name: i for i, method in enumerate(view.methods)}
    by_mean: dict[str, object] = {}
    for mean, rows in own.groupby("mean", sort=False):
        values = what.scale * rows[["difference", "low", "high"]].to_numpy(float)
        pairs = zip(rows["method_a"].map(place), rows["method_b"].map(place), values)
        by_mean[str(mean)] = [[int(a), int(b), *(rounded(value, 4) for value in ends)] for a, b, ends in pairs]
    up, best = view.reference is None and what.higher_is_better, best_overall(view, summary)
    told: dict[str, object] = {"best": 0 if best is None else place[best], "up": up}
    if held < len(place) * (len(place) - 1) // 2:
        told["against"] = [place[name] for name in leaders(view, summary)]
    return by_mean | told


def _carried(method: MethodView) -> list[str | None] | None:
    if not method.method.is_oracle:
        return None
    return [None if place is None else method.labels[place] for place in method.carried]


def _curve(view: View, method: MethodView, what: Quantity) -> dict[str, object]:
    """Return what each model had cost in all, and its mean over all evaluated periods (TiC-LM, Figure 1)."""
    wanted = view.asked_of(method.method, method.labels) & view.has_text
    missing = (np.isnan(method.values) & wanted).sum(axis=(0, 2))
    costs = {
        name: [rounded(v) for v in cost_of(view.study, method.method, method.labels, name)]
        for name in ("tokens", "flops")
    }
    mean = [rounded(what.scale * value) for value in method.overall]
    return {"labels": method.labels, **costs, "mean": mean, "missing": missing.tolist()}


def _lag(view: View, method: MethodView, unit: Unit) -> dict[str, object]:
    """Return the best checkpoint for each evaluated period, and its distance in units of the study's periods (TiC-LM,
    Figure 5)."""
    best = peaks(view, method)
    return {
        "told": describe(best, unit),
        "best": [None if peak is None else peak.label for peak in best],
        "distances": [None if peak is None else rounded(peak.lag / unit.months) for peak in best],
        "edge": [peak is not None and peak.at_edge for peak in best],
    }
