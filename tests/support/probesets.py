"""Results of studies that ask probes, made up from right answers, so that every score is k of n."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from ticlm.core.periods import Calendar
from ticlm.platform.papers.ckl.part import Fuar
from ticlm.platform.results.study_result import COLUMNS, RATE_COLUMNS, STATIC_COLUMNS, MethodResult, StudyResult

TASK = "lama@1"
CKL = Fuar(name="ckl", invariant=("lama/invariant",), updated=("lama/updated",), new=("lama/new",))
SIZES = {"invariant": 1000, "updated": 200, "new": 100}
RIGHT = {  # method -> right answers at the end; at first 240 of 1000, 4 of 200 and 2 of 100
    "vanilla": {"invariant": 130, "updated": 24, "new": 4},
    "lora": {"invariant": 170, "updated": 24, "new": 6},
    "kept": {"invariant": 250, "updated": 20, "new": 2},
    "broken": {"invariant": 100, "updated": 2, "new": 2},
}
FIRST = {"invariant": 240, "updated": 4, "new": 2}


def one_phase(
    right: Mapping[str, Mapping[str, int]] = RIGHT,
    fuar: Sequence[Fuar] = (CKL,),
    seeds: Sequence[int] = (1,),
    rates: Mapping[str, float] | None = None,
) -> StudyResult:
    """A study of one year after an initial model: its probe sets are labels of one task without periods.

    Seed s answers s − 1 more invariant probes at the end. `rates` are peak rates by method.
    """
    rows = []
    for method, last in right.items():
        for seed in seeds:
            for trained, counts in (("outside", FIRST), ("202104", last)):
                for label, n in SIZES.items():
                    more = (seed - 1) * (label == "invariant" and trained != "outside")
                    rows.append(static_row(method, seed, trained, label, counts[label] + more, n))
    fields = {"tables": tuple(fuar), "static": frame(rows), "rates": _rates(rates)}
    return result(list(right), seeds, ("outside", "202104"), **fields)


def static_row(method: str, seed: int, trained: str, label: str, right: int, n: int) -> dict[str, Any]:
    share = right / n
    where = {"method": method, "seed": seed, "trained": trained, "task": TASK, "source": label}
    return where | {"metric": "exact-match", "value": share, "n": n, "stderr": np.sqrt(share * (1 - share) / n)}


def frame(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame(rows, columns=list(STATIC_COLUMNS))


def months(shares: Mapping[tuple[str, str, str], float], fuar: Sequence[Fuar], n: int = 100) -> StudyResult:
    """A chain of months with one method: (trained, evaluated, source) -> score of the task `facts` on that month."""
    rows = [
        {
            "study": "chain",
            "method": "vanilla",
            "seed": 1,
            "trained": trained,
            "evaluated": evaluated,
            "task": "facts@1",
        }
        | {"source": source, "metric": "exact-match", "value": value, "n": n, "stderr": 0.01, "key": str(place)}
        for place, ((trained, evaluated, source), value) in enumerate(shares.items())
    ]
    labels = tuple(dict.fromkeys(trained for trained, *_ in shares))
    return result(["vanilla"], (1,), labels, tables=tuple(fuar), cells=pd.DataFrame(rows, columns=list(COLUMNS)))


def result(methods: Sequence[str], seeds: Sequence[int], trained: Sequence[str], **more: Any) -> StudyResult:
    """A result with these methods, without cells unless `more` has some."""
    spent = [
        {"method": method, "seed": seed, "trained": label, "tokens": 100.0 * place}
        | {"flops": 600.0 * place, "executed_tokens": 100.0 * place, "executed_flops": 600.0 * place}
        for method in methods
        for seed in seeds
        for place, label in enumerate(trained)
    ]
    months = [label for label in trained if label.isdigit()]
    fields: dict[str, Any] = {
        "name": "ckl",
        "parameters": 737_668_096,
        "timeline": Calendar(initial=months[0], step="month", last=months[-1]).timeline(),
        "methods": tuple(MethodResult(name, "adapter", tuple(seeds)) for name in methods),
        "checkpoints": tuple(months),
        "evaluated": tuple(months),
        "cells": pd.DataFrame(columns=list(COLUMNS)),
        "costs": pd.DataFrame(spent),
        "rates": pd.DataFrame(columns=list(RATE_COLUMNS)),
        "reference": None,
        "target_tokens": 100,
    }
    return StudyResult(**(fields | {name: value for name, value in more.items() if value is not None}))


def _rates(rates: Mapping[str, float] | None) -> pd.DataFrame | None:
    if rates is None:
        return None
    rows = [
        {"method": method, "seed": 1, "period": "202104", "step": step, "rate": peak * share}
        for method, peak in rates.items()
        for step, share in enumerate((0.1, 1.0, 0.5))
    ]
    return pd.DataFrame(rows, columns=list(RATE_COLUMNS))
