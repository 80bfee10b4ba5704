"""What a model that has read up to a month is expected to prefer, and how well its preferences fit each month.

A value is the likelier behind its question the more months of text stated it: Oracles, trained on all months at once,
follow the logarithm of that number; a model that was updated month by month forgets, so that a month counts the less
the older it is. A value that no text stated yet has only the likelihood that it has anywhere: its fame. So the lead of
the new value of a change at month c is expected to be, for a model that has read up to the month D,

    x = ln(n_new + p·f_new) − ln(n_old + p·f_old),    n = Σ e^(−(D − m)/memory) over the months m ≤ D that stated it,

where f is P(value | neutral words) over its geometric mean and p months of text are what fame is worth. The lead is
fitted as a + b·z + s·x, s ≥ 0, by least squares; z is the lead behind neutral words, which takes up a trend of fame.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ticlm.platform.analysis.age.changes import Array, Changes, Months

TO_DEVIATION = 1.4826
"""A median absolute deviation times this is the standard deviation of a normal distribution."""
FARTHEST = 1200
"""Months after which nothing is forgotten any more."""
BLOCK = 256
"""Candidates whose expected leads are held in memory at once."""


@dataclass(frozen=True)
class AgeScore:
    """A way to score months. docs/age.md says how CHOSEN was chosen, on models of known age."""

    memories: tuple[float, ...]
    """Months in which the weight of a month falls to 1/e; the one that fits a candidate best is taken."""
    fame_months: float
    """Months of text that the mean fame of a value is worth."""
    bound: float
    """Leads farther than so many robust deviations from the median, measured and expected ones, count as if they were
    there: one answer of eight rare tokens may have a lead of 40 nats."""


CHOSEN = AgeScore(memories=(float("inf"),), fame_months=0.03, bound=2.0)


def log_likelihoods(score: AgeScore, changes: Changes, edges: Months, weights: Array | None = None) -> Array:
    """Return float64[resamples, edges]: how much likelier the leads are with the edge there than with none, in nats.

    `weights` is float64[resamples, changes]: how often each resample has each change; by default each once, in one.
    """
    weights = np.ones((1, len(changes))) if weights is None else weights
    fit = _Fit(weights, bounded(changes.lead, score.bound), bounded(changes.lead_anywhere, score.bound))
    found = np.full((len(weights), len(edges)), -np.inf)
    for memory in score.memories:
        for start in range(0, len(edges), BLOCK):
            part = slice(start, start + BLOCK)
            expected = expected_leads(changes, edges[part], memory, score.fame_months)
            found[:, part] = np.maximum(found[:, part], fit.gain(bounded(expected, score.bound)))
    return found


def expected_leads(changes: Changes, edges: Months, memory: float, fame_months: float) -> Array:
    """Return float64[changes, edges], the lead of the new value that is expected of a model with each edge."""
    middle = float(np.median(np.concatenate([changes.new_anywhere, changes.old_anywhere])))
    new = _stated(changes.month, changes.until, edges, memory)
    old = _stated(changes.since, changes.month, edges, memory)
    new += fame_months * np.exp(changes.new_anywhere - middle)[:, None]
    old += fame_months * np.exp(changes.old_anywhere - middle)[:, None]
    lead: Array = np.log(new) - np.log(old)
    return lead


def bounded(values: Array, bound: float) -> Array:
    """Return float64[values, …] with those drawn in that lie `bound` robust deviations or more from the median of their
    column."""
    middle = np.median(values, axis=0)
    reach = bound * TO_DEVIATION * np.median(np.abs(values - middle), axis=0)
    reach = np.where(reach > 0, reach, np.inf)  # more than half of the values are equal
    return np.clip(values, middle - reach, middle + reach)


def _stated(first: Months, end: Months, edges: Months, memory: float) -> Array:
    """Return float64[changes, edges], the months from `first` up to before `end` that a model of each edge has read,
    weighted by how well it remembers them."""
    upto = np.minimum(end[:, None], edges[None, :] + 1)
    months = np.maximum(upto - first[:, None], 0)
    if np.isinf(memory):
        return months.astype(np.float64)
    kept = np.exp(-np.arange(FARTHEST) / memory)  # a table: powers of a million numbers took half of the time
    since_then = np.minimum(edges[None, :] + 1 - upto, FARTHEST - 1)
    held = np.minimum(months, FARTHEST - 1)
    found: Array = kept[since_then] * (1 - kept[held]) / (1 - kept[1])
    return found


class _Fit:
    """Least squares of a lead on a constant, the lead behind neutral words and one expected lead."""

    def __init__(self, weights: Array, lead: Array, fame: Array) -> None:
        self.weights, self.lead, self.fame = weights, lead, fame
        total = weights.sum(1)
        self.number = total
        free = (np.ones_like(lead), fame)
        gram = np.stack([[weights @ (one * other) for other in free] for one in free]).transpose(2, 0, 1)
        self.inverse = np.linalg.pinv(gram, hermitian=True)
        self.moments = np.stack([weights @ (one * lead) for one in free], -1)
        explained = np.einsum("ri,rij,rj->r", self.moments, self.inverse, self.moments)
        self.rest = np.maximum(weights @ lead**2 - explained, 1e-300)

    def gain(self, expected: Array) -> Array:
        """Return float64[resamples, candidates], the gain in log-likelihood of float64[changes, candidates]."""
        crossed = np.stack([self.weights @ expected, self.weights @ (expected * self.fame[:, None])], -1)
        solved = np.einsum("rij,rej->rei", self.inverse, crossed)
        pull = self.weights @ (expected * self.lead[:, None]) - np.einsum("rei,ri->re", solved, self.moments)
        whole = self.weights @ expected**2
        size = whole - np.einsum("rei,rei->re", solved, crossed)
        is_told = (pull > 0) & (size > 1e-9 * np.maximum(whole, 1e-9))  # else the expected leads are fame alone
        share = np.where(is_told, pull**2 / np.where(is_told, size, 1), 0) / self.rest[:, None]
        gain: Array = -self.number[:, None] / 2 * np.log1p(-np.minimum(share, 1 - 1e-12))
        return gain
