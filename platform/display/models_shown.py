"""What a report shows of models from anywhere: their scores by period and by source, and how far each is from the
first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ticlm.core.quantities import largest
from ticlm.platform.analysis.matrix import View
from ticlm.platform.analysis.metrics import is_loss, quantity
from ticlm.platform.analysis.models.differences import model_differences
from ticlm.platform.analysis.numbers import percent, signed
from ticlm.platform.display.charts import Axis, Chart, Series
from ticlm.platform.display.parts import Part, Section
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.display.words import measured, period, tasks_of, title, unit
from ticlm.platform.results.study_result import StudyResult, TaskMetric

if TYPE_CHECKING:
    import pandas as pd

NAME = "Models"
BITS = TaskMetric("bits-per-byte")
INTERVALS = (
    "In brackets is the 95 % interval, a paired bootstrap over {}; if it leaves out 0, the difference is bold. The "
    "mean gives every period the same weight."
)
Apart = dict[tuple[str, str, str, str], tuple[float, float, float]]
"""(task, source, period, model) -> a difference from the first model, and the ends of its interval."""


def part(results: Sequence[StudyResult], views: Sequence[Sequence[View]]) -> Part:
    """Return the sections and the frame of differences of the studies of models."""
    found = [(study, list(of)) for study, of in zip(results, views) if study.of_models]
    sections, frames, sentences = list[Section](), list["pd.DataFrame"](), list[tuple[str, str]]()
    for study, of in found:
        frame = model_differences(of)
        frames.append(frame)
        apart = _apart(frame)
        sections += [
            one
            for one in (
                by_period(of, apart),
                by_source(of, apart),
                static(study.static, [one.name for one in study.methods]),
            )
            if one.tables
        ]
        sentences += [(study.name, line) for view in of if not view.source for line in _sentences(view, apart)]
    differences = [frame for frame in frames if len(frame)]
    return Part(
        NAME,
        {"models": differences[0]} if differences else {},
        tuple(sections),
        tuple(sentences),
        counts_as_benchmark=False,
    )


def by_period(views: Sequence[View], apart: Apart) -> Section:
    """Return a table and charts for each task: a row for each period, or for each model where there are more models."""
    whole = [view for view in views if not view.source]
    tables = tuple(_of_periods(view, apart, _task(view)) for view in whole)
    charts = tuple(chart for view in whole for chart in _charts(view, apart))
    notes = tuple(dict.fromkeys(line for view in whole for line in _notes(view)))
    return Section("by-period", "By period", tables, charts, notes, is_first=True)


def by_source(views: Sequence[View], apart: Apart) -> Section:
    """Return a table for each task with several sources of text: the mean over periods in each of the largest ones."""
    tables, tasks = [], tasks_of([views[0].study]) if views else []
    for task in tasks:
        own = {view.source: view for view in views if view.task == task and view.source}
        if not own:
            continue
        cells = views[0].study.cells
        sizes = cells[(cells["task"] == task) & (cells["source"] != "")].groupby("source")["n"].sum().to_dict()
        shown = [own[name] for name in largest(own, sizes)]
        lines = tuple(
            TextLine((view.source,), (*_values(view, None), *_differences(view, apart, "")), method="")
            for view in shown
        )
        left = (f"{len(own) - len(shown)} smaller sources are in the files alone",) * (len(own) > len(shown))
        tables.append(_table(shown[0], _task(shown[0]), "source", lines, left))
    return Section("by-source", "By source of text", tuple(tables), is_first=True)


def static(frame: pd.DataFrame, names: Sequence[str]) -> Section:
    """Return a table of the tasks without periods (STATIC_COLUMNS): a row for each number, a column for each model."""
    lines = []
    for (task, source, metric), rows in frame.groupby(["task", "source", "metric"], sort=False):
        values = dict(zip(rows["method"], rows["value"].astype(float)))
        write = (lambda value: signed(value, 3)) if is_loss(str(metric)) else percent
        cells = tuple(TextCell(write(values[name]) if name in values else "–") for name in names)
        lines.append(TextLine((str(task), str(source) or "all", str(metric)), cells))
    table = TextTable("Tasks without periods", ("task", "part", "metric"), tuple(names), tuple(lines), main=True)
    return Section("without-periods", "Tasks without periods", (table,) if lines else ())


def _task(view: View) -> str:
    """Return the name of a task; empty if the study has one alone."""
    tasks = tasks_of([view.study])
    return title(view.task, tasks) if len(tasks) > 1 else ""


def _of_periods(view: View, apart: Apart, task: str) -> TextTable:
    labels = list(view.evaluated)
    if len(labels) >= len(view.methods):
        counted = _texts(view)
        lines = [
            TextLine(
                (period(label),),
                (*_values(view, place), *_differences(view, apart, label), *_count(counted, label)),
            )
            for place, label in enumerate(labels)
        ]
        whole = (*_values(view, None), *_differences(view, apart, ""), *_count(counted, ""))
        lines.append(TextLine(("mean",), whole, is_apart=True))
        return _table(view, task, "period", tuple(lines), counts=bool(counted))
    columns = (*map(period, labels), "mean", *[f"minus {view.methods[0].method.name}"] * (len(view.methods) > 1))
    places: list[int | None] = [*range(len(labels)), None]
    lines = [
        TextLine(
            (one.method.name,),
            (
                *(_values(view, place)[row] for place in places),
                *([TextCell("")] if not row else [_differences(view, apart, "")[row - 1]]),
            )[: len(columns)],
        )
        for row, one in enumerate(view.methods)
    ]
    heading = f"{task}: {measured(view.metric, False)}" if task else _sentence(measured(view.metric, False))
    return TextTable(heading, ("model",), columns, tuple(lines), main=True)


def _table(
    view: View, task: str, what: str, lines: tuple[TextLine, ...], notes: tuple[str, ...] = (), counts: bool = False
) -> TextTable:
    """Return a table with a column for each model, and one for the difference of each from the first."""
    names = [one.method.name for one in view.methods]
    shown = measured(view.metric, False) + (", and bits per byte" if _beside(view) is not None else "")
    groups = [("value", len(names))]
    groups += [(f"minus {names[0]}", len(names) - 1)] * (len(names) > 1) + [("", 1)] * counts
    columns = (*names, *names[1:], *["texts"] * counts)
    return TextTable(
        f"{task}: {shown}" if task else _sentence(shown),
        (what,),
        columns,
        lines,
        notes,
        main=True,
        groups=tuple(groups),
    )


def _values(view: View, place: int | None) -> list[TextCell]:
    """Return the value of each model in a period, or the mean over all periods; with bits per byte beside it."""
    beside, what = _beside(view), quantity(view.metric)
    cells = []
    for row, one in enumerate(view.methods):
        own = float(one.values[0, 0, place]) if place is not None else _mean(one.values[0, 0])
        text = what.text(own) if math.isfinite(own) else "–"
        if beside is not None:
            other = float(beside[row, place]) if place is not None else _mean(beside[row])
            text += f" / {signed(other, 3)}"
        cells.append(TextCell(text))
    return cells


def _differences(view: View, apart: Apart, label: str) -> list[TextCell]:
    """Return how far each model but the first is from the first one."""
    what, cells = quantity(view.metric), []
    for one in view.methods[1:]:
        found = apart.get((view.task, view.source, label, one.method.name))
        if found is None:
            cells.append(TextCell("–"))
            continue
        value, low, high = (what.scale * number for number in found)
        told = f" ({signed(low, what.digits, plus=True)}, {signed(high, what.digits, plus=True)})"
        is_certain = math.isfinite(low) and not low <= 0 <= high
        cells.append(TextCell(signed(value, what.digits, plus=True) + told * math.isfinite(low), stands_out=is_certain))
    return cells


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}"


def _unit(view: View) -> str:
    """Return the unit of differences: `nats per token`, `bits per byte`, `points`."""
    return quantity(BITS).name if view.metric.name == BITS.name else unit(view.metric, True)


def _beside(view: View) -> np.ndarray[tuple[int, int], np.dtype[np.float64]] | None:
    """Return the bits per byte float64[models, periods] of a task that is compared by another loss; else None."""
    cells = view.study.cells
    own = cells[(cells["task"] == view.task) & (cells["source"] == view.source) & (cells["metric"] == BITS.name)]
    if view.metric.name == BITS.name or not len(own):
        return None
    values = dict(zip(zip(own["method"], own["evaluated"]), own["value"].astype(float)))
    return np.array(
        [[values.get((one.method.name, label), np.nan) for label in view.evaluated] for one in view.methods]
    )


def _texts(view: View) -> dict[str, int]:
    """Return how many texts each period has, and all under ""; empty where their losses were not kept."""
    kept = view.study.predictions
    if kept is None or not len(kept):
        return {}
    own = kept[(kept["task"] == view.task) & (kept["method"] == view.methods[0].method.name)]
    found = {str(label): len(rows) for label, rows in own.groupby("label")}
    return found | {"": sum(found.values())} if found else {}


def _count(counted: dict[str, int], label: str) -> list[TextCell]:
    return [TextCell(f"{counted.get(label, 0):,}")] if counted else []


def _charts(view: View, apart: Apart) -> Iterator[Chart]:
    labels, what = tuple(map(period, view.evaluated)), quantity(view.metric)
    task = f"{_task(view)}: " if _task(view) else ""
    better = "higher" if view.metric.higher_is_better else "lower"
    name = view.study.name
    yield Chart(
        title=f"{task}{what.name} by period" if task else _sentence(f"{what.name} by period"),
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
        y=Axis(f"difference, {_unit(view)}", "plus", line=0),
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


def _notes(view: View) -> Iterator[str]:
    """Yield what is compared, and what the intervals are over."""
    if view.metric.name == BITS.name:
        yield (
            "The tokenizers differ, so the models are compared in bits per byte: nats per token of two tokenizers are "
            "not of the same tokens."
        )
    elif _beside(view) is not None:
        several = "The models have one tokenizer, so nats per token are compared; b" if len(view.methods) > 1 else "B"
        yield f"{several}ehind the stroke are bits per byte."
    if len(view.methods) > 1:
        yield INTERVALS.format("texts, drawn within each period" if _texts(view) else "periods")


def _sentences(view: View, apart: Apart) -> Iterator[str]:
    """Yield how each model compares with the first one."""
    first, what = view.methods[0].method.name, quantity(view.metric)
    where = f" on {_task(view)}" if _task(view) else ""
    for one in view.methods[1:]:
        found = apart.get((view.task, "", "", one.method.name))
        if found is None:
            continue
        value, low, high = found
        gap = f"{signed(abs(value) * what.scale, what.digits)} {_unit(view)}"
        told = f" (95 %: {', '.join(signed(what.scale * end, what.digits, plus=True) for end in (low, high))})"
        told *= math.isfinite(low)
        side = "better" if (value < 0) != view.metric.higher_is_better else "worse"
        single = [apart.get((view.task, "", label, one.method.name)) for label in view.evaluated]
        same = sum(of is not None and (of[0] < 0) == (value < 0) for of in single)
        if math.isfinite(low) and low <= 0 <= high:
            yield f"{one.method.name} cannot be told apart from {first}{where}: {gap} {side}{told}."
        else:
            yield f"{one.method.name} is {gap} {side} than {first}{where}{told}, in {same} of {len(single)} periods."


def _apart(frame: pd.DataFrame) -> Apart:
    names = ("task", "source", "period", "model", "difference", "low", "high")
    return {(t, s, p, m): (d, low, high) for t, s, p, m, d, low, high in zip(*(frame[name] for name in names))}


def _known(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float | None]:
    return [None if math.isnan(value) else float(value) for value in values.tolist()]


def _mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan
