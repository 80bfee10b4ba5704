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
from ticlm.platform.display.models.charts import charts
from ticlm.platform.display.models.wording import BITS, Apart, sentence, task_name, unit_name
from ticlm.platform.display.parts import Part, Section, joined
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable
from ticlm.platform.display.words import measured, period, tasks_of
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd

NAME = "Models"
INTERVALS = (
    "In brackets is the 95 % interval, a paired bootstrap over {}; if it leaves out 0, the difference is bold. The "
    "mean gives every period the same weight."
)
OVER_TEXTS = "texts within each period (over periods, where one of a mean has a single text)"


def part(results: Sequence[StudyResult], views: Sequence[Sequence[View]]) -> Part:
    """Return the sections, the sentences and the frame of differences of the studies of models."""
    return joined([_of_study(study, of) for study, of in zip(results, views) if study.of_models])


def _of_study(study: StudyResult, views: Sequence[View]) -> Part:
    frame = model_differences(views)
    apart, names = _apart(frame), [one.name for one in study.methods]
    dated = set() if study.dated_changes is None else set(study.dated_changes["task"])
    others = study.static[~study.static["task"].isin(dated)]  # of dated changes, the age says more than their mean
    sections = (by_period(views, apart), by_source(views, apart), static(others, names))
    sentences = [(study.name, line) for view in views if not view.source for line in _sentences(view, apart)]
    shown = tuple(one for one in sections if one.tables)
    return Part(NAME, {"models": frame}, shown, tuple(sentences), counts_as_benchmark=False)


def by_period(views: Sequence[View], apart: Apart) -> Section:
    """Return a table and charts for each task: a row for each period, or for each model where there are more models."""
    whole = [view for view in views if not view.source]
    tables = tuple(_of_periods(view, apart, task_name(view)) for view in whole)
    drawn = tuple(chart for view in whole for chart in charts(view, apart))
    notes = tuple(dict.fromkeys(line for view in whole for line in _notes(view)))
    return Section("by-period", "By period", tables, drawn, notes, is_first=True)


def by_source(views: Sequence[View], apart: Apart) -> Section:
    """Return a table for each task with several sources of text: the mean over periods in each of the largest ones."""
    tables, tasks = [], tasks_of([views[0].study]) if views else []
    for task in tasks:
        own = {view.source: view for view in views if view.task == task and view.source}
        if not own:
            continue
        cells = views[0].study.cells
        counted = cells[(cells["task"] == task) & (cells["source"] != "")].groupby("source")["n"].sum()
        sizes = {str(source): float(n) for source, n in counted.items()}
        shown = [own[name] for name in largest(own, sizes)]
        lines = tuple(
            TextLine((view.source,), (*_values(view, None), *_differences(view, apart, "")), method="")
            for view in shown
        )
        left = (f"{len(own) - len(shown)} smaller sources are in the files alone",) * (len(own) > len(shown))
        tables.append(_table(shown[0], task_name(shown[0]), "source", lines, left))
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
    heading = f"{task}: {measured(view.metric, False)}" if task else sentence(measured(view.metric, False))
    return TextTable(heading, ("model",), columns, tuple(lines), main=True)


def _table(
    view: View, task: str, what: str, lines: tuple[TextLine, ...], notes: tuple[str, ...] = (), counts: bool = False
) -> TextTable:
    """Return a table with a column for each model, and one for the difference of each from the first."""
    names = [one.method.name for one in view.methods]
    shown = measured(view.metric, False) + (", and bits per byte" if _beside(view) is not None else "")
    groups = [(quantity(view.metric).name, len(names))]
    groups += [(f"minus {names[0]}", len(names) - 1)] * (len(names) > 1) + [("", 1)] * counts
    columns = (*names, *names[1:], *["texts"] * counts)
    return TextTable(
        f"{task}: {shown}" if task else sentence(shown),
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
        yield INTERVALS.format(OVER_TEXTS if _texts(view) else "periods")


def _sentences(view: View, apart: Apart) -> Iterator[str]:
    """Yield how each model compares with the first one."""
    first, what = view.methods[0].method.name, quantity(view.metric)
    where = f" on {task_name(view)}" if task_name(view) else ""
    for one in view.methods[1:]:
        found = apart.get((view.task, "", "", one.method.name))
        if found is None:
            continue
        value, low, high = found
        gap = f"{signed(abs(value) * what.scale, what.digits)} {unit_name(view)}"
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


def _mean(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
    known = values[~np.isnan(values)]
    return float(known.mean()) if len(known) else math.nan
