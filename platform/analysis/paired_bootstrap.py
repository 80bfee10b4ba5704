"""Differences between methods in backward transfer, ID and forward transfer, with paired bootstrap intervals.

The bootstrap draws evaluated periods, because these were sampled. Each is drawn with all its checkpoints, and both
methods use the same draw. So the interval says how far a difference depends on the chosen periods, not on the seeds of
training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.matrix import View, views
from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.numbers import HEADINGS, TableColumn, signed
from ticlm.platform.results.study_result import StudyResult, TaskMetric

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.analysis.conventions import Preset

RESAMPLES = 10_000
LEVEL = 0.95
NORMAL_QUANTILE = 1.959963984540054
"""How many standard errors a normal interval of this level reaches to either side."""
DRAWN_AT_ONCE = 1 << 22
"""Number of counts that `mean_interval` draws at once."""
COLUMNS = (
    *("study", "task", "source", "metric", "mean", "method_a", "method_b"),
    *("difference", "low", "high", "cells", "missing"),
)
Array = NDArray[np.float64]


def differences(results: Sequence[StudyResult], preset: Preset) -> pd.DataFrame:
    """Return a frame of COLUMNS with a row for every two methods of a study, task, source and mean.

    `difference` is A − B in the means of the report, over the mean of the seeds and over the `cells` that both methods
    have; `missing` counts the cells that one of them lacks. `low` to `high` is the 95 % percentile interval, NaN if
    fewer than two periods have cells.
    """
    import pandas as pd

    rows = [row for study in results for view in views(study) for row in _of(view, preset)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def paired(sums: Array, counts: Array, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return the mean of each quantity and the ends of its percentile interval: three arrays float64[quantity].

    `sums` and `counts` are [unit, quantity]; a mean is the sum over the count. A resample draws the same units for all
    quantities. A mean is NaN if nothing was counted; the ends are NaN if fewer than two units count.
    """
    units = len(sums)
    weights = np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), RESAMPLES).astype(float)
    with np.errstate(invalid="ignore"):
        whole, drawn = sums.sum(0) / counts.sum(0), (weights @ sums) / (weights @ counts)
    low, high = np.full(len(whole), np.nan), np.full(len(whole), np.nan)
    enough = (counts > 0).sum(0) > 1
    if enough.any():  # a draw without any of a quantity's units says nothing about it
        low[enough], high[enough] = np.nanquantile(drawn[:, enough], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return whole, low, high


def mean_interval(values: Array, seed: int = 0) -> tuple[float, float, float]:
    """Return the mean of one number per unit, and the ends of its percentile interval; NaN for fewer than two units,
    and if all numbers are equal, since resampling says nothing then.

    Equal numbers are drawn together, as only their counts reach the mean, so that memory does not grow with the units.
    """
    if len(values) < 2:
        return float(values[0]) if len(values) else np.nan, np.nan, np.nan
    kinds, counts = np.unique(values, return_counts=True)
    if len(kinds) < 2:
        return float(kinds[0]), np.nan, np.nan
    random, at_once = np.random.default_rng(seed), max(1, DRAWN_AT_ONCE // len(kinds))
    shares = counts / len(values)
    drawn = [
        random.multinomial(len(values), shares, min(at_once, RESAMPLES - start)) @ kinds / len(values)
        for start in range(0, RESAMPLES, at_once)
    ]
    low, high = np.quantile(np.concatenate(drawn), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(values.mean()), float(low), float(high)


def describe(found: pd.DataFrame, most: int = 6) -> list[str]:
    """Return a line for each difference, with the digits of the table; none if there are more than `most`."""
    if len(found) > most:
        return []
    return [_line(row) for row in found.to_dict("records")]


def _line(row: dict[Any, Any]) -> str:
    what = f"{row['study']}, {TableColumn(row['task'], row['source']).name}, {HEADINGS[row['mean']]}"
    counted = quantity(TaskMetric(row["metric"]))
    apart, low, high = (signed(counted.scale * row[name], counted.digits) for name in ("difference", "low", "high"))
    unit = f" {counted.difference}" if counted.difference and not counted.is_log else ""
    return f"{what} {row['method_a']} − {row['method_b']}: {apart}{unit} (95 %: {low} to {high})"


def _of(view: View, preset: Preset) -> Iterator[dict[str, Any]]:
    cells = view.cells(preset)
    pairs = list(combinations(view.methods, 2))
    if not pairs or not view.evaluated:
        return
    of = {one.method.name: view.relative(one.mean) for one in view.methods}
    apart = np.stack([of[a.method.name] - of[b.method.name] for a, b in pairs], axis=-1)  # [trained, evaluated, pair]
    known = ~np.isnan(apart)
    for mean in HEADINGS:
        mask = getattr(cells, mean)[:, :, np.newaxis]
        counted = known & mask
        sums, counts = np.where(counted, apart, 0.0).sum(0), counted.sum(0).astype(float)
        for (a, b), *ends, held in zip(pairs, *paired(sums, counts), counts.sum(0)):
            values = dict(zip(("difference", "low", "high"), map(float, ends)))
            where = {"study": view.study.name, "task": view.task, "source": view.source, "metric": view.metric.name}
            gone = {"cells": int(held), "missing": int(mask.sum() - held)}
            yield where | {"mean": mean, "method_a": a.method.name, "method_b": b.method.name} | values | gone
