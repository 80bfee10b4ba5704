"""Evaluation: checkpoint × period × task. An actor holds one checkpoint and scores all its cells before the next."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ticlm.platform.errors import InputError, TiclmError
from ticlm.platform.identity import weights_of
from ticlm.platform.objective import AnyObjective
from ticlm.platform.plan import Plan
from ticlm.platform.results import Cell, read_cells, write_cells
from ticlm.platform.settings import Settings, fingerprint
from ticlm.platform.shards import Corpus
from ticlm.platform.store import Store
from ticlm.platform.tasks import AnyTask, Task


class CellKey(Settings):
    """All that determines a cell's values. Rows are reused while it stays the same."""

    version: int = 1
    weights: str
    task: Task
    data: str
    objective: AnyObjective
    compute: Literal["float32", "bfloat16"]


@dataclass(frozen=True)
class Unit:
    """One checkpoint and the cells it still needs: (period, key) pairs."""

    root: str
    corpus: str
    weights: str
    folder: str
    task: AnyTask
    objective: AnyObjective
    cells: tuple[tuple[str, str], ...]
    rows: int
    threads: int
    device: str


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
                        data=plan.corpus_of(task).split(label, task.split).sha256,
                        objective=plan.study.objective,
                        compute="float32",
                    )
                    found[key, task.id, label] = (weights, fingerprint(identity))
    return found


def _has_rows(plan: Plan, task: Task, label: str) -> bool:
    corpus = plan.corpus_of(task)
    rows = corpus.split(label, task.split).rows if label in corpus.periods else 0
    if not rows and plan.study.evaluate.periods != "all" and task.elsewhere is None:
        raise InputError(
            f"evaluate.periods names {label}, which has no {task.split} row in corpus {corpus.info.id}; "
            "leave it out, or rebuild with a larger share"
        )
    return rows > 0


def units(plan: Plan) -> list[Unit]:
    """What is left to score, a unit per checkpoint and task."""
    assert plan.corpus is not None and plan.store is not None
    tasks = {task.id: task for task in plan.study.evaluations}
    needed: dict[tuple[str, str], tuple[str, dict[str, str]]] = {}
    for (key, task_id, label), (weights, cell_key) in keys(plan).items():
        record = plan.records[plan.tree.scored(key, task_id)]
        folder = f"rounds/{plan.ids[plan.tree.scored(key, task_id)][:32]}/{record.attempt}/model"
        needed.setdefault((weights, task_id), (folder, {}))[1][label] = cell_key
    left = []
    resources = plan.study.resources
    for (weights, task_id), (folder, cells) in needed.items():
        have = {cell.key for cell in read_cells(plan.store, weights)}
        todo = tuple((label, key) for label, key in cells.items() if key not in have)
        if todo:
            left.append(
                Unit(
                    root=plan.store.root,
                    corpus=plan.corpus_of(tasks[task_id]).store.uri(),
                    weights=weights,
                    folder=folder,
                    task=tasks[task_id],
                    objective=plan.study.objective,
                    cells=todo,
                    rows=resources.evaluation_rows,
                    threads=resources.threads,
                    device=resources.device,
                )
            )
    return left


def score(unit: Unit) -> int:
    """Load the checkpoint, score its cells, keep them in the root; returns how many periods were scored."""
    import torch

    from ticlm.platform.answerer import Checkpoint

    torch.set_num_threads(unit.threads)
    device = ("cuda" if torch.cuda.is_available() else "cpu") if unit.device == "auto" else unit.device
    store, corpus = Store(unit.root), Corpus.open(unit.corpus)
    with store.local(unit.folder) as folder:
        answerer = Checkpoint(Path(folder), unit.objective, device)
    cells = [
        Cell(
            weights=unit.weights,
            task=unit.task.id,
            evaluated=label,
            source=found.source,
            metric=found.metric,
            value=found.value,
            n=found.n,
            stderr=found.stderr,
            key=key,
        )
        for label, key in unit.cells
        for found in unit.task.measure(answerer, corpus, label, unit.rows)
    ]
    write_cells(store, cells)
    return len(unit.cells)


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
