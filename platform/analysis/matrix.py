"""Matrices of cell values, indexed (trained, evaluated): the tables, figures and page of a report come from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ticlm.core.periods import Period, Timeline, span
from ticlm.platform.analysis.cell_columns import CellColumns
from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.analysis.transfer import Cells, Matrix, carry_forward, regret
from ticlm.platform.results.study_result import MethodResult, StudyResult, TaskMetric

Array = NDArray[np.float64]


@dataclass(frozen=True)
class MethodView:
    """The values of one method for one task and source. Missing cells are NaN."""

    method: MethodResult
    labels: tuple[str, ...]
    """Trained periods of the method's models: the study's checkpoints, the cutoffs of an Oracle series, or the one of
    the model that is never updated."""
    values: Array
    """float64[seed, label, evaluated]"""
    carried: tuple[int | None, ...]
    """For each checkpoint of the study, the position in `labels` of the model to use there; None if there is none."""

    @cached_property
    def by_seed(self) -> Array:
        """float64[seed, checkpoint, evaluated], from which transfer is computed."""
        rows = np.full((len(self.values), len(self.carried), self.values.shape[2]), np.nan)
        for row, source in enumerate(self.carried):
            if source is not None:
                rows[:, row] = self.values[:, source]
        return rows

    @cached_property
    def mean(self) -> Matrix:
        """float64[checkpoint, evaluated], the mean over the seeds that have the cell."""
        return nanmean(self.by_seed, axis=0)

    def rows_by_cutoff(self, counted: NDArray[np.bool_]) -> list[str]:
        """Return `cutoff:number` for each model of an Oracle series: at how many checkpoints with
        counted cells [checkpoint, evaluated] it stands. None for other methods."""
        used = [self.labels[at] for at, row in zip(self.carried, counted) if at is not None and row.any()]
        return [f"{one}:{used.count(one)}" for one in self.labels if one in used] if self.method.is_oracle else []

    @cached_property
    def overall(self) -> Array:
        """float64[label], the mean over all evaluated periods and seeds that have a cell."""
        return nanmean(self.values, axis=(0, 2))


@dataclass(frozen=True)
class View:
    """A study seen through one task and one source of text (empty: all of them)."""

    study: StudyResult
    task: str
    source: str
    evaluated: tuple[str, ...]
    reference: Array | None
    """Values of the reference model, float64[evaluated]; None if the study reports raw values."""
    methods: tuple[MethodView, ...]

    @property
    def name(self) -> str:
        return f"{self.task} · {self.source}" if self.source else self.task

    @property
    def metric(self) -> TaskMetric:
        return self.study.metric(self.task)

    def relative(self, values: Array) -> Array:
        """Return `values` [..., evaluated] as regret, of which lower is better for every metric. If there is no
        reference, return them unchanged."""
        if self.reference is None:
            return values
        difference = regret(values.reshape(-1, len(self.evaluated)), self.reference).reshape(values.shape)
        return -difference if self.metric.higher_is_better else difference

    @property
    def frozen(self) -> MethodView | None:
        """The model that is never updated; None if there is none."""
        return next((one for one in self.methods if one.method.frozen_of), None)

    @property
    def updated(self) -> NDArray[np.bool_]:
        """Which checkpoints bool[checkpoint, 1] are not the first model itself."""
        first = () if self.frozen is None else self.frozen.labels
        return np.array([label not in first for label in self.study.checkpoints], bool)[:, np.newaxis]

    def axes(self) -> tuple[list[Period], list[Period]]:
        """Return the trained and the evaluated periods of the matrices."""
        timeline = self.study.timeline
        return [period(timeline, c) for c in self.study.checkpoints], [period(timeline, e) for e in self.evaluated]

    def cells(self, preset: Preset) -> Cells:
        """Return which cells [checkpoint, evaluated] are backward, in-distribution and forward by the task's
        convention. A cell that the convention leaves out, that the task does not ask for, or that is of a period
        without text of the source, is none of the three."""
        return preset.of(self.task).cells(*self.axes()).within(self.asked & self.has_text)

    @cached_property
    def has_text(self) -> NDArray[np.bool_]:
        """Which evaluated periods have text of the source: those with a cell of any method, or all of them for the
        whole text, of which every period must have some.

        A source that is silent in a month is compared over the others, which are the same for all methods. Where one
        method lacks a cell that another one has, the cell is missing.
        """
        if not self.source:
            return np.ones(len(self.evaluated), bool)
        return np.asarray(np.any([~np.isnan(one.values).all(axis=(0, 1)) for one in self.methods], axis=0), np.bool_)

    @cached_property
    def asked(self) -> NDArray[np.bool_]:
        """Which cells [checkpoint, evaluated] the task asks for, of one method at least."""
        every = [self.asked_of(one.method, self.study.checkpoints) for one in self.methods if one.method.is_run]
        return np.any(every, axis=0) if every else np.ones((len(self.study.checkpoints), len(self.evaluated)), bool)

    def asked_of(self, method: MethodResult, labels: Sequence[str]) -> NDArray[np.bool_]:
        """Return which cells [trained, evaluated] the task asks of a method's models of these trained periods.

        The first model of a run is asked everything; one from outside is of no period of the timeline.
        """
        study = self.study
        first = next(iter(study.trained(method.name, method.seeds[0])), study.timeline.labels[0])
        every = self.task not in study.own_period
        rows = [[every or trained in (label, first) for label in self.evaluated] for trained in labels]
        return np.array(rows, bool).reshape(len(labels), len(self.evaluated))

    def better_than_frozen(self, method: MethodView, cells: Cells) -> tuple[int, int]:
        """Count the own periods (ID), after that of the first model, on which the mean over a run's seeds is better
        than the model that is never updated, and those on which both have a value."""
        if self.frozen is None or not method.method.is_run:
            return 0, 0
        gain = self.frozen.mean - method.mean
        own = gain[cells.in_distribution & self.updated & ~np.isnan(gain)]
        return int(((-own if self.metric.higher_is_better else own) > 0).sum()), len(own)


def views(study: StudyResult) -> tuple[View, ...]:
    """Return a view for every task and source of text that has cells. Tasks are in the order of the cells; for each
    task, the view of all text comes first, then those of its sources. Raises ValueError if a cell is there twice."""
    found = list(CellColumns.compared(study).by_view())
    tasks = list(dict.fromkeys(task for task, _, _ in found))
    found.sort(key=lambda one: (tasks.index(one[0]), one[1] != ""))
    return tuple(_view(study, task, source, cells) for task, source, cells in found)


def period(timeline: Timeline, label: str) -> Period:
    """Return the period with this label: from the timeline if it is there, else the days that the label names (for an
    evaluation with another calendar)."""
    if label in timeline.labels:
        return timeline.periods[timeline.index(label)]
    start, end = span(label)
    return Period(label=label, start=start, end=end)


def cost_of(study: StudyResult, method: MethodResult, labels: Sequence[str], name: str) -> Array:
    """Return the cumulative cost `name` of a method at each label: the mean over seeds, NaN if it is not known."""
    costs = study.costs[study.costs["method"] == method.name]
    return costs.groupby("trained")[name].mean().reindex(list(labels)).to_numpy(float)


def nanmean(values: Array, axis: int | tuple[int, ...]) -> Array:
    """Return the mean of the values that are not NaN, or NaN if there are none. numpy's `nanmean` would warn then."""
    known = ~np.isnan(values)
    count = known.sum(axis=axis)
    total = np.where(known, values, 0.0).sum(axis=axis)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def _view(study: StudyResult, task: str, source: str, cells: CellColumns) -> View:
    evaluated = study.evaluated_by_task.get(task, study.evaluated)
    methods = tuple(_method(study, m, evaluated, cells.of_method(m.frozen_of or m.name)) for m in study.all_methods)
    return View(study, task, source, evaluated, _reference(study, evaluated, cells), methods)


def _method(study: StudyResult, method: MethodResult, evaluated: Sequence[str], cells: CellColumns) -> MethodView:
    labels = study.checkpoints
    if method.is_oracle:
        labels = _cutoffs(study, method, cells)
    elif method.frozen_of:
        labels = tuple(study.trained(method.name, method.seeds[0]))
    values = np.full((len(method.seeds), len(labels), len(evaluated)), np.nan)
    axes = (("seed", method.seeds), ("trained", labels), ("evaluated", evaluated))
    at = [cells[name].places(axis) for name, axis in axes]
    inside = (at[0] >= 0) & (at[1] >= 0) & (at[2] >= 0)
    values[at[0][inside], at[1][inside], at[2][inside]] = cells.values[inside]
    if method.is_run:
        return MethodView(method, labels, values, tuple(range(len(labels))))
    return MethodView(method, labels, values, carried(study, labels))


def carried(study: StudyResult, labels: Sequence[str]) -> tuple[int | None, ...]:
    """Return for each checkpoint of a study the position in `labels` of the model to use there, as `carry_forward`. An
    imported model of no known date (`as_of: outside`) was there before the first period."""
    try:
        cutoffs, checkpoints = ([period(study.timeline, one) for one in axis] for axis in (labels, study.checkpoints))
    except ValueError:
        return (0,) * len(study.checkpoints)
    return carry_forward(cutoffs, checkpoints)


def _cutoffs(study: StudyResult, method: MethodResult, cells: CellColumns) -> tuple[str, ...]:
    """Return the cutoffs that were trained or scored, oldest first. A cutoff whose cells are all missing stays, so that
    no older cutoff takes its place."""
    trained = study.costs.loc[study.costs["method"] == method.name, "trained"]
    return tuple(sorted({*cells["trained"].found(), *trained}, key=study.timeline.index))


def _reference(study: StudyResult, evaluated: Sequence[str], cells: CellColumns) -> Array | None:
    if study.reference is None:
        return None
    method, seed, trained = study.reference
    borrowed = method not in (one.name for one in study.methods)
    own = cells.of_method(method)
    own = own.at(np.flatnonzero((own["seed"].places([seed]) == 0) & (own["trained"].places([trained]) == 0)))
    if not len(own.values) and borrowed:  # a study of others, which may not have this task
        return None
    values = np.full(len(evaluated), np.nan)
    at = own["evaluated"].places(evaluated)
    values[at[at >= 0]] = own.values[at >= 0]
    return values
