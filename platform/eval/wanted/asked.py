"""Which cells a study wants of which checkpoint, and their keys."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.tree import Run
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.cells.key import cell_keys


@dataclass(frozen=True)
class WantedCells:
    """The cells that a study wants of one checkpoint by one task: one for each label."""

    round: str
    """Key of the round that is evaluated; a task with a tuned copy of it asks that copy."""
    step: int | None
    """Step of the model within the round; None: its end."""
    task: Task
    weights: str
    """Hash of the weights that are asked."""
    labels: tuple[str, ...]


class CellKeys:
    """Keys of the cells of a study. What does not depend on the checkpoint is hashed once for each task and label."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self._hashes: dict[str, dict[str, str]] = {}
        self._of: dict[tuple[str, str], Callable[[str], str]] = {}

    def hashes(self, task: Task) -> dict[str, str]:
        """Return the hash of a task's data at each label that has something to score."""
        if task.id not in self._hashes:
            self._hashes[task.id] = data_hashes(self.plan, task)
        return self._hashes[task.id]

    def of(self, wanted: WantedCells) -> list[str]:
        """Return the key of the cells at each label."""
        return [self._key(wanted.task, label)(wanted.weights) for label in wanted.labels]

    def without_weights(self, task: Task) -> dict[str, str]:
        """Return at each label with something to score a hash of all that determines the cells but the weights that
        are published; how a task tunes a copy of them is part of it."""
        tuned = "" if task.prepare is None else fingerprint(task.prepare)
        return {label: self._key(task, label)(tuned) for label in self.hashes(task)}

    def _key(self, task: Task, label: str) -> Callable[[str], str]:
        place = task.id, label
        if place not in self._of:
            study, data = self.plan.study, self.hashes(task)[label]
            self._of[place] = cell_keys(task, label, data, study.objective, study.evaluate.compute)
        return self._of[place]


def asked_of_models(plan: Plan, keys: CellKeys) -> dict[tuple[str, int | None, str], tuple[Task, tuple[str, ...]]]:
    """Return the task and its labels, by (round, step, task id), that the study wants of each model, there or not: of
    those inside rounds, then of those at their ends, whose step is None. What runs ask of a round that they share is
    asked once.

    A period without held-out rows has no cells. Raises InputError if the study names such a period.
    """
    for each in plan.study.evaluations:
        keys.hashes(each)  # before there is any checkpoint, too
    asked, found = AskedLabels(keys.hashes), dict[tuple[str, int | None, str], tuple[Task, tuple[str, ...]]]()
    for run, trained, task, step in (*scored_mid_round(plan), *((*one, None) for one in scored(plan))):
        place, labels = (run.rounds[trained], step, task.id), asked(run, trained, task)
        before = found.get(place)
        if before is None or before[1] != labels:
            found[place] = task, labels if before is None else tuple(dict.fromkeys((*before[1], *labels)))
    return found


def wanted_cells(plan: Plan, keys: CellKeys) -> list[WantedCells]:
    """Return the cells of every model that is there, each model and task once: those inside rounds, then the others."""
    found = []
    for (key, step, name), (task, labels) in asked_of_models(plan, keys).items():
        if step is None:
            record = plan.records.get(plan.tree.scored(key, name))
        else:
            record = plan.mid_round_records.get((key, step))
        if record is not None:
            found.append(WantedCells(key, step, task, weights_of(record), labels))
    return found


def by_checkpoint(wanted: Iterable[WantedCells]) -> dict[str, list[WantedCells]]:
    """Return the wanted cells by the weights that are asked, in their order."""
    found: dict[str, list[WantedCells]] = {}
    for one in wanted:
        found.setdefault(one.weights, []).append(one)
    return found


def keys_by_place(plan: Plan) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Return (round key, task id, label) -> (weights, cell key) of every cell whose checkpoint is done."""
    keys = CellKeys(plan)
    return {
        (one.round, one.task.id, label): (one.weights, key)
        for one in wanted_cells(plan, keys)
        if one.step is None
        for label, key in zip(one.labels, keys.of(one))
    }


def mid_round_keys_by_place(plan: Plan) -> dict[tuple[str, int, str, str], tuple[str, str]]:
    """Return (round key, step, task id, label) -> (weights, cell key) of every cell of a mid-round model."""
    keys = CellKeys(plan)
    return {
        (one.round, one.step, one.task.id, label): (one.weights, key)
        for one in wanted_cells(plan, keys)
        if one.step is not None
        for label, key in zip(one.labels, keys.of(one))
    }


class AskedLabels:
    """Looks up at which labels a checkpoint is scored, once for all runs of the same periods; `having` gives those that
    a task has."""

    def __init__(self, having: Callable[[Task], Iterable[str]]) -> None:
        self._having = having
        self._found: dict[tuple[str, str, tuple[str, ...]], tuple[str, ...]] = {}

    def __call__(self, run: Run, trained: str, task: Task) -> tuple[str, ...]:
        place = task.id, trained, run.labels
        if place not in self._found:
            labels = self._having(task)
            self._found[place] = tuple(label for label in labels if task.asks(trained, label, run.labels))
        return self._found[place]


def scored(plan: Plan) -> Iterator[tuple[Run, str, Task]]:
    """Yield every (run, trained period, task) that the study wants scored."""
    for run in plan.tree.runs:
        for trained in run.rounds:
            if plan.study.scores(run.method, trained):
                for task in plan.study.evaluations:
                    if task.scores(trained, run.labels):
                        yield run, trained, task


def scored_mid_round(plan: Plan) -> Iterator[tuple[Run, str, Task, int]]:
    """Yield the (run, trained period, task, step) of every mid-round model that is to be scored.

    Tasks with `prepare`, and tasks for the last checkpoint only, are skipped.
    """
    for run, trained, task in scored(plan) if plan.study.evaluate.inside is not None else ():
        if task.prepare is None and task.chosen_checkpoints != "last":
            for step in plan.mid_round_steps(run.rounds[trained]):
                yield run, trained, task, step


def data_hashes(plan: Plan, task: Task) -> dict[str, str]:
    """Return the hash of a task's data at each label that has something to score."""
    labels = plan.labels(task)
    found = task.hashes(plan.data_of(task), labels)
    empty = next((label for label in labels if label not in found), None)
    if empty is not None and plan.study.evaluate.periods != "all" and task.is_on_study_periods:
        assert plan.corpus is not None
        raise InputError(
            f"evaluate.periods names {empty}, which has no {task.split} row in corpus {plan.corpus.info.id}; "
            "leave it out, or rebuild with a larger share"
        )
    return found
