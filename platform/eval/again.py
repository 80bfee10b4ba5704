"""Cells of one checkpoint of a study, scored again and compared with the values that are kept."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.progress import SILENT, Show
from ticlm.core.store import Store
from ticlm.platform.eval import fanout
from ticlm.platform.eval.cells import CheckpointWork, TaskCells, scoring
from ticlm.platform.eval.folder import table_of_cells
from ticlm.platform.eval.wanted.asked import AskedLabels, CellKeys, WantedCells
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.tree import Run
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.cells.files import labelled, read_by_key

if TYPE_CHECKING:
    from rich.table import Table


@dataclass(frozen=True)
class Again:
    """One number, as it was scored again and as it is kept (None if it is not)."""

    task: str
    label: str
    source: str
    metric: str
    value: float
    kept: float | None


def works(
    plan: Plan, checkpoint: str, label: str | None = None, task: str | None = None, seed: int | None = None
) -> list[CheckpointWork]:
    """Return what to score of the checkpoint `METHOD@PERIOD` of a study, whether it has a value or not: one label or
    all, one task or all, and the first of its method's seeds if none is given.

    Raises InputError if the study has no such checkpoint, label or task, or if the checkpoint is not trained yet.
    """
    assert plan.store is not None
    run, trained = _run(plan, checkpoint, seed)
    asked = _tasks(plan, run, trained, task)
    found: dict[str, CheckpointWork] = {}
    keys = CellKeys(plan)
    for one in asked:
        key = plan.tree.scored(run.rounds[trained], one.id)
        if key not in plan.records:
            raise InputError(f"--again {checkpoint}: it is not trained yet: ticlm run")
        mine = AskedLabels(keys.hashes)(run, trained, one)
        labels = mine if label is None else (label,)
        if label is not None and label not in mine:
            raise InputError(f"--on {label}: {one.id} is scored on {', '.join(mine) or 'nothing'}")
        record, data = plan.records[key], plan.data_of(one)
        weights = weights_of(record)
        compute = plan.study.evaluate.compute
        wanted = WantedCells(run.rounds[trained], None, one, weights, labels)
        cells = tuple(zip(labels, keys.of(wanted)))
        job = TaskCells(one, "" if data is None else data.store.uri(), cells, plan.study.last_visible_period)
        folder = plan.store.uri(paths.model(paths.round_folder(plan.ids[key]), record.attempt))
        work = found.get(weights) or scoring(plan, weights, folder, (), compute)
        found[weights] = replace(work, jobs=(*work.jobs, job))
    return list(found.values())


def score_again(store: Store, asked: Sequence[CheckpointWork], show: Show = SILENT) -> list[Again]:
    """Score everything that is asked, in this process; the root of `store` keeps its values as they are."""
    rows: list[Again] = []
    with tempfile.TemporaryDirectory() as root:  # a root of their own: cells that are kept are never scored again
        fresh = [replace(work, root=root, lease=None) for work in asked]
        with fanout.counted(fresh, show) as through:
            fanout.here(fresh, through)
        for work in fresh:
            now, before = read_by_key(Store(root), work.weights), read_by_key(store, work.weights)
            for job in work.jobs:
                for label, key in job.cells:
                    kept = {(c.source, c.metric, c.kind): c.value for c in labelled(label, before.get(key, []))}
                    rows += [
                        Again(job.task.id, label, c.source, c.title, c.value, kept.get((c.source, c.metric, c.kind)))
                        for c in labelled(label, now.get(key, []))
                    ]
    return rows


def table(rows: Sequence[Again]) -> Table:
    """Return the numbers as a table for the terminal."""
    made = table_of_cells("again", "kept", "difference")
    for row in rows:
        kept = ("–", "–") if row.kept is None else (f"{row.kept:.6f}", f"{row.value - row.kept:.1e}")
        made.add_row(row.task, row.label, row.source, row.metric, f"{row.value:.6f}", *kept)
    return made


def _run(plan: Plan, checkpoint: str, seed: int | None) -> tuple[Run, str]:
    method, _, trained = checkpoint.rpartition("@")
    mine = [run for run in plan.tree.runs if run.method.name == method]
    if not mine:
        known = ", ".join(dict.fromkeys(run.method.name for run in plan.tree.runs))
        raise InputError(f"--again {checkpoint}: expected METHOD@PERIOD with one of the methods {known}")
    run = next((run for run in mine if seed is None or run.seed == seed), None)
    if run is None:
        raise InputError(f"--seed {seed}: the seeds of {method} are {', '.join(str(run.seed) for run in mine)}")
    if trained not in run.rounds:
        raise InputError(f"--again {checkpoint}: {method} has checkpoints of {', '.join(run.rounds)}")
    return run, trained


def _tasks(plan: Plan, run: Run, trained: str, task: str | None) -> list[Task]:
    asked: list[Task] = [one for one in plan.study.evaluations if one.scores(trained, tuple(run.rounds))]
    mine = [one for one in asked if task in (None, one.id, one.name)]
    if not mine:
        raise InputError(
            f"--task {task}: {run.method.name}@{trained} is scored on {', '.join(one.id for one in asked)}"
        )
    return mine
