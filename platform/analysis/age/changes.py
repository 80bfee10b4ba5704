"""Dated changes as a model sees them: how likely it finds the new and the old value, behind a question and anywhere."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

OPEN = 10**6
"""The month at which a value ends that has not ended."""
MONTH = re.compile(r"(\d{4})-?(0[1-9]|1[0-2])")
Months = NDArray[np.int64]
Array = NDArray[np.float64]


@dataclass(frozen=True)
class Changes:
    """What a model expects of dated changes old -> new. All arrays have a value for each change. Months are counted
    since the year 0, and likelihoods are in nats."""

    fact: Months
    """int64[changes], the number of the fact that changed, from 0."""
    since: Months
    """int64[changes], the month in which the old value became right."""
    month: Months
    """int64[changes], the month of the change."""
    until: Months
    """int64[changes], the month in which the new value was replaced, or OPEN."""
    new: Array
    """float64[changes], ln P(new value | question)."""
    old: Array
    """float64[changes], ln P(old value | question)."""
    new_anywhere: Array
    """float64[changes], ln P(new value | neutral words): its fame and its length."""
    old_anywhere: Array
    """float64[changes], ln P(old value | neutral words)."""

    def __len__(self) -> int:
        return len(self.month)

    @property
    def lead(self) -> Array:
        """float64[changes], by how much the new value is likelier behind the question."""
        return self.new - self.old

    @property
    def lead_anywhere(self) -> Array:
        """float64[changes], by how much the new value is likelier behind neutral words."""
        return self.new_anywhere - self.old_anywhere

    def shuffled(self, rng: np.random.Generator) -> Changes:
        """Return the changes with their dates dealt out anew."""
        return self._dealt(rng.permutation(len(self)))

    def shuffled_within_facts(self, rng: np.random.Generator) -> Changes:
        """Return the changes with the dates of each fact dealt out anew among its own changes."""
        order = np.lexsort((rng.random(len(self)), self.fact))
        place = np.lexsort((np.arange(len(self)), self.fact))
        dealt = np.empty(len(self), np.intp)
        dealt[place] = order
        return self._dealt(dealt)

    def _dealt(self, places: NDArray[np.intp]) -> Changes:
        return replace(self, since=self.since[places], month=self.month[places], until=self.until[places])


def spans(fact: Months, month: Months, old: Sequence[str], new: Sequence[str]) -> tuple[Months, Months]:
    """Return (since, until) of `Changes`, int64[changes] each, from the changes alone.

    A change ends the value that the change before it began. Where the old value is another one, or there is no change
    before, nothing says when it became right: it is taken to have held as long as the median value.
    """
    order = np.lexsort((month, fact))
    follows = (fact[order][1:] == fact[order][:-1]) & (np.diff(month[order]) > 0)
    before, after = order[:-1][follows], order[1:][follows]
    held = month[after] - month[before]
    since = month - (max(1, int(np.median(held))) if len(held) else 1)
    until = np.full(len(month), OPEN, np.int64)
    until[before] = month[after]
    is_chained = np.array([old[b] == new[a] for a, b in zip(before.tolist(), after.tolist())], np.bool_)
    since[after[is_chained]] = month[before[is_chained]]
    return since, until


def month_number(label: str) -> int:
    """Return the months since the year 0 of YYYYMM or YYYY-MM. Raises ValueError for any other text."""
    found = MONTH.fullmatch(label)
    if found is None:
        raise ValueError(f"expected a month such as 2024-08, got {label!r}")
    return int(found[1]) * 12 + int(found[2]) - 1


def month_text(number: int) -> str:
    """Return a month as YYYY-MM, the opposite of `month_number`."""
    return f"{number // 12:04d}-{number % 12 + 1:02d}"


def numbered(facts: Sequence[str]) -> Months:
    """Return int64[facts], the number of each fact in the order in which they first stand."""
    known: dict[str, int] = {}
    return np.array([known.setdefault(fact, len(known)) for fact in facts], np.int64)
