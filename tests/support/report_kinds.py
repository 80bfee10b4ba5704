"""Reports of six kinds, made up: what a page has to show well, from a study of weeks to a published set."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from publishedfiles import write
from reports import METHODS, RATES, cell_rows, cost_rows, page, tic_lm, with_examples, with_static

from ticlm.core.periods import Calendar, Period, Timeline
from ticlm.core.settings import parse
from ticlm.platform.display.says import Says
from ticlm.platform.results import of_published as oracles
from ticlm.platform.results import published_files as files
from ticlm.platform.results.study_result import PREDICTION_COLUMNS, MethodResult, PeriodText, StudyResult, TaskMetric
from ticlm.platform.tasks.base import NO_NUMBERS
from ticlm.platform.tasks.shown_prompts import ShownPrompt

MONTHS = Calendar(initial="202301", step="month", last="202312")
WEEKS = Calendar(initial="20240101..20240128", step="week", last="20240415..20240421")
GROUPS = {name: group for name, group, *_ in METHODS}


def kinds(folder: Path) -> dict[str, str]:
    """The page of each kind of report, by its name; the published files are made in `folder`."""
    year = tuple(name for name, *_ in METHODS)
    first = made_up("demo", MONTHS, cutoffs=(0, 5, 11))
    return {
        "demo": page(with_texts(first)),
        "weekly": page(made_up("weekly", WEEKS, cutoffs=(), reference=False)),
        "two": page(first, made_up("demo-again", MONTHS, cutoffs=(0, 5, 11), shift=0.05)),
        "eight": page(with_static(with_examples(tic_lm()))),
        "imported": page(*oracles.studies(files.read([str(write(folder))]))),
        "year": page(made_up("year", MONTHS, year, cutoffs=(0, 3, 6, 9, 11))),
    }


def made_up(
    name: str,
    calendar: Calendar,
    methods: Sequence[str] = ("cyclic-cosine", "replay-half"),
    cutoffs: Sequence[int] = (0,),
    reference: bool = True,
    shift: float = 0.0,
) -> StudyResult:
    """A study with one task on every period of a calendar.

    Continual methods forget by what METHODS says of them; an Oracle is trained at the positions `cutoffs`, if any. With
    a `shift`, the methods are worse by as much, but for the first.
    """
    timeline = calendar.timeline()
    labels, when = timeline.labels, np.array([_middle(period) for period in timeline.periods])
    task, cells, costs, rates = "perplexity@1", [], [], []
    known = {name: slopes for name, _, _, *slopes in METHODS} | {"oracle": [-0.004, 0.0365, -0.03]}
    for place, method in enumerate((*methods, *["oracle"] * bool(cutoffs))):
        rows = list(cutoffs) if method == "oracle" else list(range(len(labels)))
        past, future, level = known[method]
        away = when[rows][:, None] - when[None, :]
        values = 3.2 + 9 * (np.maximum(past, 0.002) * np.maximum(away, 0) + future * np.maximum(-away, 0)) + level
        values = values - 0.3 * when[rows][:, None] + (shift if place and method != "oracle" else 0.0)
        trained = [labels[row] for row in rows]
        cells.append(cell_rows(name, method, 1, trained, labels, task, "", TaskMetric(), values))
        tokens = 4e6 + 1e6 * np.array(rows, np.float64)
        costs.append(cost_rows(method, 1, trained, np.cumsum(tokens) if method == "oracle" else tokens))
        if method != "oracle":
            rates.append(_rates(method, labels, 30, warm=3 + place))
    oracle = [MethodResult("oracle", "reference", (1,), is_oracle=True)] * bool(cutoffs)
    return StudyResult(
        name=name,
        parameters=1_200_000,
        timeline=Timeline(periods=timeline.periods),
        methods=(*(MethodResult(method, GROUPS[method], (1,)) for method in methods), *oracle),
        checkpoints=labels,
        evaluated=labels,
        cells=pd.concat(cells, ignore_index=True),
        costs=pd.concat(costs, ignore_index=True),
        rates=pd.concat(rates, ignore_index=True)[list(RATES)],
        reference=("oracle", 1, labels[max(cutoffs)]) if cutoffs and reference else None,
        target_tokens=15_000_000,
        text=tuple(PeriodText(label, 1_000_000 + 20_000 * i, {"news": 0.3}) for i, label in enumerate(labels)),
    )


def with_texts(result: StudyResult) -> StudyResult:
    """What every checkpoint writes after a prompt: a right answer, an outdated one after June, or none."""
    prompt = parse(ShownPrompt, {"text": "The mayor is", "answers": {"202301": "Ada", "202307": "Ben"}}, "prompt")
    said = {"cyclic-cosine": " Ben Holm.\nThe council", "replay-half": " Ada Berg", "oracle": " " + "bridge" * 60}
    rows = [
        (method.name, 1, label, None, "continuations@1", prompt.text, prompt.text, said[method.name])
        for method in result.methods
        for label in result.checkpoints
    ]
    frame = pd.DataFrame(rows, columns=list(PREDICTION_COLUMNS[:8])).assign(exact=np.nan, f1=np.nan, rank=None)
    frame = frame.assign(numbers=pd.Series([NO_NUMBERS] * len(rows), dtype=object)).astype({"step": "Int64"})
    prompts = {"continuations@1": (prompt,)}
    return dataclasses.replace(result, predictions=frame, prompts=prompts, tables=(Says(),))


def _middle(period: Period) -> float:
    """The middle of a period in years after the first of 2023."""
    return (period.start.toordinal() + period.end.toordinal() - 2 * date(2023, 1, 1).toordinal()) / 730.5


def _rates(method: str, labels: Sequence[str], steps: int, warm: int) -> pd.DataFrame:
    at = np.arange(len(labels) * steps)
    rise = np.minimum(1.0, (at % steps + 1) / warm)
    rate: NDArray[np.float64] = 1e-3 * rise * (0.1 + 0.45 * (1 + np.cos(np.pi * (at % steps) / steps)))
    return pd.DataFrame({"method": method, "seed": 1, "period": np.repeat(labels, steps), "step": at, "rate": rate})


def renamed(result: StudyResult, name: str) -> StudyResult:
    """The same study under another name: equal cells."""
    return dataclasses.replace(result, name=name, cells=result.cells.assign(study=name))
