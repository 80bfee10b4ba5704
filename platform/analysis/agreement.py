"""How far two scores of the same facts agree: a correlation with its interval."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.paired_bootstrap import LEVEL, NORMAL_QUANTILE

Array = NDArray[np.float64]
PHI, RANK = "phi", "rank"
RESAMPLES = 4000
DRAWN = 1000
"""Most facts of which resamples are drawn; of more, the interval is that of Fisher's transformation."""


def agreement(first: Array, second: Array, by_rank: bool) -> tuple[float, float, float, str]:
    """Return the correlation of two scores of the same facts, the ends of its 95 % interval, and its kind.

    Of right and wrong it is Pearson's, which is phi; `by_rank`, Spearman's of average ranks. All are NaN for fewer than
    three facts, and where one of the scores is the same for all. The interval is that of a bootstrap over facts, of
    ranks among all of them; beyond DRAWN facts, that of Fisher's transformation, for ranks with the variance of
    Fieller, Hartley and Pearson (1957). Its ends are NaN if more than 2.5 % of the resamples have the same score for
    all facts, as where three of many are right: the others cannot say how far the correlation goes.
    """
    kind = RANK if by_rank else PHI
    x, y = (_ranks(one) if by_rank else one for one in (first, second))
    if len(x) < 3 or np.ptp(x) < 1e-12 or np.ptp(y) < 1e-12:
        return math.nan, math.nan, math.nan, kind
    x, y = ((one - one.mean()) / one.std() for one in (x, y))
    value = float(np.clip(np.mean(x * y), -1, 1))
    if len(x) > DRAWN:
        if abs(value) == 1:
            return value, math.nan, math.nan, kind
        error = math.sqrt((1.06 if by_rank else 1.0) / (len(x) - 3))
        low, high = (math.tanh(math.atanh(value) + side * NORMAL_QUANTILE * error) for side in (-1, 1))
        return value, low, high, kind
    drawn = _drawn(x, y)
    if len(drawn) < RESAMPLES * (1 + LEVEL) / 2 or np.ptp(drawn) < 1e-12:
        return value, math.nan, math.nan, kind
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return value, float(low), float(high), kind


def _drawn(x: Array, y: Array) -> Array:
    """Return the correlations of resamples, without those in which a score is the same for all facts."""
    weights = np.random.default_rng(0).multinomial(len(x), np.full(len(x), 1 / len(x)), RESAMPLES) / len(x)
    mx, my, xx, yy, xy = (weights @ one for one in (x, y, x * x, y * y, x * y))
    spread = (xx - mx**2) * (yy - my**2)
    known = spread > 1e-9
    return np.asarray((xy - mx * my)[known] / np.sqrt(spread[known]), dtype=np.float64)


def _ranks(values: Array) -> Array:
    """Return ranks from 1; equal values have the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    return np.asarray((last - (counts - 1) / 2)[inverse], dtype=np.float64)
