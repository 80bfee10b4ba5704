"""The edge of a model's knowledge: the month after which it no longer prefers what is new."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.age.changes import Changes
from ticlm.platform.analysis.age.profile import Shape, candidates, log_likelihoods

RESAMPLES = 1000
LEVEL = 0.95
SURE = 0.05
"""Largest p of an edge that is told."""


@dataclass(frozen=True)
class FactEdge:
    """An estimate. Months are counted since the year 0."""

    month: int
    low: int
    high: int
    """Ends of the 95 % interval, over resamples of facts."""
    p: float
    """Share of shufflings of the dates that look as much like an edge as the true ones."""

    @property
    def is_known(self) -> bool:
        return self.p <= SURE


def fact_edge(changes: Changes, shape: Shape, seed: int = 0) -> FactEdge | None:
    """Return the edge of a model by maximum likelihood; None if too few changes lie before or after any month.

    The interval resamples facts, not changes: the answers of one fact are chained. p compares the likelihood of the
    best edge with those of SHUFFLES dealings of the months.
    """
    changes = changes.tempered()
    edges = candidates(changes)
    if not len(edges):
        return None
    rng = np.random.default_rng(seed)
    found = log_likelihoods(changes, edges, shape)[0]
    facts = int(changes.fact.max()) + 1
    drawn = rng.multinomial(facts, np.full(facts, 1 / facts), RESAMPLES)[:, changes.fact].astype(np.float64)
    resampled = edges[log_likelihoods(changes, edges, shape, drawn).argmax(1)]
    low, high = np.quantile(resampled, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    best = np.array([_best(changes.shuffled(rng), edges, shape) for _ in range(RESAMPLES)])
    p = (1 + int((best >= found.max()).sum())) / (1 + RESAMPLES)
    return FactEdge(int(edges[found.argmax()]), int(low), int(high), p)


def _best(changes: Changes, edges: NDArray[np.int64], shape: Shape) -> float:
    return float(log_likelihoods(changes, edges, shape)[0].max())
