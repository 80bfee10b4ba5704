"""The answers of a study's checkpoints to single probes, as they were kept beside its cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

from ticlm.core import paths
from ticlm.platform.eval.prediction_store import read_predictions
from ticlm.platform.eval.wanted.asked import keys_by_place, mid_round_keys_by_place, scored
from ticlm.platform.results.study_result import PREDICTION_COLUMNS
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
    ends, inside = keys_by_place(plan), mid_round_keys_by_place(plan)
    for run, trained, task in scored(plan):
        if not task.keeps_predictions:
            continue
        key = run.rounds[trained]
        place = {"method": run.method.name, "seed": run.seed, "trained": trained, "task": task.id}
        for label in plan.labels(task):
            for step in plan.mid_round_steps(key):
                if (key, step, task.id, label) in inside:
                    yield place | {"label": label, "step": step}, *inside[key, step, task.id, label]
            if (key, task.id, label) in ends:
                yield place | {"label": label}, *ends[key, task.id, label]


def prediction_frame(found: Iterable[tuple[Mapping[str, object], Iterable[Prediction]]]) -> pd.DataFrame:
    """Return the frame of predictions (PREDICTION_COLUMNS) of (place, answers) pairs.

    A place has method, seed, trained, task and label, and inside a round its step.
    """
    import pandas as pd

    columns: dict[str, list[Any]] = {name: [] for name in PREDICTION_COLUMNS}
    for place, answers in found:  # by column, as a mapping for each of millions of answers would take gigabytes
        kept = list(answers)
        for name, values in zip(Prediction._fields, zip(*kept)):
            columns[name] += values
        for name in columns.keys() - Prediction._fields:
            columns[name] += [place.get(name)] * len(kept)
    return pd.DataFrame(columns).astype({"step": "Int64", "exact": "float64", "f1": "float64", "rank": "Int64"})
