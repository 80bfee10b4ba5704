"""How many cells a study wants, which are left to score, and how much models have to read for them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from typing import TYPE_CHECKING, NamedTuple

from ticlm.platform.eval.cells import asked_labels, data_hashes, keys, mid_round_keys, scored, scored_mid_round
from ticlm.platform.study import costs
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.cell_store import read_by_key
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
    kept = cache(partial(read_by_key, plan.store))
    there = [
        *((task, label, *cell) for (_, task, label), cell in keys(plan).items()),
        *((task, label, *cell) for (_, _, task, label), cell in mid_round_keys(plan).items()),
    ]
    hashes = {task.id: data_hashes(plan, task) for task in plan.study.evaluations}
    missing: dict[tuple[str, int, str], tuple[str, ...]] = {}
    for run, t, task in scored(plan):
        if not plan.done(plan.tree.scored(run.rounds[t], task.id)):
            missing[run.rounds[t], -1, task.id] = tuple(asked_labels(run, t, task, hashes[task.id]))
    for run, t, task, step in scored_mid_round(plan):
        if (run.rounds[t], step) not in plan.mid_round_records and not plan.done(run.rounds[t]):
            missing[run.rounds[t], step, task.id] = tuple(asked_labels(run, t, task, hashes[task.id]))
    left = Counter((id, label) for id, label, weights, key in there if key not in kept(weights))
    for (id, labels), models in Counter((id, labels) for (_, _, id), labels in missing.items()).items():
        for label in labels:
            left[id, label] += models
    return CellCount(len(there) + sum(map(len, missing.values())), left.total(), left)


@dataclass(frozen=True)
class Workload:
    """The cells that are left to score: `tokens` are those that models read for them; `cells` those whose tokens are
    counted; `not_counted` has the names of the tasks of which only scoring tells how much is read."""

    tokens: int
    cells: int
    not_counted: tuple[str, ...]


def workload(plan: Plan, left: Mapping[tuple[str, str], int] | None) -> Workload:
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
    return Workload(tokens, cells, tuple(unknown))


def _planned(plan: Plan) -> Counter[tuple[str, str]]:
    """Return how many cells each task has at each label, as far as they are known without its data. Of a task on
    periods other than the study's, one label stands for all."""
    # Methods share rounds, and each round is scored once.
    asked: dict[tuple[str, int, str], tuple[Task, Run, str]] = {}
    for run, t, task in scored(plan):
        asked[plan.tree.scored(run.rounds[t], task.id), -1, task.id] = task, run, t
    for run, t, task, step in scored_mid_round(plan):
        asked[run.rounds[t], step, task.id] = task, run, t
    found = Counter[tuple[str, str]]()
    periods = plan.evaluated()
    for task, run, t in asked.values():
        if not task.is_on_study_periods:
            found[task.id, ""] += 1
            continue
        trained = tuple(run.rounds)
        found.update((task.id, label) for label in periods if task.asks(t, label, trained))
    return found


def _rows_of_recipe(plan: Plan) -> dict[str, int]:
    """Return the tokens of a cell of each task on the study's own rows, by task id, as the packaged recipe makes
    them."""
    rows, found = costs.held_out_rows(plan.study), dict[str, int]()
    for task in plan.study.evaluations:
        if isinstance(task, Perplexity):
            sampled = task.max_rows if rows is None else task.sampled(rows)
            found |= {} if sampled is None else {task.id: sampled * plan.study.length}
    return found
