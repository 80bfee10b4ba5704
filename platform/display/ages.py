"""How methods do by the age of their models: the picture of staleness, which the matrices hold and no mean shows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ticlm.platform.analysis.lag.ages import AgeCurve, Ages, by_age
from ticlm.platform.analysis.lag.calendar import Unit, lag_text
from ticlm.platform.analysis.matrix import View
from ticlm.platform.analysis.metrics import quantity, worth
from ticlm.platform.analysis.numbers import signed
from ticlm.platform.display.charts import Axis, Chart, Series
from ticlm.platform.display.parts import Part, Section
from ticlm.platform.display.words import measured, reference_name, tasks_of, title
from ticlm.platform.results.study_result import StudyResult, as_frame

NAME = TITLE = "How models age"
COLUMNS = ("study", "task", "metric", "relative", "method", "age", "unit", "value", "cells")
FEW = 3
"""Fewest cells of a point that is drawn full."""
TOLD = 600
"""Most points whose tooltips say more than their values: of twelve methods on nine evaluations they took 200 kB."""


@dataclass(frozen=True)
class _Aged:
    """One evaluation of a study, and its curves."""

    view: View
    ages: Ages

    @property
    def relative(self) -> bool:
        return self.view.reference is not None


def part(results: Sequence[StudyResult], views: Sequence[Sequence[View]]) -> Part:
    """Return a chart for each study and evaluation whose cells are of two ages or more, and its numbers.

    Views of single sources of text have no chart of their own: 400 sources would be 400 charts.
    """
    every = [_Aged(view, by_age(view)) for of in views for view in of if not view.source]
    found = [one for one in every if len({age for curve in one.ages.curves for age in curve.ages}) > 1]
    frame = as_frame([row for one in found for row in _rows(one)], COLUMNS)
    if not found:
        return Part(NAME, counts_as_benchmark=False)
    tasks = tasks_of(results)
    is_told = sum(len(curve.ages) for one in found for curve in one.ages.curves) <= TOLD
    charts = tuple(_chart(one, title(one.view.task, tasks), len(results) > 1, is_told) for one in found)
    section = Section("ages", TITLE, charts=charts, notes=tuple(_notes(found)), is_second=True)
    return Part(NAME, {"ages": frame}, (section,), counts_as_benchmark=False)


def _rows(one: _Aged) -> Iterator[dict[str, object]]:
    view = one.view
    for curve in one.ages.curves:
        for age, value, cells in zip(curve.ages, curve.values.tolist(), curve.cells):
            yield {
                "study": view.study.name,
                "task": view.task,
                "metric": view.metric.name,
                "relative": one.relative,
                "method": curve.method,
                "age": age,
                "unit": one.ages.unit.name,
                "value": value,
                "cells": cells,
            }


def _chart(one: _Aged, task: str, several: bool, is_told: bool) -> Chart:
    view, unit = one.view, one.ages.unit
    better = "higher" if view.metric.higher_is_better and not one.relative else "lower"
    study = f"{view.study.name}: " if several else ""
    return Chart(
        title=f"{task} by age of the model",
        kind="line",
        series=tuple(_series(one, curve, is_told) for curve in one.ages.curves),
        x=Axis(f"age of the model, {unit.name}s; below 0: past text", "plus", whole=True, line=0),
        y=Axis(
            f"{study}mean {measured(view.metric, one.relative)}, {better} is better", line=0 if one.relative else None
        ),
        study=view.study.name,
        task=view.task,
        figure=("ages", view.study.name, view.task),
    )


def _series(one: _Aged, curve: AgeCurve, is_told: bool) -> Series:
    values = curve.values * quantity(one.view.metric).scale
    return Series(
        curve.method,
        values.tolist(),
        x=curve.ages,
        method=curve.method,
        tips=[_tip(one, *of) for of in zip(curve.ages, curve.values.tolist(), curve.cells)] if is_told else (),
        hollow=[cells < FEW for cells in curve.cells],
    )


def _tip(one: _Aged, age: int, value: float, cells: int) -> str:
    what = quantity(one.view.metric)
    shown = signed(what.scale * value, what.digits, plus=one.relative)
    name = "regret" if one.relative else what.name
    beside = worth(value) if one.relative and what.is_log else ""
    told = f"{name} {shown}{f' ({beside})' if beside else ''}"
    return f"{_when(age, one.ages.unit)}: {told}, mean of {cells} cell{'s' * (cells > 1)}"


def _when(age: int, unit: Unit) -> str:
    if age == 0:
        return "in its own period"
    told = lag_text(abs(age), unit).removeprefix("+")
    return f"{told} after its training" if age > 0 else f"text {told} before"


def _notes(found: Sequence[_Aged]) -> Iterator[str]:
    """Yield how the means are taken, and only what the charts show."""
    relative = any(one.relative for one in found)
    names = " or ".join(dict.fromkeys(filter(None, (reference_name(one.view.study) for one in found))))
    hard = (
        f"Regret is relative to {names}, so it does not matter how hard a period is."
        if relative
        else "There is no reference, so the values also depend on how hard each period is."
    )
    lost = sum(one.ages.left_out for one in found)
    left_out = f" {lost:,} cells that some of them lack are left out." if lost else ""
    few = any(cells < FEW for one in found for curve in one.ages.curves for cells in curve.cells)
    hollow = (
        f" A hollow mark is a mean of fewer than {FEW} cells: only the first models are scored on text that is much "
    )
    yield (
        "The age of a model is the time from the last period that it was trained on to the period that it is scored "
        "on. Each mark is the mean over all cells of one age. Right of 0 is text from after the training, left of 0 "
        "is past text. The marks of a line are not of the same models, and later models were trained longer. "
        f"{hard} All methods that are updated are compared on the same cells.{left_out}"
        + f"{hollow}later, and only the last ones on text that is much older."
        * few
    )
