"""What is scored so that shares of adaptive replay become known: checkpoints on the tune rows of old periods."""

from __future__ import annotations

from collections.abc import Iterator

from ticlm.core import paths
from ticlm.platform.eval.cells import CheckpointWork, TaskCells, left, scoring
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.measured import cell_keys, task_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.round import Measured
from ticlm.platform.tasks.cell_store import read_by_key


def units(plan: Plan) -> list[CheckpointWork]:
    """Return what is left to score before shares of adaptive replay are known, of the checkpoints that are done."""
    found = []
    for measured, weights, by_label in _measured(plan):
        assert plan.store is not None and plan.corpus is not None
        asked = TaskCells(
            task_of(measured), plan.corpus.store.uri(), tuple(by_label.items()), plan.study.last_visible_period
        )
        jobs = left(plan.store, weights, [asked])
        if jobs:
            folder = paths.round_folder(plan.ids[measured.round])
            place = paths.model(folder, plan.records[measured.round].attempt)
            found.append(scoring(plan, weights, place, jobs))
    return found


def is_any_unknown(plan: Plan) -> bool:
    """Return whether a checkpoint that is done has losses that the plan has not read, whether scored by now or not."""
    return any(True for _ in _measured(plan))


def without_losses(plan: Plan) -> str:
    """Return a name for the first checkpoint that was measured for shares and has no finite loss; empty: there is
    none."""
    for measured, weights, by_label in _measured(plan):
        assert plan.store is not None and plan.recorded is not None
        kept = read_by_key(plan.store, weights)
        if all(key in kept for key in by_label.values()) and measured not in plan.recorded.losses:
            return plan.label(Chain((measured.round,), 0))
    return ""


def _measured(plan: Plan) -> Iterator[tuple[Measured, str, dict[str, str]]]:
    """Yield what shares follow from and is not known, of the checkpoints that are done: their weights, and the keys of
    the cells by label."""
    for measured in plan.tree.measured if plan.recorded is not None and plan.open_rounds else ():
        assert plan.corpus is not None and plan.recorded is not None
        record = plan.records.get(measured.round)
        if record is not None and measured not in plan.recorded.losses:
            weights = weights_of(record)
            yield measured, weights, cell_keys(measured, weights, plan.corpus, plan.study.objective)
