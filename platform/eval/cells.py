"""Cells of a study: which (checkpoint, task, label) there should be, which are still to be scored, and scoring them.

Depending on the task, a label names a period, a part of a benchmark, or a probe. The task itself knows its labels.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ticlm.core import extensions, paths
from ticlm.core.errors import InputError, RunError
from ticlm.core.reading import own_faults
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.methods.objectives import AnyObjective
from ticlm.platform.eval.prediction_store import write_predictions
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.stored_rounds import check_model
from ticlm.platform.study.tree import Run
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.cell import Cell, Compute
from ticlm.platform.tasks.cell_store import cell_key, read_cells, write_cells

if TYPE_CHECKING:
    from ticlm.platform.eval.checkpoint import Checkpoint

# What a lost evaluator costs; a file for each cell would be a request for each on a remote root.
KEEP_S = 30.0
"""Seconds. After each cell, all unwritten cells are written to the store if the last write is longer ago than this. The
rest is written at the end of each task."""


@dataclass(frozen=True)
class TaskCells:
    """A task, its data, and the (label, key) pairs of the cells to score."""

    task: Task
    data: str
    """URI of the data; empty if the task reads none."""
    cells: tuple[tuple[str, str], ...]
    last_visible_period: str | None = None
    """If given, no data later than this period may be opened."""


@dataclass(frozen=True)
class CheckpointWork:
    """One checkpoint, which is loaded once, and the cells to score on it."""

    root: str
    weights: str
    folder: str
    """Folder of the model: relative to the root, or an absolute path or URI."""
    objective: AnyObjective
    jobs: tuple[TaskCells, ...]
    rows: int
    threads: int
    device: str
    compute: Compute = "float32"
    own_classes: tuple[type[Settings], ...] = ()
    """The study's classes of the user's own. They come with the work, since no folder's adapters import anything."""
    lease: int | None = None
    """Number of the lease on the root under which the cells are written."""

    @property
    def cells(self) -> int:
        return sum(len(job.cells) for job in self.jobs)


def keys(plan: Plan) -> dict[tuple[str, str, str], tuple[str, str]]:
    """Return (round key, task id, label) -> (weights, cell key) of every cell whose checkpoint is done.

    A period without held-out rows has no cells. Raises InputError if the study names such a period.
    """
    hashes = {task.id: data_hashes(plan, task) for task in plan.study.evaluations}
    found: dict[tuple[str, str, str], tuple[str, str]] = {}
    for run, trained, task in scored(plan):
        key = run.rounds[trained]
        record = plan.records.get(plan.tree.scored(key, task.id))
        if record is None:
            continue
        weights = weights_of(record)
        for label in asked_labels(run, trained, task, hashes[task.id]):
            data = hashes[task.id][label]
            found[key, task.id, label] = weights, _key(plan, weights, task, label, data)
    return found


def _key(plan: Plan, weights: str, task: Task, label: str, data: str) -> str:
    return cell_key(weights, task, label, data, plan.study.objective, plan.study.evaluate.compute)


def asked_labels(run: Run, trained: str, task: Task, hashes: Mapping[str, str]) -> list[str]:
    """Return the labels at which a checkpoint is scored. `hashes` has the labels with something to score."""
    return [label for label in hashes if task.asks(trained, label, tuple(run.rounds))]


def scored(plan: Plan) -> Iterator[tuple[Run, str, Task]]:
    """Yield every (run, trained period, task) that the study wants scored."""
    for run in plan.tree.runs:
        for trained in run.rounds:
            if plan.study.scores(run.method, trained):
                for task in plan.study.evaluations:
                    if task.scores(trained, tuple(run.rounds)):
                        yield run, trained, task


def scored_mid_round(plan: Plan) -> Iterator[tuple[Run, str, Task, int]]:
    """Yield the (run, trained period, task, step) of every mid-round model that is to be scored.

    Tasks with `prepare`, and tasks for the last checkpoint only, are skipped.
    """
    for run, trained, task in scored(plan) if plan.study.evaluate.inside is not None else ():
        if task.prepare is None and task.chosen_checkpoints != "last":
            for step in plan.mid_round_steps(run.rounds[trained]):
                yield run, trained, task, step


def mid_round_keys(plan: Plan) -> dict[tuple[str, int, str, str], tuple[str, str]]:
    """Return (round key, step, task id, label) -> (weights, cell key) of every cell of a mid-round model."""
    wanted: dict[str, dict[str, str]] = {}
    found: dict[tuple[str, int, str, str], tuple[str, str]] = {}
    for run, trained, task, step in scored_mid_round(plan):
        record = plan.mid_round_records.get((run.rounds[trained], step))
        if record is not None:
            weights = weights_of(record)
            hashes = wanted.setdefault(task.id, data_hashes(plan, task))
            for label in asked_labels(run, trained, task, hashes):
                key = _key(plan, weights, task, label, hashes[label])
                found[run.rounds[trained], step, task.id, label] = weights, key
    return found


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


def units(plan: Plan, rounds: Collection[str] | None = None) -> list[CheckpointWork]:
    """Return the cells that are left to score, one unit of work per checkpoint: of these rounds' checkpoints if
    `rounds` are given, else of all."""
    assert plan.store is not None
    tasks = {task.id: task for task in plan.study.evaluations}
    wanted: dict[str, dict[str, dict[str, str]]] = {}
    folders: dict[str, str] = {}
    for (key, step, task_id, label), (weights, cell) in mid_round_keys(plan).items():
        if rounds is not None and key not in rounds:
            continue
        folder = paths.mid_round_model(paths.round_folder(plan.ids[key]), step)
        folders[weights] = paths.model(folder, plan.mid_round_records[key, step].attempt)
        wanted.setdefault(weights, {}).setdefault(task_id, {})[label] = cell
    for (key, task_id, label), (weights, cell) in keys(plan).items():
        source = plan.tree.scored(key, task_id)  # the round whose weights the task scores
        if rounds is not None and source not in rounds:
            continue
        folders[weights] = paths.model(paths.round_folder(plan.ids[source]), plan.records[source].attempt)
        wanted.setdefault(weights, {}).setdefault(task_id, {})[label] = cell
    sources = {id: plan.data_of(task) for id, task in tasks.items()}
    places = {id: "" if data is None else data.store.uri() for id, data in sources.items()}
    found = []
    for weights, by_task in wanted.items():
        asked = [
            TaskCells(tasks[id], places[id], tuple(c.items()), plan.study.last_visible_period)
            for id, c in by_task.items()
        ]
        jobs = left(plan.store, weights, asked)
        if jobs:
            found.append(scoring(plan, weights, folders[weights], jobs, plan.study.evaluate.compute))
    return found


def scoring(
    plan: Plan, weights: str, folder: str, jobs: tuple[TaskCells, ...], compute: Compute = "float32"
) -> CheckpointWork:
    """Return the work of scoring a published model of a study.

    `compute` is the type that the keys of the cells name. What shares of replay follow from (`run/open_shares.py`) is
    scored in float32 in every study: it decides on weights.
    """
    assert plan.store is not None
    resources = plan.study.resources
    return CheckpointWork(
        root=plan.store.root,
        weights=weights,
        folder=folder,
        objective=plan.study.objective,
        jobs=jobs,
        rows=resources.evaluation_rows,
        threads=resources.threads,
        device=resources.device,
        compute=compute,
        own_classes=extensions.own_classes(plan.study),
        lease=plan.store.lease,
    )


def left(store: Store, weights: str, jobs: list[TaskCells]) -> tuple[TaskCells, ...]:
    """Return the jobs reduced to the cells that have not been scored yet. Raises InputError if one of them needs a
    package that is not installed."""
    have = {cell.key for cell in read_cells(store, weights)}
    missing = [replace(job, cells=tuple((label, key) for label, key in job.cells if key not in have)) for job in jobs]
    missing = [job for job in missing if job.cells]
    for job in missing:
        job.task.require()
    return tuple(missing)


def score(unit: CheckpointWork) -> int:
    """Load the checkpoint, score its cells, and return their number."""
    return sum(1 for _ in progress(unit))


def progress(unit: CheckpointWork) -> Iterator[None]:
    """Load the checkpoint, score its cells and write them to the store; yield once for each cell.

    The caller counts the yields to show how far it is. Cells already in the store (written by another process or by an
    earlier attempt) are skipped, but still counted.
    """
    store = Store(unit.root, unit.lease)
    jobs = left(store, unit.weights, list(unit.jobs))
    # Not `yield from` a list: Ray sends what it has measured of an item into this generator, and a list has no `send`.
    for _ in range(unit.cells - sum(len(job.cells) for job in jobs)):
        yield
    if not jobs:
        return
    import torch

    from ticlm.platform.eval.checkpoint import load_checkpoint
    from ticlm.platform.eval.loaded_model import check_compute, computing

    where = device(unit.device)
    check_compute(unit.compute, where)
    torch.set_num_threads(unit.threads)
    place = unit.folder if "://" in unit.folder or unit.folder.startswith("/") else store.uri(unit.folder)
    check_model(place)
    with Store(place).local("") as folder, computing(unit.compute):
        answerer = load_checkpoint(Path(folder), unit.objective, where, unit.compute)
        with own_faults.faults_as(RunError, own_faults.PROGRAMMING):
            for job in jobs:
                yield from _progress(answerer, store, unit, job)


def _progress(answerer: Checkpoint, store: Store, unit: CheckpointWork, job: TaskCells) -> Iterator[None]:
    kept, cells = time.monotonic(), list[Cell]()
    data = job.task.open(job.data, job.last_visible_period)
    for through, (label, key) in enumerate(job.cells, 1):
        cells += _cells(answerer, store, unit, job, data, label, key)
        if through == len(job.cells) or time.monotonic() - kept > KEEP_S:
            write_cells(store, cells)
            kept, cells = time.monotonic(), []
        yield


def _cells(
    answerer: Checkpoint, store: Store, unit: CheckpointWork, job: TaskCells, data: Any, label: str, key: str
) -> list[Cell]:
    """Measure the cells of one label, and keep the answers behind them, so that cells never stand without theirs."""
    measured = list(job.task.measure(answerer, data, label, unit.rows))
    write_predictions(store, unit.weights, key, [one for found in measured for one in found.predictions])
    return [
        Cell(
            weights=unit.weights,
            task=job.task.id,
            axis=job.task.axis,
            evaluated=label,
            source=one.source,
            kind=one.kind,
            metric=one.metric,
            value=one.value,
            n=one.n,
            stderr=one.stderr,
            key=key,
        )
        for one in measured
    ]


def device(wanted: str) -> str:
    """Return the device on which to run models, `cuda` or `cpu`. Raises InputError if `cuda` is wanted and this machine
    has no GPU."""
    import torch

    if wanted == "cuda" and not torch.cuda.is_available():
        raise InputError("device: cuda, but torch sees no GPU here; use auto or cpu")
    return ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
