"""The answers of a study's checkpoints to single probes, as they were kept beside its cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, Any

from ticlm.platform.analysis.probes.predictions import prediction_frame
from ticlm.platform.core import paths
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.eval.prediction_store import read_predictions
from ticlm.platform.study.plan import Plan
from ticlm.platform.tasks.base import Prediction

if TYPE_CHECKING:
    import pandas as pd


def kept_predictions(plan: Plan) -> pd.DataFrame | None:
    """Return one row for each answer of the ends of rounds, and of models inside them (results.PREDICTION_COLUMNS);
    None if no task of the study keeps any.

    Raises InputError if a file is damaged.
    """
    if not any(task.keeps_predictions for task in plan.study.evaluations):
        return None
    return prediction_frame(_answered(plan))


def _answered(plan: Plan) -> Iterator[tuple[dict[str, Any], list[Prediction]]]:
    store = plan.store
    assert store is not None
    files = cache(lambda weights: frozenset(store.files(paths.predictions(weights))))
    wanted = [
        (place, weights, key)
        for place, weights, key in _scored(plan)
        if paths.predictions_file(weights, key).rsplit("/", 1)[-1] in files(weights)
    ]
    left = Counter((weights, key) for _, weights, key in wanted)
    held: dict[tuple[str, str], list[Prediction]] = {}
    for place, weights, key in wanted:  # methods that share a checkpoint share its answers, which are read once
        one = weights, key
        answers = held.pop(one, None) or read_predictions(store, weights, key)
        left[one] -= 1
        if left[one]:
            held[one] = answers
        yield place, answers


def _scored(plan: Plan) -> Iterator[tuple[dict[str, Any], str, str]]:
    """Yield (place, weights, cell key) of every cell of a task that keeps predictions and whose checkpoint is done."""
    ends, inside = evaluation.keys(plan), evaluation.keys_inside(plan)
    for run, trained, task in evaluation.scored(plan):
        if not task.keeps_predictions:
            continue
        key = run.rounds[trained]
        place = {"method": run.method.name, "seed": run.seed, "trained": trained, "task": task.id}
        for label in plan.labels(task):
            for step in plan.inside(key):
                if (key, step, task.id, label) in inside:
                    yield place | {"label": label, "step": step}, *inside[key, step, task.id, label]
            if (key, task.id, label) in ends:
                yield place | {"label": label}, *ends[key, task.id, label]
