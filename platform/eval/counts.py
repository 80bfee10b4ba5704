"""How many cells a study wants, and how many are left to score."""

from __future__ import annotations

from functools import cache, partial

from ticlm.platform.eval.cells import asked_labels, data_hashes, keys, mid_round_keys, scored, scored_mid_round
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.cell_store import read_by_key


def count(plan: Plan) -> tuple[int, int]:
    """Return how many cells the study wants, and how many of them have no value yet.

    Not counted: cells of models that a finished round did not publish inside it, because no run will publish them.
    """
    assert plan.store is not None
    kept = cache(partial(read_by_key, plan.store))
    there = [*keys(plan).values(), *mid_round_keys(plan).values()]
    hashes = {task.id: data_hashes(plan, task) for task in plan.study.evaluations}
    missing: dict[tuple[str, int, str], int] = {}
    for run, t, task in scored(plan):
        if not plan.done(plan.tree.scored(run.rounds[t], task.id)):
            missing[run.rounds[t], -1, task.id] = len(asked_labels(run, t, task, hashes[task.id]))
    for run, t, task, step in scored_mid_round(plan):
        if (run.rounds[t], step) not in plan.mid_round_records and not plan.done(run.rounds[t]):
            missing[run.rounds[t], step, task.id] = len(asked_labels(run, t, task, hashes[task.id]))
    waiting = sum(missing.values())
    return len(there) + waiting, waiting + sum(key not in kept(weights) for weights, key in there)
