"""Pictures of models: their scores over the periods, and how far each is from the first one there."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from ticlm.platform.analysis.matrix import View
from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.charts import Axis, Chart, Series
from ticlm.platform.display.models.wording import Apart, sentence, task_name, unit_name
from ticlm.platform.display.words import measured


def charts(view: View, apart: Apart) -> Iterator[Chart]:
    labels, what = view.evaluated, quantity(view.metric)
    task = f"{task_name(view)}: " if task_name(view) else ""
    better = "higher" if view.metric.higher_is_better else "lower"
    name = view.study.name
    yield Chart(
        title=f"{task}{what.name} by period" if task else sentence(f"{what.name} by period"),
        kind="line",
        labels=labels,
        y=Axis(f"{measured(view.metric, False)}, {better} is better"),
        series=tuple(
            Series(one.method.name, _known(one.values[0, 0] * what.scale), method=one.method.name)
            for one in view.methods
        ),
        study=name,
        figure=("models", name, view.task),
    )
    if len(view.methods) < 2:
        return
    first = view.methods[0].method.name
    series = []
    for one in view.methods[1:]:
        found = [apart.get((view.task, "", label, one.method.name)) for label in view.evaluated]
        lost = [of is None or not math.isfinite(of[1]) or of[1] <= 0 <= of[2] for of in found]
        tips = [_tip(of, view) for of in found]
        y = [None if of is None else what.scale * of[0] for of in found]
        series.append(Series(one.method.name, y, method=one.method.name, tips=tips, hollow=lost))
    yield Chart(
        title=f"{task}each model minus {first}" if task else f"Each model minus {first}",
        kind="line",
        labels=labels,
        y=Axis(f"minus {first}, {unit_name(view)}", "plus", line=0),
        series=tuple(series),
        study=name,
        figure=("models-apart", name, view.task),
    )


def _tip(found: tuple[float, float, float] | None, view: View) -> str:
    if found is None:
        return "not scored"
    what = quantity(view.metric)
    value, low, high = (signed(what.scale * number, what.digits, plus=True) for number in found)
    return f"{value} (95 %: {low} to {high})" if math.isfinite(found[1]) else value


def _known(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values.tolist()]
