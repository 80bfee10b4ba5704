"""What checkpoints answered to single probes, as a frame: the ends of rounds, and models inside them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from ticlm.platform.eval import cells as evaluation
from ticlm.platform.eval.prediction_store import read_predictions
from ticlm.platform.study.plan import Plan

if TYPE_CHECKING:
    import pandas as pd

PREDICTION_COLUMNS = (
    *("study", "method", "seed", "trained", "step", "task", "label", "id", "prediction", "exact", "f1", "rank"),
)
"""Columns of the frame. `step` is the step of the round after which the model was published, empty for the end of the
round; `label` is that of the cell (a subset of probes, or a period)."""


def predictions(plan: Plan) -> pd.DataFrame:
    """Return one row for each answer that was kept of the study's checkpoints. Raises InputError if a file is
    damaged."""
    import pandas as pd

    rows = [row for place, weights, key in _scored(plan) for row in _answers(plan, place, weights, key)]
    return pd.DataFrame(rows, columns=list(PREDICTION_COLUMNS)).astype({"step": "Int64", "rank": "Int64"})


def _scored(plan: Plan) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield (columns of the place, weights, cell key) of every cell whose checkpoint is done."""
    ends, inside = evaluation.keys(plan), evaluation.keys_inside(plan)
    for run, trained, task in evaluation.scored(plan):
        key = run.rounds[trained]
        place = {"study": plan.study.name, "method": run.method.name, "seed": run.seed, "trained": trained}
        place |= {"task": task.id}
        for label in plan.labels(task):
            for step in plan.inside(key):
                if (key, step, task.id, label) in inside:
                    yield place | {"label": label, "step": step}, *inside[key, step, task.id, label]
            if (key, task.id, label) in ends:
                yield place | {"label": label, "step": None}, *ends[key, task.id, label]


def _answers(plan: Plan, place: dict[str, Any], weights: str, key: str) -> Iterator[dict[str, Any]]:
    assert plan.store is not None
    for one in read_predictions(plan.store, weights, key):
        yield place | {"id": one.id, "prediction": one.text, "exact": one.exact, "f1": one.f1, "rank": one.rank}
