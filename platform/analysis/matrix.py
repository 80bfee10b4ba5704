"""Cells pivoted into matrices (trained, evaluated): what tables, figures and the page of a report are made from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.analysis.results import MethodResult, StudyResult, TaskMetric
from ticlm.platform.analysis.transfer import Cells, Matrix, carry_forward, regret
from ticlm.platform.core.periods import Period, Timeline, span

if TYPE_CHECKING:
    import pandas as pd

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MethodView:
    """One method's values for one task and source. Missing cells are NaN."""

    method: MethodResult
    labels: tuple[str, ...]
    """Trained periods the method has models for: the study's checkpoints, or an Oracle's cutoffs."""
    values: Array
    """[seed, label, evaluated]"""
    carried: tuple[int | None, ...]
    """For each checkpoint of the study, the position in `labels` of the model that stands for it."""

    @cached_property
    def by_seed(self) -> Array:
        """[seed, checkpoint, evaluated]: what transfer is computed from."""
        rows = np.full((len(self.values), len(self.carried), self.values.shape[2]), np.nan)
        for row, source in enumerate(self.carried):
            if source is not None:
                rows[:, row] = self.values[:, source]
        return rows

    @cached_property
    def mean(self) -> Matrix:
        """[checkpoint, evaluated], the mean over the seeds that have the cell."""
        return nanmean(self.by_seed, axis=0)

    @cached_property
    def overall(self) -> tuple[Array, NDArray[np.int64]]:
        """For each label, the mean over all evaluated periods and seeds, and how many of those cells are missing."""
        return nanmean(self.values, axis=(0, 2)), np.isnan(self.values).sum(axis=(0, 2))


@dataclass(frozen=True)
class View:
    """A study seen through one task and one source of text (empty: all of them)."""

    study: StudyResult
    task: str
    source: str
    evaluated: tuple[str, ...]
    reference: Array | None
    """[evaluated]: values of the reference model; None where the study reports raw values."""
    methods: tuple[MethodView, ...]

    @property
    def name(self) -> str:
        return f"{self.task} · {self.source}" if self.source else self.task

    @property
    def metric(self) -> TaskMetric:
        return self.study.metric(self.task)

    def relative(self, values: Array) -> Array:
        """`values` [..., evaluated] as regret, of which less is better whatever the metric, or as they are where there
        is no reference."""
        if self.reference is None:
            return values
        found = regret(values.reshape(-1, len(self.evaluated)), self.reference).reshape(values.shape)
        return -found if self.metric.higher_is_better else found

    def axes(self) -> tuple[list[Period], list[Period]]:
        """Trained and evaluated periods of the matrices."""
        timeline = self.study.timeline
        return [period(timeline, c) for c in self.study.checkpoints], [period(timeline, e) for e in self.evaluated]

    def cells(self, preset: Preset) -> Cells:
        """Which cells [checkpoint, evaluated] are of which kind; what the task's convention leaves out is of none."""
        return preset.of(self.task).cells(*self.axes())


def views(study: StudyResult) -> tuple[View, ...]:
    """Every task and source of a study that has cells, tasks as they come, all text before its sources."""
    wanted = study.cells["task"].map(lambda task: study.metric(task).name)
    rows = study.cells[study.cells["metric"] == wanted]
    identity = ["method", "seed", "trained", "evaluated", "task", "source"]
    if twice := int(rows.duplicated(identity).sum()):
        raise ValueError(f"study {study.name}: {twice} cells stand twice in the frame")
    pairs = list(dict.fromkeys(zip(rows["task"], rows["source"])))
    tasks = list(dict.fromkeys(task for task, _ in pairs))
    pairs.sort(key=lambda pair: (tasks.index(pair[0]), pair[1] != ""))
    groups = dict(list(rows.groupby(["task", "source"], sort=False)))
    return tuple(_view(study, task, source, groups[task, source]) for task, source in pairs)


def period(timeline: Timeline, label: str) -> Period:
    """The period with this label: the timeline's, or else (an evaluation of another calendar) what the label says."""
    if label in timeline.labels:
        return timeline.periods[timeline.index(label)]
    start, end = span(label)
    return Period(label=label, start=start, end=end)


def cost_of(study: StudyResult, method: MethodResult, labels: Sequence[str], name: str) -> Array:
    """Cumulative cost at each label, the mean over seeds; NaN where it is not known."""
    mine = study.costs[study.costs["method"] == method.name]
    return mine.groupby("trained")[name].mean().reindex(list(labels)).to_numpy(float)


def nanmean(values: Array, axis: int | tuple[int, ...]) -> Array:
    """Mean of what is not NaN, NaN where nothing is left; without the warning of numpy's own."""
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _view(study: StudyResult, task: str, source: str, rows: pd.DataFrame) -> View:
    evaluated = study.evaluated_by_task.get(task, study.evaluated)
    methods = tuple(_method(study, m, evaluated, rows[rows["method"] == m.name]) for m in study.methods)
    return View(study, task, source, evaluated, _reference(study, evaluated, rows), methods)


def _method(study: StudyResult, method: MethodResult, evaluated: Sequence[str], rows: pd.DataFrame) -> MethodView:
    labels = _cutoffs(study, method, rows) if method.is_oracle else study.checkpoints
    values = np.full((len(method.seeds), len(labels), len(evaluated)), np.nan)
    at = [_positions(axis, rows[name]) for axis, name in ((method.seeds, "seed"), (labels, "trained"))]
    at.append(_positions(evaluated, rows["evaluated"]))
    inside = (at[0] >= 0) & (at[1] >= 0) & (at[2] >= 0)
    values[at[0][inside], at[1][inside], at[2][inside]] = rows["value"].to_numpy(float)[inside]
    if not method.is_oracle:
        return MethodView(method, labels, values, tuple(range(len(labels))))
    cutoffs, checkpoints = ([period(study.timeline, label) for label in axis] for axis in (labels, study.checkpoints))
    return MethodView(method, labels, values, carry_forward(cutoffs, checkpoints))


def _cutoffs(study: StudyResult, method: MethodResult, rows: pd.DataFrame) -> tuple[str, ...]:
    """Cutoffs that were trained or scored: one whose cells are all missing must not give way to an older one."""
    trained = study.costs.loc[study.costs["method"] == method.name, "trained"]
    return tuple(sorted({*rows["trained"], *trained}, key=study.timeline.index))


def _reference(study: StudyResult, evaluated: Sequence[str], rows: pd.DataFrame) -> Array | None:
    if study.reference is None:
        return None
    method, seed, trained = study.reference
    borrowed = method not in (one.name for one in study.methods)
    own = rows[(rows["method"] == method) & (rows["seed"] == seed) & (rows["trained"] == trained)]
    if own.empty and borrowed:  # a study of others, which may not have this task
        return None
    return own.set_index("evaluated")["value"].reindex(list(evaluated)).to_numpy(float)


def _positions(axis: Sequence[object], values: pd.Series) -> NDArray[np.intp]:
    """Position of each value on the axis, −1 where it is not on it."""
    place = {label: i for i, label in enumerate(axis)}
    return np.array([place.get(value, -1) for value in values.tolist()], dtype=np.intp)
