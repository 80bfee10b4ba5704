"""The edge of a model's knowledge: the month up to which it has read, by the dated changes that it knows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ticlm.platform.analysis.age.changes import Array, Changes, Months
from ticlm.platform.analysis.age.score import CHOSEN, AgeScore, log_likelihoods

RESAMPLES = 1000
SHUFFLES = 199
"""Dealings of the dates: the smallest p is 1 in 200, and each costs as much as the estimate itself."""
PLACEBOS = 20
LEVEL = 0.95
SURE = 0.05
"""Largest p of an edge that is told."""
LEAST = 5
"""Changes that must lie up to a month for it to be tried as the edge, and facts that must have changed at all."""


@dataclass(frozen=True)
class FactEdge:
    """An estimate. Months are counted since the year 0."""

    month: int
    low: int
    high: int
    """Ends of the 95 % interval, over resamples of facts."""
    p: float
    """Share of dealings of the dates that look as much like an edge as the true ones."""
    first: int
    last: int
    """First and last month that was tried."""

    @property
    def is_known(self) -> bool:
        return self.p <= SURE

    @property
    def is_open(self) -> bool:
        """Whether the model may have read more than the facts reach."""
        return self.high >= self.last

    @property
    def is_open_below(self) -> bool:
        """Whether it may have read less than the first month that was tried."""
        return self.low <= self.first

    def holds(self, month: int) -> bool:
        """Return whether the interval holds a month, beyond the months tried where it is open."""
        return (self.low <= month or self.is_open_below) and (month <= self.high or self.is_open)


@dataclass(frozen=True)
class Placebo:
    """What the estimate finds where nothing is: of dates dealt out anew within each fact."""

    unknown: int
    """Of how many of PLACEBOS dealings it says that the edge is unknown."""
    width: float
    """The share of the months tried that the 95 % interval of the first dealing covers."""


def candidates(changes: Changes) -> Months:
    """Return int64[candidates], the months to try: from that of the LEAST-th change to that of the last one."""
    months = np.sort(changes.month)
    return np.arange(months[LEAST - 1], months[-1] + 1) if len(months) >= LEAST else months[:0]


def fact_edge(changes: Changes, score: AgeScore = CHOSEN, seed: int = 0) -> tuple[FactEdge, Placebo] | None:
    """Return the edge of a model by maximum likelihood, and what the estimate finds in dates dealt out anew; None if
    there are too few changes or facts, or if all changes are of one month.

    The interval resamples facts, not changes: the values of one fact are chained. p compares the likelihood of the
    best edge with those of SHUFFLES dealings of the dates over all changes.
    """
    edges = candidates(changes)
    if len(edges) < 2 or len(np.unique(changes.fact)) < LEAST:
        return None
    rng = np.random.default_rng(seed)
    found = log_likelihoods(score, changes, edges)[0]
    drawn = _resamples(changes, rng)
    low, high = _interval(changes, edges, score, drawn)
    nothing = np.sort([log_likelihoods(score, changes.shuffled(rng), edges).max() for _ in range(SHUFFLES)])
    month = int(edges[found.argmax()])
    low, high = min(low, month), max(high, month)  # ends of resamples need not hold the estimate itself
    edge = FactEdge(month, low, high, _p(found.max(), nothing), int(edges[0]), int(edges[-1]))
    dealt = [changes.shuffled_within_facts(rng) for _ in range(PLACEBOS)]
    unknown = [_p(log_likelihoods(score, one, edges).max(), nothing) > SURE for one in dealt]
    low, high = _interval(dealt[0], edges, score, drawn)
    return edge, Placebo(sum(unknown), (high - low + 1) / len(edges))


def _p(found: float, nothing: Array) -> float:
    """Return the share of likelihoods where nothing is, float64[SHUFFLES] in order, that reach the one that was found;
    the found one counts among them."""
    return (1 + len(nothing) - int(np.searchsorted(nothing, found))) / (1 + len(nothing))


def _resamples(changes: Changes, rng: np.random.Generator) -> Array:
    """Return float64[RESAMPLES, changes], how often each resample of the facts has each change."""
    facts = int(changes.fact.max()) + 1
    return rng.multinomial(facts, np.full(facts, 1 / facts), RESAMPLES)[:, changes.fact].astype(np.float64)


def _interval(changes: Changes, edges: Months, score: AgeScore, drawn: Array) -> tuple[int, int]:
    resampled = edges[log_likelihoods(score, changes, edges, drawn).argmax(1)]
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    return int(low), int(high)
