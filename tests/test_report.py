"""Reports of fabricated studies whose numbers come from real arithmetic, so that every mean can be worked by hand."""

import dataclasses
from collections.abc import Sequence

import numpy as np
import pandas as pd

from ticlm.platform.periods import TIC_CC_MONTHS, Calendar
from ticlm.platform.results import COLUMNS, MethodResult, StudyResult

YEARLY = tuple(TIC_CC_MONTHS[i] for i in (2, 10, 20, 29, 41, 53, 65, 77, 89, 98, 108, 113))
CUTOFFS = tuple(TIC_CC_MONTHS[i] for i in (0, 10, 29, 53, 77, 98, 113))
INITIAL, CONTINUAL, PER_TOKEN = 111_837_286_400, 111_837_286_400, 16_776_576_000
METHODS = (
    # name, group, seeds, forgotten per year, in-distribution, unseen per year
    ("cyclic-cosine", "optimizer", (1, 2, 3), 0.016, 0.027, 0.038),
    ("cyclic-cosine-ar", "optimizer", (1,), 0.0125, 0.040, 0.039),
    ("cyclic-rsqrt", "optimizer", (1,), 0.014, 0.030, 0.038),
    ("replay-t", "replay", (1,), -0.012, 0.074, 0.029),
    ("replay-half", "replay", (1,), -0.003, 0.042, 0.034),
    ("replay-half-ar", "replay", (1,), -0.006, 0.033, 0.034),
    ("lwf", "regularization", (1,), 0.016, 0.027, 0.038),
    ("ewc", "regularization", (1,), 0.0125, 0.032, 0.037),
)
Values = np.ndarray[tuple[int, ...], np.dtype[np.float64]]


def years(labels: Sequence[str]) -> Values:
    return np.array([int(label[:4]) + (int(label[4:6]) - 1) / 12 for label in labels])


def nll(trained: Sequence[str], evaluated: Sequence[str], forgotten: float, own: float, unseen: float) -> Values:
    """E[trained, evaluated]: a month's own difficulty, plus what a year's distance costs on either side of it."""
    apart = years(trained)[:, None] - years(evaluated)[None, :]
    difficulty = 2.45 + 0.012 * (years(evaluated) - 2013) + 0.02 * np.sin(3 * years(evaluated))
    return difficulty + own + forgotten * np.maximum(apart, 0) + unseen * np.maximum(-apart, 0) ** 0.9


def rows(
    method: str, seed: int, trained: Sequence[str], evaluated: Sequence[str], values: Values, **more: str
) -> pd.DataFrame:
    count = len(trained) * len(evaluated)
    frame = {
        "study": "tic-cc-3b",
        "method": method,
        "seed": seed,
        "trained": np.repeat(trained, len(evaluated)),
        "evaluated": np.tile(evaluated, len(trained)),
        "task": more.get("task", "tic-cc@1"),
        "source": more.get("source", ""),
        "metric": "nll",
        "value": values.ravel(),
        "n": 16_777_216,
        "stderr": 0.0004,
        "key": [f"{method}-{seed}-{i}" for i in range(count)],
    }
    return pd.DataFrame(frame)[list(COLUMNS)]


def study(
    checkpoints: Sequence[str] = YEARLY,
    evaluated: Sequence[str] = YEARLY,
    methods: Sequence[tuple[str, str, tuple[int, ...], float, float, float]] = METHODS,
    scale: int = 1,
    oracle: bool = True,
    sources: Sequence[str] = (),
    steps: int = 20,
) -> StudyResult:
    """A continual run of every month of TiC-CC per method, budgets and costs as in the paper's 220B (× `scale`)."""
    cells, costs, rates = [], [], []
    index = {label: i for i, label in enumerate(TIC_CC_MONTHS)}
    for number, (name, _, seeds, forgotten, own, unseen) in enumerate(methods):
        for seed in seeds:
            shift = 0.0004 * (seed - 2) if len(seeds) > 1 else 0.0
            for shrink, source in enumerate(("", *sources)):
                values = (
                    nll(checkpoints, evaluated, forgotten / (1 + shrink), own + shift, unseen / (1 + shrink))
                    - 0.3 * shrink
                )
                cells.append(rows(name, seed, checkpoints, evaluated, values, source=source))
            tokens = np.array([INITIAL + scale * CONTINUAL * index[c] // 113 for c in checkpoints], float)
            extra = tokens - (INITIAL if number or seed > 1 else 0)
            costs.append(cost(name, seed, checkpoints, tokens, extra))
            rates.append(cosine(name, seed, steps))
    found = [MethodResult(name, group, seeds) for name, group, seeds, *_ in methods]
    if oracle:
        found.append(MethodResult("oracle", "reference", (1,), is_oracle=True))
        for shrink, source in enumerate(("", *sources)):
            values = nll(CUTOFFS, evaluated, -0.004 / (1 + shrink), 0.014, 0.0365 / (1 + shrink)) - 0.3 * shrink
            cells.append(rows("oracle", 1, CUTOFFS, evaluated, values, source=source))
        tokens = np.cumsum([INITIAL + CONTINUAL * index[c] / 113 for c in CUTOFFS])
        costs.append(cost("oracle", 1, CUTOFFS, tokens, tokens - INITIAL))
    return StudyResult(
        name="tic-cc-3b",
        parameters=2_796_096_000,
        timeline=Calendar(only="tic-cc").timeline(),
        methods=tuple(found),
        checkpoints=tuple(checkpoints),
        evaluated=tuple(evaluated),
        cells=pd.concat(cells, ignore_index=True),
        costs=pd.concat(costs, ignore_index=True),
        rates=pd.concat(rates, ignore_index=True),
        reference=("oracle", 1, "202407") if oracle else None,
        target_tokens=INITIAL + scale * CONTINUAL,
        outside=("tokenizer GPT-NeoX-20B, as of 202202",),
    )


def cost(method: str, seed: int, trained: Sequence[str], tokens: Values, executed: Values) -> pd.DataFrame:
    spent = {"tokens": tokens, "flops": tokens * PER_TOKEN, "executed_tokens": executed}
    spent["executed_flops"] = executed * PER_TOKEN
    return pd.DataFrame({"method": method, "seed": seed, "trained": list(trained), **spent})


def cosine(method: str, seed: int, steps: int) -> pd.DataFrame:
    parts = []
    for i, period in enumerate(TIC_CC_MONTHS[1:]):
        top = 3e-5 + 0.5 * (1 + np.cos(np.pi * i / (i + 1))) * 2.7e-4 if method.endswith("-ar") else 1e-4
        wave = 3e-5 + 0.5 * (1 + np.cos(np.pi * np.arange(steps) / steps)) * (top - 3e-5)
        parts.append(pd.DataFrame({"period": period, "step": i * steps + np.arange(steps), "rate": wave}))
    return pd.concat(parts).assign(method=method, seed=seed)


def without(result: StudyResult, **where: object) -> StudyResult:
    """The study without the cells that match."""
    mask = np.ones(len(result.cells), bool)
    for column, value in where.items():
        mask &= (result.cells[column] == value).to_numpy()
    return dataclasses.replace(result, cells=result.cells[~mask])
