"""Differences between methods in backward transfer, ID and forward transfer, with paired bootstrap intervals.

The bootstrap draws evaluated periods, because these were sampled. Each is drawn with all its checkpoints, and both
methods use the same draw. So the interval says how far a difference depends on the chosen periods, not on the seeds of
training.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.leaders import leaders
from ticlm.platform.analysis.matrix import MethodView, View, views
from ticlm.platform.analysis.metrics import quantity
from ticlm.platform.analysis.numbers import HEADINGS, TableColumn, signed
from ticlm.platform.analysis.transfer import Mask, Matrix
from ticlm.platform.results.study_result import StudyResult, TaskMetric

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.analysis.conventions import Preset

RESAMPLES = 10_000
LEVEL = 0.95
NORMAL_QUANTILE = 1.959963984540054
"""How many standard errors a normal interval of this level reaches to either side."""
COMPARED = 32
"""Most methods of a study of which every two are compared. 100 methods have 4,950 pairs: no chart shows them, and on
one core they took as long as half of the report."""
AT_ONCE = 512
"""Pairs that are resampled together: 40 MB of means. All pairs of COMPARED methods fit: for them no product of matrices
is cut, which may change its last bit."""
ONE_THREAD = 1 << 17
"""Most multiplications of a product that OpenBLAS surely leaves to one thread; it starts others above 2^18."""
MOST_BLOCKS = 32
"""Most blocks of a product: a larger one is worth its threads."""
DRAWN_AT_ONCE = 1 << 22
"""Number of counts that `mean_interval` draws at once."""
COLUMNS = (
    *("study", "task", "source", "metric", "mean", "method_a", "method_b"),
    *("difference", "low", "high", "cells", "missing"),
)
Array = NDArray[np.float64]


def differences(
    results: Sequence[StudyResult],
    preset: Preset,
    seen: Sequence[Sequence[View]] | None = None,
    summary: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return a frame of COLUMNS with a row for every two methods of a study, task, source and mean.

    `difference` is A − B in the means of the report, over the mean of the seeds and over the `cells` that both methods
    have; `missing` counts the cells that one of them lacks. `low` to `high` is the 95 % percentile interval, NaN if
    fewer than two periods have cells. `seen` are the views of each study, where they are made already. With a
    `summary`, a view of more than COMPARED methods has only the pairs of which one is a leader (analysis/leaders.py).
    """
    import pandas as pd

    every = (view for of in seen or map(views, results) for view in of)
    rows = [row for view in every for row in _of(view, preset, summary)]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def left_out(seen: Sequence[Sequence[View]], summary: pd.DataFrame) -> list[str]:
    """Return a line for each study some of whose pairs of methods `differences` leaves out."""
    lines = []
    for of in seen:
        count = len(of[0].methods) if of else 0
        if count > COMPARED:
            kept = max(len(_pairs(view, summary)) for view in of)
            whole = count * (count - 1) // 2
            lines.append(
                f"{of[0].study.name}: {kept:,} of {whole:,} pairs of methods are compared: those with a method that is "
                "best by a mean, frozen, the Oracle series or the reference; --all-pairs compares every two"
            )
    return lines


def paired(sums: Array, counts: Array, seed: int = 0) -> tuple[Array, Array, Array]:
    """Return the mean of each quantity and the ends of its percentile interval: three arrays float64[quantity].

    `sums` and `counts` are [unit, quantity]; a mean is the sum over the count. A resample draws the same units for all
    quantities. A mean is NaN if nothing was counted; the ends are NaN if fewer than two units count. At most AT_ONCE
    quantities are drawn together, so that memory does not grow with them.
    """
    units = len(sums)
    weights = _weights(units, seed)
    with np.errstate(invalid="ignore"):
        whole = sums.sum(0) / counts.sum(0)
    low, high = np.full(len(whole), np.nan), np.full(len(whole), np.nan)
    for first in range(0, len(whole), AT_ONCE):
        part = slice(first, first + AT_ONCE)
        low[part], high[part] = _ends(weights, sums[:, part], counts[:, part])
    return whole, low, high


def stratified(strata: Sequence[tuple[Array, Array]]) -> tuple[Array, Array, Array]:
    """Return the mean over strata of each quantity's mean in them, and the ends of its percentile interval.

    Each stratum has sums and counts [unit, quantity], counts above 0. Of its n units n − 1 are drawn, all quantities
    alike: a draw of n would make the variance (n − 1) / n of what it is, which counts where a stratum has few units
    (Rao and Wu, 1988). If one has a single unit, the strata are drawn instead.
    """
    means = np.stack([sums.sum(0) / counts.sum(0) for sums, counts in strata])
    if any(len(sums) < 2 for sums, _ in strata):
        return paired(means, np.ones_like(means))
    drawn = np.zeros((RESAMPLES, means.shape[1]))
    for number, (sums, counts) in enumerate(strata):  # a seed each: strata of one size would be drawn alike
        units = len(sums)
        picked = np.random.default_rng(number).multinomial(units - 1, np.full(units, 1 / units), RESAMPLES)
        weights = picked.astype(float)
        drawn += _product(weights, sums) / _product(weights, counts) / len(strata)
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return means.mean(0), low, high


def sums_apart(pairs: Sequence[tuple[Matrix, Matrix]], masks: Sequence[Mask]) -> tuple[Array, NDArray[np.int64]]:
    """Return the sums of the differences A − B of matrices over the checkpoints of each evaluated period, and how many
    of the cells in the mask both have: float64 and int64 [evaluated, pair]. AT_ONCE pairs are held at once."""
    sums, counts = [], []
    for first in range(0, len(pairs), AT_ONCE):
        some = pairs[first : first + AT_ONCE]
        apart = np.stack([a - b for a, b in some], axis=-1)  # [trained, evaluated, pair]
        counted = ~np.isnan(apart) & np.stack(masks[first : first + AT_ONCE], axis=-1)
        sums.append(np.where(counted, apart, 0.0).sum(0))
        counts.append(counted.sum(0))
    return np.concatenate(sums, axis=1), np.concatenate(counts, axis=1)


@lru_cache(maxsize=2)
def _weights(units: int, seed: int) -> Array:
    """Return how often each unit is drawn in each resample, float64[resample, unit]. Drawing takes 17 ms for 13 units,
    and the 211 views of a study with many sources use the same draws."""
    drawn = np.random.default_rng(seed).multinomial(units, np.full(units, 1 / units), RESAMPLES).astype(float)
    drawn.setflags(write=False)
    return drawn


def _ends(weights: Array, sums: Array, counts: Array) -> tuple[Array, Array]:
    """Return the ends of the percentile intervals of a few quantities; `weights` are [resample, unit]."""
    low, high = np.full(sums.shape[1], np.nan), np.full(sums.shape[1], np.nan)
    enough = (counts > 0).sum(0) > 1
    if not enough.any():
        return low, high
    # Most quantities count the same cells. Products of whole numbers are exact: one column stands for all of its kind.
    kinds, kind = np.unique(counts, axis=1, return_inverse=True)
    with np.errstate(invalid="ignore"):
        drawn = _product(weights, sums) / _product(weights, kinds)[:, kind.ravel()]
    # A draw without any of a quantity's units says nothing about it. `nanquantile` is slow: it goes column by column.
    cut = np.nanquantile if np.isnan(drawn).any() else np.quantile
    low[enough], high[enough] = cut(drawn[:, enough], [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return low, high


def _product(weights: Array, sums: Array) -> Array:
    """Return weights @ sums; a product of few units and quantities in blocks that BLAS leaves to one thread.

    Two threads wait for one another longer than they multiply: 10,000 × 13 by 13 × 6 took 6.4 ms of CPU, in blocks 0.2.
    """
    rows = ONE_THREAD // max(1, sums.size)
    if len(weights) > MOST_BLOCKS * rows:
        return weights @ sums
    return np.concatenate([weights[first : first + rows] @ sums for first in range(0, len(weights), rows)])


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


def _of(view: View, preset: Preset, summary: pd.DataFrame | None) -> Iterator[dict[str, Any]]:
    cells = view.cells(preset)
    pairs = _pairs(view, summary)
    if not pairs or not view.evaluated:
        return
    of = {one.method.name: view.relative(one.mean) for one in view.methods}
    for mean in HEADINGS:
        mask = getattr(cells, mean)
        masks = [_compared(view, a, b, mask) for a, b in pairs]
        sums, counts = sums_apart([(of[a.method.name], of[b.method.name]) for a, b in pairs], masks)
        for (a, b), asked, *ends, held in zip(pairs, masks, *paired(sums, counts.astype(float)), counts.sum(0)):
            values = dict(zip(("difference", "low", "high"), map(float, ends)))
            where = {"study": view.study.name, "task": view.task, "source": view.source, "metric": view.metric.name}
            gone = {"cells": int(held), "missing": int(asked.sum() - held)}
            yield where | {"mean": mean, "method_a": a.method.name, "method_b": b.method.name} | values | gone


def _pairs(view: View, summary: pd.DataFrame | None) -> list[tuple[MethodView, MethodView]]:
    """Return the pairs of methods to compare."""
    pairs = list(combinations(view.methods, 2))
    if summary is None or len(view.methods) <= COMPARED:
        return pairs
    first = set(leaders(view, summary))
    return [(a, b) for a, b in pairs if a.method.name in first or b.method.name in first]


def _compared(view: View, a: MethodView, b: MethodView, mask: Mask) -> Mask:
    """Return the cells of a mean on which two methods are compared: with the model that is never updated, those of
    updates alone. On the first checkpoint both are one model, and its 0 would hide what one or two updates gained."""
    return mask & view.updated if view.frozen is a or view.frozen is b else mask
