"""Paired preferences: how many outcomes of the same changes flip between two models, and whether more flip one way.

Everything is exact and needs the standard library and NumPy alone: SciPy is an extra that a report must not ask for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Outcomes = NDArray[np.bool_]

PRIOR = 0.5
"""Pseudo-count of each of the three outcomes before any is seen (Jeffreys): rates of a few changes stay uncertain."""


@dataclass(frozen=True)
class Flips:
    """Counts of paired outcomes."""

    up: int
    """Pairs in which the later model alone prefers the new value."""
    down: int
    """Pairs in which the earlier model alone prefers it."""
    same: int
    """Pairs in which both models prefer the same value: ties, which a sign test leaves out."""

    def __len__(self) -> int:
        return self.up + self.down + self.same

    @classmethod
    def of(cls, later: Outcomes, earlier: Outcomes) -> Flips:
        """Count pairs of outcomes, bool[changes] each: whether a model prefers the new value."""
        up, down = int((later & ~earlier).sum()), int((earlier & ~later).sum())
        return cls(up, down, len(later) - up - down)

    @property
    def p(self) -> float:
        """One-sided p of McNemar's exact test: P(at least `up` of `up + down` fair coins are heads)."""
        return float(upper_tails(self.up + self.down)[self.up])


def upper_tails(coins: int) -> Array:
    """Return float64[coins + 1], P(at least k of so many fair coins are heads) for k = 0 … coins."""
    rising = _log_rising(1.0, coins)
    chances = np.exp(rising[coins] - rising - rising[::-1] - coins * math.log(2))
    found: Array = np.minimum(1.0, np.cumsum(chances[::-1])[::-1])  # from the smallest chance on, so that it is exact
    return found


def holm(p: Sequence[float]) -> list[float]:
    """Return p of several tests after Holm's step-down correction, in the order of the tests (Holm 1979)."""
    order = sorted(range(len(p)), key=lambda place: p[place])
    found, largest = [1.0] * len(p), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p) - rank) * p[place]))
        found[place] = largest
    return found


def power(changes: int, seen: Flips, level: float) -> float:
    """Return the probability that McNemar's test at a level finds a flip upwards among so many changes, if these flip
    as `seen` ones did. NaN if none was seen.

    The rates are not taken as known: the outcomes of the changes are Dirichlet-multinomial, given the seen ones and
    PRIOR. So a few seen changes never promise a power near 1. Exact: the sum over the number of pairs that flip at all
    of P(so many flip) · P(the test rejects | so many flip), both beta-binomial.
    """
    if not len(seen):
        return math.nan
    up, down, same = seen.up + PRIOR, seen.down + PRIOR, seen.same + PRIOR
    flipped = beta_binomial(changes, up + down, same)
    rejected = (beta_binomial(n, up, down)[_critical(n, level) :].sum() for n in range(changes + 1))
    return min(1.0, float(sum(flipped * np.fromiter(rejected, np.float64))))


@lru_cache(maxsize=1 << 14)  # every vintage of a study asks for the same ones
def _critical(coins: int, level: float) -> int:
    """Return the fewest heads whose one-sided p is within a level; coins + 1 if not even all heads are."""
    return coins + 1 - int((upper_tails(coins) <= level).sum())


def beta_binomial(n: int, a: float, b: float) -> Array:
    """Return float64[n + 1], the probabilities of 0 … n hits of n trials whose rate is Beta(a, b)."""
    ways = _log_rising(1.0, n)
    logs = ways[n] - ways - ways[::-1] + _log_rising(a, n) + _log_rising(b, n)[::-1] - _log_rising(a + b, n)[n]
    found: Array = np.exp(logs)
    return found


def _log_rising(start: float, n: int) -> Array:
    """Return float64[n + 1], ln of start · (start + 1) · … with 0 … n factors."""
    return np.concatenate([[0.0], np.cumsum(np.log(start + np.arange(n)))])
