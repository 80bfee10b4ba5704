"""Evaluation: checkpoint × period × task: which cells there should be, which are left, and what comes of one."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ticlm.methods.objectives import AnyObjective
from ticlm.platform.core.corpus import Corpus
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.examples import Examples
from ticlm.platform.core.fingerprint import fingerprint
from ticlm.platform.core.settings import Settings
from ticlm.platform.core.store import Store
from ticlm.platform.eval.cell_store import read_cells, write_cells
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.tree import Run
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.cell import Cell
from ticlm.platform.tasks.static.task import Static, require_harness
from ticlm.platform.tasks.union import AnyTask

if TYPE_CHECKING:
    from ticlm.platform.eval.checkpoint import Checkpoint

KEEP_S = 30.0
"""What was scored is kept at least so often, and at the end of each task."""


class CellKey(Settings):
    """All that determines a cell's values. Rows are reused while it stays the same."""

    version: int = 1
    weights: str
    task: Task
    data: str
    objective: AnyObjective
    compute: Literal["float32", "bfloat16"]


def cell_key(weights: str, task: Task, label: str, data: str, objective: AnyObjective) -> str:
    """The key of the cells of one checkpoint and one period (of a task without periods: one part); `data` is the hash
    of what is read there."""
    asked = task.alone(label) if isinstance(task, Static) else task.identity
    return fingerprint(CellKey(weights=weights, task=asked, data=data, objective=objective, compute="float32"))


@dataclass(frozen=True)
class TaskCells:
    """A task, where its data lie, and the cells that are wanted: (period or part, key) pairs. Of data later than the
    period `last_visible_period`, where it is given, nothing may be opened."""

    task: AnyTask
    data: str
    cells: tuple[tuple[str, str], ...]
    last_visible_period: str | None = None


@dataclass(frozen=True)
class CheckpointWork:
    """One checkpoint, which is loaded once, and all that it is still to be asked."""

    root: str
    weights: str
    folder: str
    """Of the model: relative to the root, or a path or URI of its own."""
    objective: AnyObjective
    jobs: tuple[TaskCells, ...]
    rows: int
    threads: int
    device: str

    @property
    def cells(self) -> int:
        return sum(len(job.cells) for job in self.jobs)


def keys(plan: Plan) -> dict[tuple[str, str, str], tuple[str, str]]:
    """(round key, task id, evaluated period or part) -> (weights, cell key) of every cell whose checkpoint is done.

    A period without held-out rows has no cells; one that the study names raises InputError.
    """
    wanted = {task.id: _hashes(plan, task) for task in plan.study.evaluations}
    found: dict[tuple[str, str, str], tuple[str, str]] = {}
    for run, trained, task in scored(plan):
        key = run.rounds[trained]
        record = plan.records.get(plan.tree.scored(key, task.id))
        if record is None:
            continue
        weights = weights_of(record)
        for label, data in wanted[task.id].items():
            found[key, task.id, label] = weights, cell_key(weights, task, label, data, plan.study.objective)
    return found


def scored(plan: Plan) -> Iterator[tuple[Run, str, AnyTask]]:
    """Every (run, trained period, task) that the study wants scored."""
    for run in plan.tree.runs:
        for trained in run.rounds:
            if plan.study.scores(run.method, trained):
                for task in plan.study.evaluations:
                    if not isinstance(task, Static) or task.scores(trained, tuple(run.rounds)):
                        yield run, trained, task


def _hashes(plan: Plan, task: Task) -> dict[str, str]:
    """Of what a task reads, by evaluated period or part."""
    if isinstance(task, Static):
        return task.hashes()
    data = plan.data_of(task)
    return {
        label: data.split(label, task.split).sha256 for label in plan.evaluated(task) if _has_rows(plan, task, label)
    }


def _has_rows(plan: Plan, task: Task, label: str) -> bool:
    data = plan.data_of(task)
    rows = data.split(label, task.split).rows if label in data.periods else 0
    if not rows and plan.study.evaluate.periods != "all" and task.data_source is None:
        assert plan.corpus is not None
        raise InputError(
            f"evaluate.periods names {label}, which has no {task.split} row in corpus {plan.corpus.info.id}; "
            "leave it out, or rebuild with a larger share"
        )
    return rows > 0


def units(plan: Plan) -> list[CheckpointWork]:
    """What is left to score, a unit per checkpoint."""
    assert plan.store is not None
    tasks = {task.id: task for task in plan.study.evaluations}
    wanted: dict[str, dict[str, dict[str, str]]] = {}
    folders: dict[str, str] = {}
    for (key, task_id, label), (weights, cell) in keys(plan).items():
        scored = plan.tree.scored(key, task_id)
        folders[weights] = f"rounds/{plan.ids[scored][:32]}/{plan.records[scored].attempt}/model"
        wanted.setdefault(weights, {}).setdefault(task_id, {})[label] = cell
    places = {id: "" if isinstance(task, Static) else plan.data_of(task).store.uri() for id, task in tasks.items()}
    resources = plan.study.resources
    found = []
    for weights, by_task in wanted.items():
        asked = [
            TaskCells(tasks[id], places[id], tuple(c.items()), plan.study.last_visible_period)
            for id, c in by_task.items()
        ]
        jobs = left(plan.store, weights, asked)
        if jobs:
            found.append(
                CheckpointWork(
                    root=plan.store.root,
                    weights=weights,
                    folder=folders[weights],
                    objective=plan.study.objective,
                    jobs=jobs,
                    rows=resources.evaluation_rows,
                    threads=resources.threads,
                    device=resources.device,
                )
            )
    return found


def left(store: Store, weights: str, jobs: list[TaskCells]) -> tuple[TaskCells, ...]:
    """What of these jobs has no value yet. InputError where it needs something that is not installed."""
    have = {cell.key for cell in read_cells(store, weights)}
    missing = [replace(job, cells=tuple((label, key) for label, key in job.cells if key not in have)) for job in jobs]
    if any(job.cells and isinstance(job.task, Static) for job in missing):
        require_harness()
    return tuple(job for job in missing if job.cells)


def score(unit: CheckpointWork) -> int:
    """Load the checkpoint and score its cells; how many there were."""
    return sum(1 for _ in progress(unit))


def progress(unit: CheckpointWork) -> Iterator[None]:
    """Load the checkpoint, score its cells and keep them, with one item for each.

    Cells that someone else has kept meanwhile (or this one, before it was killed) are not scored again.
    """
    store = Store(unit.root)
    jobs = left(store, unit.weights, list(unit.jobs))
    yield from [None] * (unit.cells - sum(len(job.cells) for job in jobs))
    if not jobs:
        return
    import torch

    from ticlm.platform.eval.checkpoint import load_checkpoint

    torch.set_num_threads(unit.threads)
    own = "://" in unit.folder or unit.folder.startswith("/")
    with Store(unit.folder).local("") if own else store.local(unit.folder) as folder:
        answerer = load_checkpoint(Path(folder), unit.objective, device(unit.device))
        for job in jobs:
            yield from _progress(answerer, store, unit, job)


def _progress(answerer: Checkpoint, store: Store, unit: CheckpointWork, job: TaskCells) -> Iterator[None]:
    kept, cells = time.monotonic(), list[Cell]()
    data = _opened(job)
    for through, (label, key) in enumerate(job.cells, 1):
        cells += _cells(answerer, unit, job, data, label, key)
        if through == len(job.cells) or time.monotonic() - kept > KEEP_S:
            write_cells(store, cells)
            kept, cells = time.monotonic(), []
        yield


def _opened(job: TaskCells) -> Any:
    if isinstance(job.task, Static):
        return None
    kind = Examples if job.task.on_examples else Corpus
    return kind.open(job.data, job.last_visible_period)


def _cells(answerer: Checkpoint, unit: CheckpointWork, job: TaskCells, data: Any, label: str, key: str) -> list[Cell]:
    return [
        Cell(
            weights=unit.weights,
            task=job.task.id,
            evaluated="" if isinstance(job.task, Static) else label,
            source=found.source,
            metric=found.metric,
            value=found.value,
            n=found.n,
            stderr=found.stderr,
            key=key,
        )
        for found in job.task.measure(answerer, data, label, unit.rows)
    ]


def device(wanted: str) -> str:
    """Where models are asked. InputError where that is no device of this machine."""
    import torch

    if wanted == "cuda" and not torch.cuda.is_available():
        raise InputError("device: cuda, but torch sees no GPU here; use auto or cpu")
    return ("cuda" if torch.cuda.is_available() else "cpu") if wanted == "auto" else wanted
