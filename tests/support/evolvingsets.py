"""A small study of EvolvingQA, made by hand: what INITIAL and one method answer to the questions of two months."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
from parts import wanted
from probesets import result

from ticlm.core.accounting import Step
from ticlm.datasets.generation.difficulty import MEASURES
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.evolvingqa.rows import BlockReader
from ticlm.platform.papers.evolvingqa.settings import GradientTasks, QuestionTasks, Reader
from ticlm.platform.results.built_sets import BuiltSet
from ticlm.platform.results.kept_answers import prediction_frame
from ticlm.platform.results.questions import COLUMNS as QUESTION_COLUMNS
from ticlm.platform.results.study_result import COLUMNS, StudyResult, TaskMetric
from ticlm.platform.tasks.base import Prediction

INITIAL, MONTHS = "202302", ("202303", "202304")
ASKED = Evolving(unchanged="unchanged", new="new", edited="edited")
N = 10
Right = Mapping[tuple[str, str, str], Sequence[int]]
"""(task, trained, month) -> of N questions, the exact match of each."""

RIGHT: Right = {
    **{("unchanged", trained, INITIAL): [1] * 5 + [0] * 5 for trained in (INITIAL, *MONTHS)},
    **{("new", INITIAL, month): [1] * 2 + [0] * 8 for month in MONTHS},
    **{("edited", INITIAL, month): [0] * 9 + [1] for month in MONTHS},
    ("new", "202303", "202303"): [1] * 3 + [0] * 7,
    ("new", "202304", "202304"): [1] * 4 + [0] * 6,
    ("edited", "202303", "202303"): [0] * 9 + [1],
    ("edited", "202304", "202304"): [1] * 8 + [0] * 2,
}
STALE: Right = {
    **{("edited", INITIAL, month): [1] * 8 + [0] * 2 for month in MONTHS},
    ("edited", "202303", "202303"): [1] * 8 + [0] * 2,
    ("edited", "202304", "202304"): [0] * 9 + [1],
}
"""The same of outdated answers: at first most are outdated, at last most are right."""


def study(
    right: Right = RIGHT,
    stale: Right = STALE,
    asked: Sequence[Evolving] = (ASKED,),
    extra: Sequence[Mapping[str, Any]] = (),
    **more: Any,
) -> StudyResult:
    """A study with the method `full`; `extra` are further cells (`cell`)."""
    cells, answers = [], []
    for (task, trained, month), held in right.items():
        gone = stale.get((task, trained, month))
        scores = {"exact-match": held, "f1": held} | ({} if gone is None else _outdated(gone))
        cells += [cell(task, trained, month, metric, float(np.mean(one)), len(one)) for metric, one in scores.items()]
        kept = [Prediction(str(i), "said", float(x), float(x), numbers=_numbers(gone, i)) for i, x in enumerate(held)]
        answers.append((place(task, trained, month), kept))
    answers += more.pop("answers", [])
    labels = (INITIAL, *MONTHS)
    fields: dict[str, Any] = {"name": "wiki", "cells": pd.DataFrame([*cells, *extra], columns=list(COLUMNS))}
    fields |= {"predictions": prediction_frame(answers), "tables": tuple(asked)}
    return dataclasses.replace(result(["full"], (1,), labels, **fields), **more)


def whole(**more: Any) -> StudyResult:
    """A study with every table of EvolvingQA."""
    gradients = GradientTasks(new="grad-new", edited="grad-edited")
    further = {"preferred": "choose", "time_prompt": QuestionTasks(new="dated"), "gradients": gradients}
    asked = ASKED.model_copy(update=further | {"readers": (Reader(name="DPR", new="open"),)})
    right = {**RIGHT, ("open", INITIAL, "202303"): [1, 1, 1, 0, 1, 0, 0, 0, 0, 0]}
    extra = [cell("dated", trained, month, "exact-match", 0.1) for trained, month in ((INITIAL, "202303"),)]
    extra += [cell("dated", INITIAL, "202303", "echoed-date", 0.25)]
    shares = {"outdated": 0.6, "updated": 0.2, "tied": 0.2}
    extra += [cell("choose", INITIAL, "202303", name, share, 200) for name, share in shares.items()]
    extra += [cell(task, INITIAL, "202303", "gradient-norm", 1.0) for task in ("grad-new", "grad-edited")]
    answers = [normed("grad-new", [(1, 2.0), (1, 4.0), (5, 9.0)]), normed("grad-edited", [(1, 1.0), (5, 6.0)])]
    about = [
        ("new@1", "202303", str(i), f"q{i} <b>", "a", "Person", i < 1, 0.75, np.nan, str(i), *measured(distance=i // 5))
        for i in range(N)
    ]
    about += [("open@1", "202303", str(i), "q", "a", "Etc", False, 0.25, float(i < 4)) for i in range(N)]
    steps = (Step(name="judge", read=40, dropped={"not supported": 10}),)
    counts = {"calls": {"judge": 12}, "words": {str(i): i for i in range(9)}}
    built = BuiltSet("questions@1", {"202303": {"new": 30}}, {"202303": steps}, {"202303": counts})
    fields: dict[str, Any] = {"questions": questions(about), "built_sets": (built,)}
    fields |= {"metrics": {"new@1": TaskMetric("exact-match", True)}}  # the page has few matrices, as they take time
    return study(right, asked=[asked], extra=extra, answers=answers, **(fields | more))


def normed(task: str, texts: Sequence[tuple[int, float]], trained: str = INITIAL, month: str = "202303") -> Any:
    """Gradient norms of (masked entities, norm), as answers of a study."""
    kept = [
        Prediction(str(i), "", 0.0, 0.0, numbers={"entities": count, "norm": norm, "norm-sum": 2 * norm, "loss": 1.0})
        for i, (count, norm) in enumerate(texts)
    ]
    return place(task, trained, month), kept


def place(task: str, trained: str, month: str, seed: int = 1) -> dict[str, Any]:
    return {"method": "full", "seed": seed, "trained": trained, "task": f"{task}@1", "label": month}


def cell(task: str, trained: str, month: str, metric: str, value: float, n: int = N, seed: int = 1) -> dict[str, Any]:
    where = {"study": "wiki", "method": "full", "seed": seed, "trained": trained, "evaluated": month}
    error = float(np.sqrt(value * (1 - value) / n)) if 0 <= value <= 1 else 0.0
    return where | {
        **{"task": f"{task}@1", "source": "", "metric": metric, "value": value, "n": n, "stderr": error},
        "key": f"{task}-{trained}-{month}-{metric}-{seed}",
    }


def questions(rows: Sequence[tuple[Any, ...]]) -> pd.DataFrame:
    """The frame of questions: rows of (task, label, id, question, answer, category, in_question, overlap, hit), and of
    their article and their measures of difficulty, if they were measured."""
    nothing = ("", *[np.nan] * (len(QUESTION_COLUMNS) - 10))
    whole = [row if len(row) == len(QUESTION_COLUMNS) else (*row, *nothing) for row in rows]
    return pd.DataFrame(whole, columns=list(QUESTION_COLUMNS))


def measured(**measures: float) -> tuple[float, ...]:
    """Measures of difficulty in their order, as a row of `questions` ends; NaN for those that are not given."""
    return tuple(measures.get(name, np.nan) for name in MEASURES)


def reader(of: StudyResult) -> BlockReader:
    ((_, asked),) = wanted(Evolving, of)
    return BlockReader(of, asked)


def _outdated(gone: Sequence[int]) -> dict[str, Sequence[int]]:
    return {"outdated-exact-match": gone, "outdated-f1": gone}


def _numbers(gone: Sequence[int] | None, i: int) -> dict[str, float]:
    return {} if gone is None else {"outdated-exact": float(gone[i]), "outdated-f1": float(gone[i])}
