"""Standard errors by the bootstrap: texts and questions are what was sampled, so they are what is drawn again."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 1000
DRAWN_AT_ONCE = 1 << 21
"""Values drawn at once; with 10,000 texts that is some 200 resamples."""
Statistic = Callable[..., NDArray[np.float64]]


def bootstrapped(statistic: Statistic, *values: NDArray[np.float64]) -> tuple[float, float | None]:
    """The statistic of the units, and its standard error over resamples of them; None with fewer than two.

    `values` are arrays of one length, a unit each; `statistic(*values, axis=…)` gives a number for each row of an axis.
    The draws are seeded: the same values have the same error.
    """
    whole = float(statistic(*values, axis=-1))
    if len(values[0]) < 2:
        return whole, None
    from scipy.stats import bootstrap

    drawn = bootstrap(
        values,
        statistic,
        n_resamples=RESAMPLES,
        batch=max(1, DRAWN_AT_ONCE // len(values[0])),
        vectorized=True,
        paired=len(values) > 1,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    return whole, float(drawn.standard_error)


def ratio(sums: ArrayLike, counts: ArrayLike) -> tuple[float, float | None]:
    """Sum of `sums` over the sum of `counts`, of units that have both: the mean per token of texts of many lengths.
    NaN, without an error, where nothing was counted."""

    def statistic(total: NDArray[np.float64], count: NDArray[np.float64], axis: int = -1) -> NDArray[np.float64]:
        return np.asarray(total.sum(axis=axis) / np.maximum(count.sum(axis=axis), 1e-300))

    total, count = np.asarray(sums, np.float64), np.asarray(counts, np.float64)
    if not count.sum():
        return math.nan, None
    return bootstrapped(statistic, total, count)
