"""How uncertain a FUAR is, because another sample of probes would have given other scores."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ticlm.core.extras import require
from ticlm.platform.analysis.probe_scores import ProbeScores
from ticlm.platform.papers.ckl.fuar import Array, Question, divided, fuar

RESAMPLES = 1_000
LEVEL = 0.95
BATCH = 100
"""Resamples that are held in memory at once."""
Kind = Literal["paired bootstrap", "binomial", "normal", ""]


@dataclass(frozen=True)
class Interval:
    """The ends of a 95 % percentile interval, infinite where it reaches `no gain`, and how it was made.

    - `paired bootstrap`: probes were drawn, each with its results at all checkpoints.
    - `binomial`: each score was drawn anew from its k of n right answers, independently at each checkpoint. Checkpoints
      of one run answer alike, so such an interval is wider than a paired one.
    - `normal`: the same from standard errors, for scores that are no k of n.
    - empty: neither results, nor numbers of probes, nor standard errors are known.
    """

    low: float = math.nan
    high: float = math.nan
    kind: Kind = ""
    no_gain: float = math.nan
    """Share of the resamples in which nothing was gained."""


def interval(question: Question, seed: int = 0) -> Interval:
    """Return the interval of a FUAR; one of NaN if a score or all that it could be made from is missing."""
    if math.isnan(fuar(question).value):
        return Interval()
    pairs = {(s.name, where): (s, where) for _, s, where in question.read()}
    if all(len(s.results.get(where, ())) > 1 for s, where in pairs.values()):
        return _ends(_bootstrap(question, seed), "paired bootstrap")
    if all(s.n > 0 and _is_share(s, where) for s, where in pairs.values()):
        return _ends(_parametric(question, seed, binomial=True), "binomial")
    if all(math.isfinite(s.errors.get(where, math.nan)) for s, where in pairs.values()):
        return _ends(_parametric(question, seed, binomial=False), "normal")
    return Interval()


def _ends(drawn: Array, kind: Kind) -> Interval:
    # no interpolation: between a number and infinity there is none
    low, high = np.quantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    return Interval(float(low), float(high), kind, float(np.isinf(drawn).mean()))


def _bootstrap(question: Question, seed: int) -> Array:
    """Return the FUAR of each resample of the probes, drawn by SciPy within each probe set.

    Probes with the same results at all checkpoints are one pattern. What is drawn is the pattern of each probe, so that
    the work does not grow with the number of checkpoints.
    """
    require("an interval of FUAR", "stats", "scipy")
    from scipy.stats import bootstrap

    sets = {scores.name: scores for _, scores, _ in question.read()}
    patterns = {name: _patterns(scores, question) for name, scores in sets.items()}
    codes = [found.codes for found in patterns.values()]

    def statistic(*drawn: Array, axis: int = -1) -> Array:
        # SciPy may turn codes into floats, and asks for the value of the data themselves too, without resamples
        shares = {name: found.shares(np.atleast_2d(one)) for (name, found), one in zip(patterns.items(), drawn)}
        values = divided(*question.sums(lambda scores, where: shares[scores.name][where]))
        return values if drawn[0].ndim > 1 else values[0]

    with np.errstate(invalid="ignore"):  # its own interval, which is not used, interpolates between infinite values
        found: Any = bootstrap(
            codes,
            statistic,
            n_resamples=RESAMPLES,
            batch=BATCH,
            vectorized=True,
            axis=-1,
            method="percentile",
            rng=np.random.default_rng(seed),
        )
    return np.asarray(found.bootstrap_distribution, np.float64)


@dataclass(frozen=True)
class _Patterns:
    """The results of the probes of one set: `codes` int64[probe] are rows of the table, which has a column for each
    checkpoint."""

    codes: NDArray[np.int64]
    table: Mapping[str, Array]

    def shares(self, drawn: Array) -> dict[str, Array]:
        """Return the mean result at each checkpoint, float64[resample], of drawn codes [resample, probe]."""
        resamples, probes = drawn.shape
        width = len(next(iter(self.table.values())))
        flat = (drawn.astype(np.int64) + width * np.arange(resamples)[:, np.newaxis]).ravel()
        counts = np.bincount(flat, minlength=resamples * width).reshape(resamples, width)
        return {where: counts @ values / probes for where, values in self.table.items()}


def _patterns(scores: ProbeScores, question: Question) -> _Patterns:
    wheres = list(dict.fromkeys(where for _, one, where in question.read() if one.name == scores.name))
    rows = np.column_stack([scores.results[where] for where in wheres])
    table, codes = np.unique(rows, axis=0, return_inverse=True)
    return _Patterns(codes.reshape(-1).astype(np.int64), {where: table[:, i] for i, where in enumerate(wheres)})


def _parametric(question: Question, seed: int, binomial: bool) -> Array:
    """Return FUARs of scores that are drawn anew: from k of n right answers, else from their standard errors."""
    draws = np.random.default_rng(seed)
    found: dict[tuple[str, str], Array] = {}
    for _, scores, where in question.read():
        if (scores.name, where) not in found:
            value = scores.values[where]
            one = draws.binomial(scores.n, value, RESAMPLES) / scores.n if binomial else None
            found[scores.name, where] = draws.normal(value, scores.errors[where], RESAMPLES) if one is None else one
    return divided(*question.sums(lambda scores, where: found[scores.name, where]))


def _is_share(scores: ProbeScores, checkpoint: str) -> bool:
    """Return whether a score is k of n, k a whole number (or the mean of several such), but for a float's rounding."""
    value, n = scores.values[checkpoint], scores.n * scores.seeds
    return 0 <= value <= 1 and abs(value * n - round(value * n)) < 1e-6 * max(n, 1)
