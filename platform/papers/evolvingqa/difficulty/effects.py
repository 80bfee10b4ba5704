"""How much the harder questions cost, with errors that count articles, as questions about one article go together."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.intervals import newcombe, quantile
from ticlm.platform.papers.evolvingqa.difficulty.groups import FEWEST

Array = NDArray[np.float64]
ROUNDED = 1e-9
"""Largest error that is a rounding of 0: all answers are as their kind and their side say."""


class Effect(NamedTuple):
    """A difference of means with its error and the ends of its 95 % interval, and the questions that it compares."""

    difference: float
    stderr: float
    low: float
    high: float
    n: int


def mean_error(values: Array, articles: NDArray[Any]) -> float:
    """Return the standard error of a mean; values[question] of one article may depend on each other. It is NaN for
    fewer than two articles."""
    return _error(values - values.mean(), articles, float(len(values)))


def effect(values: Array, hard: NDArray[np.bool_], articles: NDArray[Any]) -> Effect:
    """Return the mean of values[question] over hard questions less that over the others.

    The interval is the wider of two: Student's t with errors by article, which are too small for shares near 0 or 1,
    and Newcombe's for shares, which takes all questions for independent.
    """
    found = within(values, hard, articles, np.zeros(len(values), dtype=int))
    if math.isnan(found.difference):
        return found
    shares = [(float(values[side].mean()), int(side.sum())) for side in (hard, ~hard)]
    low, high = newcombe(*shares)
    ends = np.fmin(low, found.low), np.fmax(high, found.high)  # an end that is not known does not count
    return found._replace(low=float(ends[0]), high=float(ends[1]))


def within(values: Array, hard: NDArray[np.bool_], articles: NDArray[Any], kinds: NDArray[Any]) -> Effect:
    """Return the mean over kinds of questions of the difference between hard and other questions of one kind.

    A kind weighs n m / (n + m), with n hard and m other questions, so that the variance is smallest if all kinds differ
    alike (it is the coefficient in a regression with an intercept for each kind); kinds that have only one side weigh
    nothing. Errors are by article. All is NaN if kinds with both sides have fewer than FEWEST questions of one of them.
    """
    _, kind = np.unique(kinds, return_inverse=True)
    apart, centred = _centred(hard.astype(float), kind), _centred(values, kind)
    used = apart != 0  # the kinds that have both sides
    if min(int(hard[used].sum()), int((~hard[used]).sum())) < FEWEST:
        return Effect(math.nan, math.nan, math.nan, math.nan, int(used.sum()))
    square = float((apart**2).sum())
    difference = float((apart * values).sum()) / square
    error = _error((apart * (centred - difference * apart))[used], articles[used], square)
    reach = quantile(max(1, len(np.unique(articles[used])) - 1)) * error
    ends = (max(-1.0, difference - reach), min(1.0, difference + reach)) if error > ROUNDED else (math.nan, math.nan)
    return Effect(difference, error, *ends, int(used.sum()))


def _centred(values: Array, kind: NDArray[np.int64]) -> Array:
    means = np.bincount(kind, values) / np.bincount(kind)
    centred: Array = values - means[kind]
    return centred


def _error(parts: Array, articles: NDArray[Any], through: float) -> float:
    """Return the standard error of a sum of parts that have the mean 0, through a number."""
    _, article = np.unique(articles, return_inverse=True)
    sums = np.bincount(article, parts)
    count = len(sums)
    return math.sqrt(count / (count - 1) * float((sums**2).sum())) / through if count > 1 else math.nan
