"""A study of TiC-LM's shape, made up: evaluations with calendars, metrics and drifts of their own, and its page."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd
from calendars import CHECKPOINTS, CUTOFFS, NUMPY, PYTORCH, WIKI
from numpy.typing import NDArray

from ticlm.core.periods import TIC_CC_MONTHS, Calendar
from ticlm.platform.analysis.conventions import Preset
from ticlm.platform.report.page import render
from ticlm.platform.report.page_data import payload
from ticlm.platform.report.report import Report
from ticlm.platform.results.study_result import COLUMNS, STATIC_COLUMNS, MethodResult, StudyResult, TaskMetric
from ticlm.platform.results.tallies import CountedExamples

FRAMES = (
    "201309-201402 201403-201412 201501-201509 201510-201603 201604-201612 201701-201712 201801-201812 201901-201912"
)
FRAMES += " 202001-202006 202007-202106 202107-202206 202207-202306 202307-202403"
TASKS: dict[str, tuple[tuple[str, ...], TaskMetric, float]] = {
    # evaluated periods, metric, months after an evaluated period at which a model is best on it
    "tic-cc@1": (CHECKPOINTS, TaskMetric(), 0),
    "wiki-diff@1": (tuple(WIKI.split()), TaskMetric(), 20),
    "wiki-unchanged@1": (tuple(WIKI.split()), TaskMetric(), 30),
    "stackoverflow@1": (tuple(FRAMES.split()), TaskMetric(), 4),
    "stackexchange-math@1": (tuple(FRAMES.split()), TaskMetric(), 60),
    "codedocs-numpy@1": (tuple(NUMPY.split()), TaskMetric(), 12),
    "codedocs-pytorch@1": (tuple(PYTORCH.split()), TaskMetric(), 6),
    "wiki-qa@1": (tuple(WIKI.split()), TaskMetric("accuracy", True), 10),
}
METHODS = (
    # name, group, seeds, cost of a year's distance to the past and to the future, level
    ("cyclic-cosine", "optimizer", (1, 2, 3), 0.016, 0.038, 0.027),
    ("cyclic-cosine+ar", "optimizer", (1,), 0.0125, 0.039, 0.040),
    ("cyclic-rsqrt", "optimizer", (1,), 0.014, 0.038, 0.030),
    ("schedule-free", "optimizer", (1,), 0.0145, 0.038, 0.036),
    ("replay-equal", "replay", (1,), -0.002, 0.029, 0.074),
    ("replay-half", "replay", (1,), 0.003, 0.034, 0.042),
    ("replay-half+ar", "replay", (1,), 0.001, 0.034, 0.033),
    ("replay-exp+ar", "replay", (1,), 0.004, 0.036, 0.035),
    ("lwf", "regularization", (1,), 0.016, 0.038, 0.027),
    ("ewc", "regularization", (1,), 0.0125, 0.037, 0.032),
    ("ewc-new-data", "regularization", (1,), 0.013, 0.037, 0.033),
)
Values = NDArray[np.float64]


def tic_lm(methods: int = len(METHODS), tasks: Sequence[str] = tuple(TASKS), name: str = "tic-lm-3b") -> StudyResult:
    """The first `methods` of METHODS and an Oracle series on the tasks; tic-cc has the source `wiki` too."""
    cells, costs = [], []
    oracle = ("oracle", "reference", (1,), -0.004, 0.0365, 0.014)
    for method, _, seeds, past, future, level in (*METHODS[:methods], oracle):
        trained = CUTOFFS if method == "oracle" else CHECKPOINTS
        for seed in seeds:
            shift = level + (0.0004 * (seed - 2) if len(seeds) > 1 else 0.0)
            for task in tasks:
                evaluated, metric, late = TASKS[task]
                values = _values(trained, evaluated, metric, late, (past, future, shift))
                for source in ("", "wiki") if task == "tic-cc@1" else ("",):
                    cells.append(cell_rows(name, method, seed, trained, evaluated, task, source, metric, values))
            tokens = np.array([TIC_CC_MONTHS.index(label) for label in trained]) * 2e9 + 1.1e11
            tokens = np.cumsum(tokens) if method == "oracle" else tokens
            costs.append(cost_rows(method, seed, trained, tokens))
    rates = [_rates(method, seed) for method, _, seeds, *_ in METHODS[:methods] for seed in seeds]
    return StudyResult(
        name=name,
        parameters=2_796_096_000,
        timeline=Calendar(only="tic-cc").timeline(),
        methods=tuple(MethodResult(m[0], m[1], m[2], is_oracle=m is oracle) for m in (*METHODS[:methods], oracle)),
        checkpoints=CHECKPOINTS,
        evaluated=CHECKPOINTS,
        cells=pd.concat(cells, ignore_index=True),
        costs=pd.concat(costs, ignore_index=True),
        rates=pd.concat(rates, ignore_index=True) if rates else pd.DataFrame(columns=list(RATES)),
        reference=("oracle", 1, "202407"),
        target_tokens=447_349_145_600,
        metrics={task: TASKS[task][1] for task in tasks},
        evaluated_by_task={task: TASKS[task][0] for task in tasks if task != "tic-cc@1"},
    )


RATES = ("method", "seed", "period", "step", "rate")


def middle(label: str) -> float:
    """The middle of a label's months, in years."""
    return float(np.mean([int(part[:4]) + (int(part[4:6]) - 1) / 12 for part in label.split("-")]))


def _values(
    trained: Sequence[str],
    evaluated: Sequence[str],
    metric: TaskMetric,
    late: float,
    slopes: tuple[float, float, float],
) -> Values:
    """A loss that is lowest `late` months after the evaluated period, or the accuracy that goes with it."""
    past, future, level = slopes
    years = np.array([middle(e) for e in evaluated])
    away = np.array([middle(t) for t in trained])[:, None] - years[None, :] - late / 12
    loss = 2.45 + 0.012 * (years - 2013) + 0.02 * np.sin(3 * years) + level
    loss = loss + past * np.maximum(away, 0) + future * np.maximum(-away, 0) ** 0.9
    return np.asarray(np.exp(-0.6 * loss) if metric.higher_is_better else loss, np.float64)


def cell_rows(
    study: str,
    method: str,
    seed: int,
    trained: Sequence[str],
    evaluated: Sequence[str],
    task: str,
    source: str,
    metric: TaskMetric,
    values: Values,
) -> pd.DataFrame:
    frame = {
        "study": study,
        "method": method,
        "seed": seed,
        "trained": np.repeat(trained, len(evaluated)),
        "evaluated": np.tile(evaluated, len(trained)),
        "task": task,
        "source": source,
        "metric": metric.name,
        "value": values.ravel(),
        "n": 10_000,
        "stderr": 0.0004,
        "key": [f"{method}-{seed}-{task}-{source}-{i}" for i in range(values.size)],
    }
    return pd.DataFrame(frame)[list(COLUMNS)]


def cost_rows(method: str, seed: int, trained: Sequence[str], tokens: Values) -> pd.DataFrame:
    spent = {"tokens": tokens, "flops": tokens * 1.7e10, "executed_tokens": tokens, "executed_flops": tokens * 1.7e10}
    return pd.DataFrame({"method": method, "seed": seed, "trained": list(trained), **spent})


def _rates(method: str, seed: int, steps: int = 10) -> pd.DataFrame:
    months = TIC_CC_MONTHS[1:]
    rate = 3e-5 + 3.5e-5 * (1 + np.cos(np.pi * np.arange(len(months) * steps) % steps / steps))
    period = np.repeat(months, steps)
    return pd.DataFrame({"method": method, "seed": seed, "period": period, "step": np.arange(rate.size), "rate": rate})


def with_static(result: StudyResult) -> StudyResult:
    """Two tasks of CORE and its mean at the last checkpoint, 45 % and one more for each seed; older ones are worse."""
    rows = []
    for method in result.methods:
        for seed in method.seeds:
            for trained, worse in (("202301", 0.2), ("202407", 0.0)):
                value = 0.44 + 0.01 * seed - worse
                rows.append((method.name, seed, trained, "core@1", "", "core", value, 2, 0.01))
                rows.append((method.name, seed, trained, "core@1", "arc_easy", "accuracy", value + 0.1, 100, 0.01))
                rows.append((method.name, seed, trained, "core@1", "arc_easy", "centered", value - 0.1, 100, 0.01))
                rows.append((method.name, seed, trained, "core@1", "copa", "accuracy", value - 0.1, 100, 0.01))
    return dataclasses.replace(result, static=pd.DataFrame(rows, columns=list(STATIC_COLUMNS)))


def with_examples(result: StudyResult) -> StudyResult:
    """Sets that count something over time, by an order, and by classes of very different size."""
    wiki, frames = tuple(WIKI.split()), tuple(FRAMES.split())
    pages = {label: {"pages": {"changed": 9000 + i, "new": 700, "deleted": 40}} for i, label in enumerate(wiki)}
    asked = {"answers per question": {str(k): 900 // k for k in range(1, 7)}, "questions by site": {"so": 900, "x": 2}}
    sets = (
        CountedExamples("tic-wiki@1", wiki, {label: {"changed": 10, "unchanged": 9} for label in wiki}, pages),
        CountedExamples("so@1", frames, {label: {"all": 500} for label in frames}, dict.fromkeys(frames, asked)),
    )
    return dataclasses.replace(result, examples=sets)


PRESET = Preset()


def page(*results: StudyResult, preset: Preset = PRESET) -> str:
    """The page of these studies."""
    report = Report(results, preset)
    return render(report, payload(report))
