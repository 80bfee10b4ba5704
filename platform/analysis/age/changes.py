"""Dated changes as a model sees them: how far it prefers the new answer, and how far it would anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

WINSORISED = 3.0
"""Leads farther from the median than so many robust deviations count as if they were there: one answer of eight rare
tokens may have a lead of 40 nats."""
TO_DEVIATION = 1.4826
"""A median absolute deviation times this is the standard deviation of a normal distribution."""


@dataclass(frozen=True)
class Changes:
    """What a model expects of dated changes old -> new. All arrays have a value for each change."""

    fact: NDArray[np.int64]
    """int64[changes], the number of the fact that changed, from 0."""
    month: NDArray[np.int64]
    """int64[changes], the month of the change, in months since the year 0."""
    lead: NDArray[np.float64]
    """float64[changes], ln P(new | question) − ln P(old | question), in nats."""
    fame: NDArray[np.float64]
    """float64[changes], the same behind neutral words: fame and length of the two answers."""

    def __len__(self) -> int:
        return len(self.month)

    def tempered(self) -> Changes:
        """Return the changes with extreme leads drawn in."""
        return replace(self, lead=winsorised(self.lead), fame=winsorised(self.fame))

    def shuffled(self, rng: np.random.Generator) -> Changes:
        """Return the changes with their months dealt out anew."""
        return replace(self, month=rng.permutation(self.month))

    def shuffled_within_facts(self, rng: np.random.Generator) -> Changes:
        """Return the changes with the months of each fact dealt out anew among its own changes."""
        order = np.lexsort((rng.random(len(self)), self.fact))
        place = np.lexsort((np.arange(len(self)), self.fact))
        month = self.month.copy()
        month[place] = self.month[order]
        return replace(self, month=month)


def winsorised(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return float64[values] with those drawn in that lie WINSORISED robust deviations or more from the median."""
    middle = float(np.median(values))
    deviation = TO_DEVIATION * float(np.median(np.abs(values - middle)))
    return np.clip(values, middle - WINSORISED * deviation, middle + WINSORISED * deviation) if deviation else values


def month_number(label: str) -> int:
    """Return the months since the year 0 of a label YYYYMM."""
    return int(label[:4]) * 12 + int(label[4:6]) - 1


def month_label(number: int) -> str:
    """Return the label YYYYMM of a month, the opposite of `month_number`."""
    return f"{number // 12:04d}{number % 12 + 1:02d}"


def numbered(facts: Sequence[str]) -> NDArray[np.int64]:
    """Return int64[facts], the number of each fact in the order in which they first stand."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(fact, len(known)) for fact in facts], np.int64)
