"""A small study of TemporalWiki's facts, made by hand: the losses of single facts, and the cells that follow from
them; and a study of three methods that has every benchmark."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from probesets import CKL, SIZES, frame, result, static_row

from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.temporalwiki.part import FactPairs
from ticlm.platform.results.facts import COLUMNS as FACT_COLUMNS
from ticlm.platform.results.kept_answers import prediction_frame
from ticlm.platform.results.study_result import COLUMNS, StudyResult, TaskMetric
from ticlm.platform.tasks.base import Prediction

INITIAL, MONTHS = "202302", ("202303", "202304")
PAIRS = FactPairs(unchanged="kept", changed="moved")
TOKENS = (1, 2, 3)
"""Tokens of the objects of the three facts of a set."""
Losses = Mapping[tuple[str, str, str, str], Sequence[float]]
"""(method, task, trained, month) -> the loss of each fact, summed over its tokens."""

LOSSES: Losses = {
    **{(who, "kept", INITIAL, month): (1.0, 2.0, 3.0) for who in ("a", "b") for month in MONTHS},
    **{(who, "moved", INITIAL, month): (2.0, 4.0, 6.0) for who in ("a", "b") for month in MONTHS},
    ("a", "kept", "202303", "202303"): (1.0, 3.0, 5.0),
    ("a", "moved", "202303", "202303"): (1.0, 2.0, 6.0),
    ("a", "kept", "202304", "202304"): (2.0, 3.0, 7.0),
    ("a", "moved", "202304", "202304"): (1.0, 1.0, 4.0),
    ("b", "kept", "202303", "202303"): (1.0, 2.0, 4.0),
    ("b", "moved", "202303", "202303"): (1.0, 3.0, 7.0),
    ("b", "kept", "202304", "202304"): (1.0, 2.0, 3.0),
    ("b", "moved", "202304", "202304"): (2.0, 2.0, 5.0),
}


def study(losses: Losses = LOSSES, seeds: Sequence[int] = (1,), **more: Any) -> StudyResult:
    """A study with the methods of the losses; each seed after the first loses a tenth of a nat more per fact."""
    cells, answers = [], []
    for (who, task, trained, month), held in losses.items():
        for place, seed in enumerate(seeds):
            mine = [one + 0.1 * place for one in held]
            value = sum(mine) / sum(TOKENS[: len(mine)])
            cells.append(cell(who, task, trained, month, "nll", value, 0.1, sum(TOKENS[: len(mine)]), seed))
            at = {"method": who, "seed": seed, "trained": trained, "task": f"{task}@1", "label": month}
            answers.append((at, [scored(f"f{k}", one, TOKENS[k]) for k, one in enumerate(mine)]))
    fields: dict[str, Any] = {"name": "wiki", "cells": pd.DataFrame(cells, columns=list(COLUMNS))}
    fields |= {"predictions": prediction_frame(answers), "tables": (PAIRS,)}
    methods = list(dict.fromkeys(who for who, *_ in losses))
    return dataclasses.replace(result(methods, tuple(seeds), (INITIAL, *MONTHS), **fields), **more)


def scored(name: str, loss: float, tokens: int) -> Prediction:
    """What `fact-perplexity` keeps of a fact."""
    return Prediction(name, "", 0.0, 0.0, numbers={"nll": loss, "tokens": float(tokens)})


def answered(name: str, right: float) -> Prediction:
    return Prediction(name, "said", right, right)


def cell(
    who: str, task: str, trained: str, month: str, metric: str, value: float, error: float, n: int = 10, seed: int = 1
) -> dict[str, Any]:
    where = {"study": "wiki", "method": who, "seed": seed, "trained": trained, "evaluated": month, "task": f"{task}@1"}
    held = {"source": "", "metric": metric, "value": value, "n": n, "stderr": error}
    return where | held | {"key": "-".join(map(str, (who, task, trained, month, metric, seed)))}


def facts(rows: Iterable[tuple[str, str, str, str]]) -> pd.DataFrame:
    """The frame of facts: rows of (task, label, id, fact), where a fact is `subject/relation` or `Q1/P1`."""
    found = []
    for task, label, name, fact in rows:
        subject, relation = fact.split("/")
        ids = (subject * subject.startswith("Q"), relation * relation.startswith("P"))
        labels = (subject * (not ids[0]), relation * (not ids[1]))
        found.append((f"{task}@1", label, f"{task}-set@1/all", name, *labels, *ids))
    return pd.DataFrame(found, columns=list(FACT_COLUMNS))


def joined(*frames: pd.DataFrame) -> pd.DataFrame:
    """The rows of all frames."""
    return pd.concat([one.astype(object) for one in frames], ignore_index=True)


def every_benchmark(name: str = "all", seed: int = 0) -> StudyResult:
    """A study of three methods with a held-out text, FUAR, EvolvingQA, TemporalWiki and facts that two of them ask."""
    random = np.random.default_rng(seed)
    methods, labels = ("FULL", "Mix-Review", "K-Adapter"), (INITIAL, *MONTHS)
    cells: list[dict[str, Any]] = []
    answers: list[tuple[dict[str, Any], list[Prediction]]] = []
    static = []
    for place, who in enumerate(methods):
        for t, trained in enumerate(labels):
            for e, month in enumerate(labels):
                loss = 3.0 + 0.02 * place + (0.2 - 0.05 * place) * max(t - e, 0) + 0.3 * max(e - t, 0)
                cells.append(cell(who, "perplexity", trained, month, "nll", loss, 0.01))
            for month in MONTHS:
                if trained in (INITIAL, month):
                    found = _asked(random, who, place, trained, month)
                    cells += found[0]
                    answers += found[1]
            right = {"invariant": 240 - 30 * t // (place + 1), "updated": 4 + (9 - 3 * place) * t, "new": 2 + t}
            static += [static_row(who, 1, trained, label, right[label], SIZES[label]) for label in SIZES]
    fact = {k: (f"Q{k}/P19" if k % 2 else f"town {k}/twin") for k in range(40)}
    known = [(task, m, f"f{k}", fact[k]) for task in ("kept", "moved", "new") for m in MONTHS for k in fact]
    metrics = {f"{task}@1": TaskMetric("exact-match", True) for task in ("unchanged", "new", "edited")}
    return result(
        methods,
        (1,),
        labels,
        name=name,
        cells=pd.DataFrame(cells, columns=list(COLUMNS)).assign(study=name),
        static=frame(static),
        predictions=prediction_frame(answers),
        tables=(CKL, Evolving(unchanged="unchanged", new="new", edited="edited"), PAIRS),
        facts=facts([(task, m, one, at) for task, m, one, at in known]),
        metrics=metrics | {f"{task}@1": TaskMetric() for task in ("perplexity", "kept", "moved")},
    )


def _asked(
    random: np.random.Generator, who: str, place: int, trained: str, month: str
) -> tuple[list[dict[str, Any]], list[tuple[dict[str, Any], list[Prediction]]]]:
    """The cells and predictions of a checkpoint at a month, of 40 questions or facts each."""
    cells, answers = [], []
    later = trained != INITIAL
    shares = {"unchanged": 0.5 - 0.1 * later, "new": 0.1 + (0.3 - 0.05 * place) * later, "edited": 0.1 + 0.3 * later}
    for task, share in shares.items():
        right = random.random(40) < share
        stale = (random.random(40) < 0.5) & ~right
        scores = {"exact-match": right, "f1": right} | ({"outdated-f1": stale} if task == "edited" else {})
        cells += [cell(who, task, trained, month, name, float(of.mean()), 0.07, 40) for name, of in scores.items()]
        if task == "edited":
            cells.append(cell(who, task, trained, month, "outdated-exact-match", float(stale.mean()), 0.07, 40))
        at = {"method": who, "seed": 1, "trained": trained, "task": f"{task}@1", "label": month}
        answers.append((at, [answered(f"f{k}", float(one)) for k, one in enumerate(right)]))
    for task, level in (("kept", 2.0 + (0.3 - 0.1 * place) * later), ("moved", 4.0 - (1.0 - 0.2 * place) * later)):
        tokens = random.integers(1, 4, 40)
        losses = tokens * (level + random.normal(0, 0.5, 40))
        at = {"method": who, "seed": 1, "trained": trained, "task": f"{task}@1", "label": month}
        value = float(losses.sum() / tokens.sum())
        cells.append(cell(who, task, trained, month, "nll", value, 0.05, int(tokens.sum())))
        answers.append((at, [scored(f"f{k}", float(x), int(n)) for k, (x, n) in enumerate(zip(losses, tokens))]))
    return cells, answers
