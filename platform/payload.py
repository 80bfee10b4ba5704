"""The numbers behind the page's charts, as JSON.

Matrices are 16-bit steps above the lowest value of their view, in base64: 2.7 bytes a cell, each off by at most
1/131068 of the view's range.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ticlm.platform import palette
from ticlm.platform.contamination import Contamination, contamination
from ticlm.platform.layout import HEADINGS, Score, lines, scores
from ticlm.platform.matrix import Array, MethodView, View, cost_of
from ticlm.platform.results import StudyResult
from ticlm.platform.scales import limit, spread, thin
from ticlm.platform.textfigures import subsets_of
from ticlm.platform.transfer import TransferRule

if TYPE_CHECKING:
    import pandas as pd

MISSING = 65535
POINTS = 3000
"""Points of a scatter plot at most; a browser draws each as an element of its own."""
KINDS = {"forward": 0, "backward": 1, "in_distribution": 2}
RAMPS = ("diverging", "diverging_dark", "sequential", "sequential_dark")


def payload(
    results: Sequence[StudyResult], seen: Sequence[Sequence[View]], summary: pd.DataFrame, rule: TransferRule
) -> dict[str, object]:
    labels = {(line.study, line.method): line.label for line in lines(summary, scores(summary))}
    ramps: dict[str, object] = {name: getattr(palette, name.upper()) for name in RAMPS}
    return {
        "kinds": KINDS,
        "palette": ramps | {"lines": palette.SEQUENTIAL[1:]},
        "studies": [_study(study, views, labels, summary, rule) for study, views in zip(results, seen) if views],
    }


def _study(
    study: StudyResult,
    views: Sequence[View],
    labels: dict[tuple[str, str], str],
    summary: pd.DataFrame,
    rule: TransferRule,
) -> dict[str, object]:
    methods = [
        {"label": labels[study.name, m.name], "color": color, "oracle": m.is_oracle}
        for m, color in zip(study.methods, palette.colors(study.methods))
    ]
    return {
        "name": study.name,
        "checkpoints": study.checkpoints,
        "methods": methods,
        "views": [_view(view, summary, rule) for view in views],
        "rates": _rates(study),
        "text": _text(study) if study.text else None,
        "contamination": [_contamination(found) for found in contamination(views)],
    }


def _view(view: View, summary: pd.DataFrame, rule: TransferRule) -> dict[str, Any]:
    matrices = [method.mean for method in view.methods]
    shown = [view.relative(matrix) for matrix in matrices]
    low, high = spread([*matrices, *([] if view.reference is None else [view.reference])])
    step = (high - low) / (MISSING - 1) or 1.0
    widest = max((float(np.nanmax(np.abs(m))) for m in shown if not np.isnan(m).all()), default=1.0)
    means = {
        line.method: line for line in lines(summary, [Score(view.task, view.source)]) if line.study == view.study.name
    }
    return {
        "name": view.name,
        "evaluated": view.evaluated,
        "low": low,
        "step": step,
        "lowest": _round(spread(matrices)[0]),
        "highest": _round(spread(matrices)[1]),
        "limit": _round(limit(shown)),
        "widest": _round(widest),
        "kinds": base64.b64encode(_kinds(view, rule).tobytes()).decode(),
        "reference": None if view.reference is None else _encode(view.reference, low, step),
        "matrices": [_encode(matrix, low, step) for matrix in matrices],
        "means": [
            " · ".join(
                f"{name}\u00a0{value.text}" for name, value in zip(HEADINGS.values(), means[m.method.name].values)
            )
            for m in view.methods
        ],
        "carried": [_carried(method) for method in view.methods],
        "curves": [_curve(view.study, method) for method in view.methods],
    }


def _kinds(view: View, rule: TransferRule) -> NDArray[np.uint8]:
    cells = view.cells(rule)
    kinds = np.where(cells.backward, KINDS["backward"], KINDS["forward"])
    return np.where(cells.in_distribution, KINDS["in_distribution"], kinds).astype(np.uint8)


def _encode(values: Array, low: float, step: float) -> str:
    steps = np.where(np.isnan(values), MISSING, np.rint((np.nan_to_num(values, nan=low) - low) / step))
    return base64.b64encode(steps.astype("<u2").tobytes()).decode()


def _carried(method: MethodView) -> list[str | None] | None:
    if not method.method.is_oracle:
        return None
    return [None if place is None else method.labels[place] for place in method.carried]


def _curve(study: StudyResult, method: MethodView) -> dict[str, object]:
    """Figure 1 of TiC-LM: what each model had cost in all, and its mean over all evaluated periods."""
    overall, missing = method.overall
    costs = {
        name: [_round(v) for v in cost_of(study, method.method, method.labels, name)] for name in ("tokens", "flops")
    }
    mean = [_round(value) for value in overall]
    return {"labels": method.labels, **costs, "mean": mean, "missing": missing.tolist()}


def _rates(study: StudyResult) -> list[dict[str, object]]:
    """Learning rates of each method's first seed, thinned out; methods with the same ones share a line."""
    found: dict[bytes, dict[str, Any]] = {}
    for place, method in enumerate(study.methods):
        mine = study.rates[(study.rates["method"] == method.name) & (study.rates["seed"] == min(method.seeds))]
        if method.is_oracle or not len(mine):
            continue
        rates, steps = mine["rate"].to_numpy(float), mine["step"].to_numpy(float)
        same = rates.tobytes() + steps.tobytes()
        if same not in found:
            at = thin(rates)
            line = {"steps": [int(steps[i]) for i in at], "rates": [_round(rates[i]) for i in at]}
            found[same] = line | {"methods": [], "periods": [mine["period"].iloc[i] for i in at]}
        found[same]["methods"].append(place)
    return [line | {"color": palette.APART[i % len(palette.APART)]} for i, line in enumerate(found.values())]


def _text(study: StudyResult) -> dict[str, object]:
    subsets = [
        {
            "name": name,
            "color": palette.APART[(place + 1) % len(palette.APART)],
            "shares": [_round(text.shares.get(name, np.nan)) for text in study.text],
        }
        for place, name in enumerate(subsets_of(study))
    ]
    return {
        "labels": [text.label for text in study.text],
        "tokens": [text.tokens for text in study.text],
        "color": palette.APART[0],
        "subsets": subsets,
    }


def _contamination(found: Contamination) -> dict[str, object]:
    """The comparison in words and its points, or as many of them, evenly chosen, as are drawn."""
    points = found.points
    if len(points) > POINTS:
        points = points.iloc[np.linspace(0, len(points) - 1, POINTS).round().astype(int)]
    series = []
    for place, method in enumerate(found.study.methods):
        mine = points[points["method"] == method.name]
        if len(mine):
            values = {name: [_round(value) for value in mine[f"regret_{name}"]] for name in ("before", "after")}
            periods = {name: mine[name].tolist() for name in ("trained", "evaluated")}
            series.append({"method": place, **periods, **values})
    return {
        "name": found.name,
        "what": found.what,
        "splits": [found.split, found.study.splits[found.after.task]],
        "told": found.told(),
        "whole": len(found.points),
        "series": series,
    }


def _round(value: float) -> float | None:
    """Six digits are all a chart shows; JSON has no NaN."""
    return float(f"{value:.6g}") if np.isfinite(value) else None
