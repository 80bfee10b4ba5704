"""The types of answers: what sets of probes ask for (CKL, Table 5), and which types a model gets right (Figure 8a)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING

import numpy as np

from ticlm.core.examples import Example

if TYPE_CHECKING:
    import pandas as pd

TYPE = "type"
"""Field of `Example.about` with the entity label of the answer, as spaCy names it (OntoNotes); `answer_types` in the
recipe of a set puts it there."""
OTHER = "etc."
NAMES = {
    "PERSON": "Person",
    "GPE": "Geographical",
    "LOC": "Location",
    "FAC": "Location",
    "ORG": "Organization",
    "NORP": "Nationalities",
    "LANGUAGE": "Language",
    "DATE": "Date",
    "TIME": "Date",
    **dict.fromkeys(("CARDINAL", "ORDINAL", "QUANTITY", "PERCENT", "MONEY", "NUMBER"), "Numerals"),
}
"""CKL's name of each label. The paper does not say which labels its Location and Numerals hold: this is our reading."""
LISTED = 5
"""Most types that CKL names for one set; the others are `etc.`."""
COLUMNS = ("set", "size", "input_tokens", "answer_tokens", "type", "count", "share")


def answer_type(example: Example) -> str:
    """Return the type of a probe's answer by CKL's names; `etc.` if its label is unknown or was never set."""
    return NAMES.get(example.about.get(TYPE, "").upper(), OTHER)


def statistics(
    sets: Mapping[str, Iterable[Example]], tokens: Callable[[str], int], listed: int = LISTED
) -> pd.DataFrame:
    """Return Table 5 of CKL with COLUMNS.

    A set has a row for each of its `listed` most frequent types and for all others, with its size and the mean tokens
    of its texts and answers (by `tokens`).
    """
    import pandas as pd

    rows = []
    for name, examples in sets.items():
        held = list(examples)
        about = {
            "set": name,
            "size": len(held),
            "input_tokens": _mean([tokens(one.text) for one in held]),
            "answer_tokens": _mean([tokens(one.answer) for one in held if one.answer is not None]),
        }
        for kind, count in _most(Counter(map(answer_type, held)), listed):
            rows.append(about | {"type": kind, "count": count, "share": count / len(held)})
    return pd.DataFrame(rows, columns=list(COLUMNS))


def composition(predictions: pd.DataFrame, types: Mapping[str, str]) -> pd.DataFrame:
    """Return what the exact match of each set is made of (CKL, Figure 8a).

    `predictions` are those of one checkpoint, with the columns label, id and exact; `types` are the types of answers by
    id. Columns: label, type, n (probes of the type), share (of all probes of the set), right, exact (right answers of
    the type over all probes of the set: their sum is the exact match of the set), within (over those of the type).
    """
    kinds = predictions["id"].map(types).fillna(OTHER)
    size = predictions.groupby("label", sort=False)["exact"].size()
    found = predictions.assign(type=kinds).groupby(["label", "type"], sort=False)["exact"].agg(["size", "sum"])
    found = found.reset_index().rename(columns={"size": "n", "sum": "right"})
    whole = found["label"].map(size).astype(float)
    found = found.assign(share=found["n"] / whole, exact=found["right"] / whole, within=found["right"] / found["n"])
    found = found.sort_values(["label", "right", "n"], ascending=[True, False, False], kind="stable")
    return found[["label", "type", "n", "share", "right", "exact", "within"]].reset_index(drop=True)


def _most(counts: Counter[str], listed: int) -> list[tuple[str, int]]:
    """Return the most frequent types, and the sum of all others last."""
    named = [(kind, count) for kind, count in counts.most_common() if kind != OTHER][:listed]
    rest = counts.total() - sum(count for _, count in named)
    return [*named, *[(OTHER, rest)] * (rest > 0)]


def _mean(values: list[int]) -> float:
    return float(np.mean(values)) if values else float("nan")
