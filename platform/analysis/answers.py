"""What models answer to single probes: by checkpoint (CKL, Table 12), and on answers that two sets share (Figure 8b).

Frames of predictions have the columns of `results.PREDICTION_COLUMNS`. `method`, `seed`, `trained` and `step` name the
checkpoint; `label` and `id` name the probe.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.platform.analysis.paired_bootstrap import paired
from ticlm.platform.results.answer_types import answer_type

if TYPE_CHECKING:
    import pandas as pd

Place = tuple[bool, str, float]
LOSS, TOKENS = "nll", "tokens"
"""What `fact-perplexity` keeps of a fact among its numbers: the loss of its object, summed, and the tokens of it."""


def changes(
    predictions: pd.DataFrame, methods: Sequence[str], probes: Mapping[str, Example], ids: Sequence[str]
) -> pd.DataFrame:
    """Return the answers of methods to these probes after each checkpoint (CKL, Table 12).

    Columns: id, cloze, method, one for each checkpoint in the order of time (`202104 step 6250`; the end of a round has
    its period alone), answer. A checkpoint that was not asked a probe has an empty answer. Of several seeds, the first
    is shown. Raises InputError if a probe is not known, if a method has no predictions, or if several tasks ask a
    probe.
    """
    import pandas as pd

    if unknown := next((one for one in ids if one not in probes), None):
        raise InputError(f"no probe {unknown}; there are {len(probes):,}, such as {', '.join(list(probes)[:3])}")
    mine = predictions[predictions["id"].isin(list(ids)) & predictions["method"].isin(list(methods))]
    if lost := next((one for one in methods if one not in set(mine["method"])), None):
        there = ", ".join(dict.fromkeys(map(str, predictions["method"])))
        raise InputError(f"no predictions of {lost} for these probes; there are some of {there}")
    if len(mine.drop_duplicates(["id", "task"])) > mine["id"].nunique():
        raise InputError(
            f"{', '.join(dict.fromkeys(map(str, mine['task'])))} asked the same probes; choose one of them"
        )
    mine = mine.sort_values("seed", ascending=False, kind="stable")
    columns = (mine[name] for name in ("method", "id", "trained", "step", "text"))
    texts = {(who, one, _place(trained, step)): text for who, one, trained, step, text in zip(*columns)}
    places = sorted({place for *_, place in texts})
    rows = [
        {"id": one, "cloze": probes[one].text, "method": method}
        | {_named(place): texts.get((method, one, place), "") for place in places}
        | {"answer": probes[one].answer}
        for one in ids
        for method in methods
    ]
    return pd.DataFrame(rows, columns=["id", "cloze", "method", *map(_named, places), "answer"])


def gained(first: pd.DataFrame, second: pd.DataFrame) -> list[str]:
    """Return the ids of the probes that the second of two checkpoints answers and the first does not, in their order.

    Each frame holds the predictions of one checkpoint. CKL chooses its examples like this.
    """
    right = set(first.loc[first["exact"] == 1, "id"])
    return [str(one) for one in second.loc[second["exact"] == 1, "id"] if one not in right]


@dataclass(frozen=True)
class SetDifference:
    """The exact match of two sets on the same answers, and the 95 % interval of the difference over these answers."""

    pairs: int
    first: float
    second: float
    low: float
    high: float

    @property
    def difference(self) -> float:
        return self.first - self.second


def overlapping(
    first: Iterable[Example], second: Iterable[Example], kind: str = "Person"
) -> list[tuple[str, str, str]]:
    """Return (answer, id in the first set, id in the second) for every answer of this type that both sets ask for.

    Answers are compared without regard to case and outer spaces. Where several probes of a set have one answer, they
    are paired in their order, and those left over are not used, so that both sets have the same number of probes.
    """
    by_answer: list[dict[str, list[str]]] = []
    for examples in (first, second):
        held: dict[str, list[str]] = {}
        for one in examples:
            if one.answer and answer_type(one) == kind:
                held.setdefault(one.answer.strip().lower(), []).append(one.id)
        by_answer.append(held)
    ours, theirs = by_answer
    return [(answer, a, b) for answer in ours if answer in theirs for a, b in zip(ours[answer], theirs[answer])]


def gap(first: pd.DataFrame, second: pd.DataFrame, pairs: Sequence[tuple[str, str, str]]) -> SetDifference:
    """Return the exact match of one checkpoint on the pairs of `overlapping` (CKL, Figure 8b).

    `first` and `second` are its predictions on the two sets. Pairs of which a prediction is missing are left out.
    """
    ours, theirs = (dict(zip(frame["id"], frame["exact"].astype(float))) for frame in (first, second))
    held = np.array([(ours[a], theirs[b]) for _, a, b in pairs if a in ours and b in theirs]).reshape(-1, 2)
    if not len(held):
        return SetDifference(0, *[float("nan")] * 4)
    sums = np.column_stack([held, held[:, 0] - held[:, 1]])
    means, low, high = paired(sums, np.ones_like(sums))
    return SetDifference(len(held), float(means[0]), float(means[1]), float(low[2]), float(high[2]))


def numbers(predictions: pd.DataFrame, name: str) -> pd.Series:
    """Return one of the `numbers` of each prediction, float64; NaN where a prediction has none of this name."""
    import pandas as pd

    values = [held.get(name, math.nan) if isinstance(held, Mapping) else math.nan for held in predictions["numbers"]]
    return pd.Series(values, index=predictions.index, dtype="float64")


def _place(trained: object, step: Any) -> Place:
    """Return a checkpoint so that places sort by time: a start from outside, then periods, each with its end last."""
    import pandas as pd

    return str(trained).isdigit(), str(trained), math.inf if pd.isna(step) else float(step)


def _named(place: Place) -> str:
    _, trained, step = place
    return trained if math.isinf(step) else f"{trained} step {step:.0f}"
