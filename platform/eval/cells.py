"""Cells of a study: which (checkpoint, task, label) there should be, which are still to be scored, and scoring them.

Depending on the task, a label names a period, a part of a benchmark, or a probe. The task itself knows its labels.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
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
from ticlm.platform.eval.wanted.asked import CellKeys, WantedCells, by_checkpoint, wanted_cells
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.stored_rounds import check_model
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.cells.cell import Cell, Compute
from ticlm.platform.tasks.cells.files import read_cells, write_cells
from ticlm.platform.tasks.cells.kept import FEWEST, KeptCells, renew_index

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


@dataclass(frozen=True)
class Unscored:
    """The cells of a study that have no value yet: one unit of work per checkpoint."""

    units: list[CheckpointWork]
    outside: int = 0
    """How many files of cells no index has."""

    def under_lease(self, store: Store) -> list[CheckpointWork]:
        """Return the units, to be scored under the lease that a root has now."""
        return [replace(unit, lease=store.lease) for unit in self.units]


def unscored(plan: Plan, rounds: Collection[str] | None = None, keys: CellKeys | None = None) -> Unscored:
    """Return the cells that are left to score: of the checkpoints of these rounds if `rounds` are given, else of all.
    `keys` are those of an earlier call. Raises InputError if a task needs a package that is not installed."""
    assert plan.store is not None
    keys = keys or CellKeys(plan)
    checkpoints = by_checkpoint(
        one for one in wanted_cells(plan, keys) if rounds is None or _asked_round(plan, one) in rounds
    )
    if not checkpoints:
        return Unscored([])
    outside = 0
    if rounds is None:
        kept = KeptCells(plan.store, ["key"])
        outside, have = kept.outside, (set(cells.keys) for cells in kept.each(checkpoints))
    else:  # a few: their own folders, and no listing of all
        have = (_keys(plan.store, weights) for weights in checkpoints)
    found = []
    for (weights, wanted), there in zip(checkpoints.items(), have):
        if jobs := _missing(_jobs(plan, wanted, keys), there):
            found.append(scoring(plan, weights, _folder(plan, wanted[-1]), jobs, plan.study.evaluate.compute))
    return Unscored(found, outside)


def _jobs(plan: Plan, wanted: Iterable[WantedCells], keys: CellKeys) -> list[TaskCells]:
    """Return all cells that the study wants of one checkpoint, a job for each task."""
    tasks = {one.task.id: one.task for one in wanted}
    cells: dict[str, dict[str, str]] = {}
    for one in wanted:
        cells.setdefault(one.task.id, {}).update(zip(one.labels, keys.of(one)))
    return [
        TaskCells(tasks[name], _place(plan, tasks[name]), tuple(asked.items()), plan.study.last_visible_period)
        for name, asked in cells.items()
    ]


def _place(plan: Plan, task: Task) -> str:
    data = plan.data_of(task)
    return "" if data is None else data.store.uri()


def units(plan: Plan) -> list[CheckpointWork]:
    """Return the cells that are left to score, one unit of work per checkpoint."""
    return unscored(plan).units


@contextmanager
def left_to_score(plan: Plan, known: Unscored | None = None) -> Iterator[list[CheckpointWork]]:
    """Give the cells that are left, under the lease that the plan's root has now: those that are `known`, or those of
    another look. When the block has ended well, write the root's index of cells, if the one there lacks many."""
    assert plan.store is not None
    left = unscored(plan) if known is None else known
    units = left.under_lease(plan.store)
    yield units
    if units or left.outside >= FEWEST:
        renew_index(plan.store)


def _asked_round(plan: Plan, wanted: WantedCells) -> str:
    """Return the round whose weights the task scores."""
    return wanted.round if wanted.step is not None else plan.tree.scored(wanted.round, wanted.task.id)


def _folder(plan: Plan, wanted: WantedCells) -> str:
    """Return the folder of the model that is asked, relative to the root."""
    if wanted.step is not None:
        folder = paths.mid_round_model(paths.round_folder(plan.ids[wanted.round]), wanted.step)
        return paths.model(folder, plan.mid_round_records[wanted.round, wanted.step].attempt)
    source = _asked_round(plan, wanted)
    return paths.model(paths.round_folder(plan.ids[source]), plan.records[source].attempt)


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
    return _missing(jobs, _keys(store, weights))


def _keys(store: Store, weights: str) -> set[str]:
    return {cell.key for cell in read_cells(store, weights)}


def _missing(jobs: Iterable[TaskCells], have: Collection[str]) -> tuple[TaskCells, ...]:
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
