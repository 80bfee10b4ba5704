"""Evaluation: checkpoint × period × task. An actor holds one checkpoint and scores all its cells before the next."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from ticlm.platform.errors import InputError, TiclmError
from ticlm.platform.examples import Examples
from ticlm.platform.identity import weights_of
from ticlm.platform.objective import AnyObjective
from ticlm.platform.plan import Plan
from ticlm.platform.results import Cell, read_cells, write_cells
from ticlm.platform.settings import Settings, fingerprint
from ticlm.platform.shards import Corpus
from ticlm.platform.store import Store
from ticlm.platform.task_kinds import AnyTask
from ticlm.platform.tasks import Task

if TYPE_CHECKING:
    from ticlm.platform.answerer import Checkpoint


class CellKey(Settings):
    """All that determines a cell's values. Rows are reused while it stays the same."""

    version: int = 1
    weights: str
    task: Task
    data: str
    objective: AnyObjective
    compute: Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Job:
    """A task, where its data lie, and the cells that are wanted: (period, key) pairs."""

    task: AnyTask
    data: str
    cells: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Unit:
    """One checkpoint, which is loaded once, and all that it is still to be asked."""

    root: str
    weights: str
    folder: str
    """Of the model: relative to the root, or a path or URI of its own."""
    objective: AnyObjective
    jobs: tuple[Job, ...]
    rows: int
    threads: int
    device: str

    @property
    def cells(self) -> int:
        return sum(len(job.cells) for job in self.jobs)


def keys(plan: Plan) -> dict[tuple[str, str, str], tuple[str, str]]:
    """(round key, task id, evaluated period) -> (weights, cell key) of every cell whose checkpoint is done.

    A period without held-out rows has no cells; one that the study names raises InputError.
    """
    assert plan.corpus is not None
    wanted = {
        task.id: [label for label in plan.evaluated(task) if _has_rows(plan, task, label)]
        for task in plan.study.evaluations
    }
    found: dict[tuple[str, str, str], tuple[str, str]] = {}
    for run in plan.tree.runs:
        for trained, key in run.rounds.items():
            if not plan.study.scores(run.method, trained):
                continue
            for task in plan.study.evaluations:
                scored = plan.tree.scored(key, task.id)
                record = plan.records.get(scored)
                if record is None:
                    continue
                weights = weights_of(record)
                for label in wanted[task.id]:
                    identity = CellKey(
                        weights=weights,
                        task=task,
                        data=plan.data_of(task).split(label, task.split).sha256,
                        objective=plan.study.objective,
                        compute="float32",
                    )
                    found[key, task.id, label] = (weights, fingerprint(identity))
    return found


def _has_rows(plan: Plan, task: Task, label: str) -> bool:
    data = plan.data_of(task)
    rows = data.split(label, task.split).rows if label in data.periods else 0
    if not rows and plan.study.evaluate.periods != "all" and task.elsewhere is None:
        assert plan.corpus is not None
        raise InputError(
            f"evaluate.periods names {label}, which has no {task.split} row in corpus {plan.corpus.info.id}; "
            "leave it out, or rebuild with a larger share"
        )
    return rows > 0


def units(plan: Plan) -> list[Unit]:
    """What is left to score, a unit per checkpoint."""
    assert plan.corpus is not None and plan.store is not None
    tasks = {task.id: task for task in plan.study.evaluations}
    wanted: dict[str, dict[str, dict[str, str]]] = {}
    folders: dict[str, str] = {}
    for (key, task_id, label), (weights, cell_key) in keys(plan).items():
        scored = plan.tree.scored(key, task_id)
        folders[weights] = f"rounds/{plan.ids[scored][:32]}/{plan.records[scored].attempt}/model"
        wanted.setdefault(weights, {}).setdefault(task_id, {})[label] = cell_key
    left = []
    resources = plan.study.resources
    for weights, by_task in wanted.items():
        have = {cell.key for cell in read_cells(plan.store, weights)}
        jobs = [
            Job(tasks[task_id], plan.data_of(tasks[task_id]).store.uri(), missing)
            for task_id, cells in by_task.items()
            if (missing := tuple((label, key) for label, key in cells.items() if key not in have))
        ]
        if jobs:
            left.append(
                Unit(
                    root=plan.store.root,
                    weights=weights,
                    folder=folders[weights],
                    objective=plan.study.objective,
                    jobs=tuple(jobs),
                    rows=resources.evaluation_rows,
                    threads=resources.threads,
                    device=resources.device,
                )
            )
    return left


def score(unit: Unit) -> int:
    """Load the checkpoint, score its cells, keep those of a task once it is through; how many cells were scored."""
    import torch

    from ticlm.platform.answerer import Checkpoint

    torch.set_num_threads(unit.threads)
    device = ("cuda" if torch.cuda.is_available() else "cpu") if unit.device == "auto" else unit.device
    store = Store(unit.root)
    own = "://" in unit.folder or unit.folder.startswith("/")
    with Store(unit.folder).local("") if own else store.local(unit.folder) as folder:
        answerer = Checkpoint(Path(folder), unit.objective, device)
        for job in unit.jobs:
            write_cells(store, list(_scored(answerer, unit, job)))
    return unit.cells


def _scored(answerer: Checkpoint, unit: Unit, job: Job) -> Iterator[Cell]:
    data: Any = Examples.open(job.data) if job.task.on_examples else Corpus.open(job.data)
    for label, key in job.cells:
        for found in job.task.measure(answerer, data, label, unit.rows):
            yield Cell(
                weights=unit.weights,
                task=job.task.id,
                evaluated=label,
                source=found.source,
                metric=found.metric,
                value=found.value,
                n=found.n,
                stderr=found.stderr,
                key=key,
            )


def run(left: Sequence[Unit], evaluators: int, on_ray: bool, advance: Callable[[int], None]) -> None:
    """Score all units, `evaluators` checkpoints at a time on Ray actors, or one after another in this process."""
    if not on_ray:
        for unit in left:
            advance(score(unit))
        return
    import ray

    gpus = 1 if ray.cluster_resources().get("GPU", 0) >= 1 else 0
    actor = ray.remote(num_cpus=1, num_gpus=gpus, max_restarts=3, max_task_retries=3)(_Evaluator)
    pool = [actor.remote() for _ in range(min(evaluators, len(left)))]
    try:
        waiting = list(left)
        busy = {a.score.remote(waiting.pop(0)): a for a in pool}
        while busy:
            (ready,), _ = ray.wait(list(busy), num_returns=1)
            free = busy.pop(ready)
            advance(ray.get(ready))
            if waiting:
                busy[free.score.remote(waiting.pop(0))] = free
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, TiclmError):  # as itself: Ray's own text is a traceback
            raise error.cause from None
        raise
    finally:
        for a in pool:
            ray.kill(a)


class _Evaluator:
    """A Ray actor: one checkpoint at a time."""

    def score(self, unit: Unit) -> int:
        return score(unit)
