"""How many cells a study wants, which are left to score, and how much models have to read for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from ticlm.platform.eval.wanted.asked import (
    CellKeys,
    asked_of_models,
    by_checkpoint,
    scored,
    scored_mid_round,
    wanted_cells,
)
from ticlm.platform.study import costs
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.cells.kept import KeptCells
from ticlm.platform.tasks.packed_rows import Perplexity

if TYPE_CHECKING:
    from ticlm.platform.study.tree import Run
    from ticlm.platform.tasks.base import Task


class CellCount(NamedTuple):
    """How many cells a study wants, and how many of them have no value yet: in all, and by task id and label."""

    wanted: int
    left: int
    by_label: Counter[tuple[str, str]]


def count(plan: Plan) -> CellCount:
    """Return how many cells the study wants, and how many of them have no value yet.

    Not counted: cells of models that a finished round did not publish inside it, because no run will publish them.
    """
    assert plan.store is not None
    keys = CellKeys(plan)
    checkpoints = by_checkpoint(wanted_cells(plan, keys))
    there, left = 0, Counter[tuple[str, str]]()
    kept = KeptCells(plan.store, ["key"]) if checkpoints else None
    for wanted, cells in zip(checkpoints.values(), kept.each(checkpoints) if kept else ()):
        have = set(cells.keys)
        for one in wanted:
            there += len(one.labels)
            left.update((one.task.id, label) for label, key in zip(one.labels, keys.of(one)) if key not in have)
    waiting = _waiting(plan, keys)
    for (id, labels), models in Counter((id, labels) for (_, _, id), labels in waiting.items()).items():
        for label in labels:
            left[id, label] += models
    return CellCount(there + sum(map(len, waiting.values())), left.total(), left)


def _waiting(plan: Plan, keys: CellKeys) -> dict[tuple[str, int | None, str], tuple[str, ...]]:
    """Return the labels of the cells, by (round, step, task), of checkpoints that are not there yet."""
    missing: dict[tuple[str, int | None, str], tuple[str, ...]] = {}
    for (key, step, name), (_, labels) in asked_of_models(plan, keys).items():
        at_end = plan.done(plan.tree.scored(key, name) if step is None else key)
        if not at_end and (step is None or (key, step) not in plan.mid_round_records):
            missing[key, step, name] = labels
    return missing


@dataclass(frozen=True)
class ScoringLoad:
    """The cells that are left to score: `tokens` are those that models read for them; `cells` those whose tokens are
    counted; `not_counted` has the names of the tasks of which only scoring tells how much is read."""

    tokens: int
    cells: int
    not_counted: tuple[str, ...]


def workload(plan: Plan, left: Mapping[tuple[str, str], int] | None) -> ScoringLoad:
    """Return what is left to read of a study.

    `left` has the cells that are left by task id and label, as `count` tells them. Without it, as before the
    corpus is there, they are all of those that the study's periods have, and rows are those of the packaged recipe.
    """
    tasks = {task.id: task for task in plan.study.evaluations}
    rows = _rows_of_recipe(plan) if left is None else {}
    tokens = cells = 0
    unknown: dict[str, None] = {}
    for (id, label), count in (_planned(plan) if left is None else left).items():
        read = rows.get(id) if left is None else tasks[id].tokens_read(plan.data_of(tasks[id]), label)
        if read is None:
            unknown[tasks[id].name] = None
        else:
            tokens, cells = tokens + count * read, cells + count
    return ScoringLoad(tokens, cells, tuple(unknown))


def _planned(plan: Plan) -> Counter[tuple[str, str]]:
    """Return how many cells each task has at each label, as far as they are known without its data. Of a task on
    periods other than the study's, one label stands for all."""
    # Methods share rounds, and each round is scored once.
    asked: dict[tuple[str, int | None, str], tuple[Task, Run, str]] = {}
    for run, t, task in scored(plan):
        asked[plan.tree.scored(run.rounds[t], task.id), None, task.id] = task, run, t
    for run, t, task, step in scored_mid_round(plan):
        asked[run.rounds[t], step, task.id] = task, run, t
    found = Counter[tuple[str, str]]()
    periods = plan.evaluated()
    for task, run, t in asked.values():
        if not task.is_on_study_periods:
            found[task.id, ""] += 1
            continue
        found.update((task.id, label) for label in periods if task.asks(t, label, run.labels))
    return found


def _rows_of_recipe(plan: Plan) -> dict[str, int]:
    """Return the tokens of a cell of each task on the study's own rows, by task id, as the packaged recipe makes
    them. None of rows with inputs, whose length only the corpus tells."""
    if plan.study.objective.encoder_decoder:
        return {}
    rows, found = costs.held_out_rows(plan.study), dict[str, int]()
    for task in plan.study.evaluations:
        if isinstance(task, Perplexity):
            sampled = task.max_rows if rows is None else task.sampled(rows)
            found |= {} if sampled is None else {task.id: sampled * plan.study.length}
    return found
