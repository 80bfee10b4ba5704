"""The values of dated facts that checkpoints prefer, beside those that the base does, and the edges of what they know.

A change of a fact lies before the base or after it. Where a fact did not change after the base, its newest value before
is still right: a checkpoint should go on to answer as the base did. Where it changed later, up to the checkpoint, the
checkpoint should prefer the new value.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ticlm.platform.analysis.age.ages import answered_changes
from ticlm.platform.analysis.age.changes import month_number
from ticlm.platform.analysis.age.edge import FactEdge, fact_edge

if TYPE_CHECKING:
    import pandas as pd

    from ticlm.platform.results.study_result import StudyResult


@dataclass(frozen=True)
class FactShare:
    """A share of `n` changes, and its standard error over them."""

    value: float
    n: int

    @property
    def stderr(self) -> float:
        return math.sqrt(self.value * (1 - self.value) / self.n)


@dataclass(frozen=True)
class CheckpointFacts:
    """What one checkpoint answers."""

    method: str
    trained: str
    as_base: FactShare | None
    """Of the facts that did not change after the base: on how many it prefers the value that the base prefers."""
    updated: FactShare | None
    """Of the changes after the base and up to the checkpoint: on how many it prefers the new value."""
    updated_by_base: FactShare | None
    """The same of the base."""
    edge: FactEdge | None
    """None if there are too few changes or facts."""


def month_before(day: date) -> int:
    """Return the month before that of a day, counted since the year 0."""
    return day.year * 12 + day.month - 2


class ChangeReader:
    """Reads the answers of a study's checkpoints to a task of dated facts. `base` is (method, trained period)."""

    def __init__(self, study: StudyResult, task: str, base: tuple[str, str], base_month: int) -> None:
        self.study, self.task, self.base, self.base_month = study, task, base, base_month

    def checkpoints(self, methods: Sequence[str]) -> Iterator[CheckpointFacts]:
        """Yield the base, then the checkpoints of these methods in order of time."""
        yield self._of(*self.base, self.base_month)
        order = list(self.study.timeline.labels)
        for method in methods:
            trained = {str(one) for one in self._own.loc[self._own["method"] == method, "trained"]} - {self.base[1]}
            for label in sorted(trained, key=order.index):
                yield self._of(method, label, month_before(self.study.timeline.periods[order.index(label)].end))

    def _of(self, method: str, trained: str, month: int) -> CheckpointFacts:
        """Return the answers of a checkpoint that has read text up to a month, counted since the year 0."""
        held = self._own[(self._own["method"] == method) & (self._own["trained"] == trained)]
        held = held[held["seed"] == held["seed"].min()]
        _, changes, _ = answered_changes(self._asked, held)
        estimate = fact_edge(changes)
        prefers = dict(zip(held["id"], held["text"]))
        newest, later = self._newest_before_base, self._between(self.base_month, month)
        by_base = self._by_base
        return CheckpointFacts(
            method,
            trained,
            _share([prefers[one] == by_base[one] for one in newest if one in prefers and one in by_base]),
            _share([prefers[one] == self._new[one] for one in later if one in prefers]),
            _share([by_base[one] == self._new[one] for one in later if one in by_base]),
            None if estimate is None else estimate[0],
        )

    @cached_property
    def _asked(self) -> pd.DataFrame:
        known = self.study.dated_changes
        assert known is not None
        return known[known["task"] == self.task]

    @cached_property
    def _own(self) -> pd.DataFrame:
        kept = self.study.predictions
        assert kept is not None
        return kept[(kept["task"] == self.task) & kept["step"].isna()]

    @cached_property
    def _by_base(self) -> dict[str, str]:
        method, trained = self.base
        held = self._own[(self._own["method"] == method) & (self._own["trained"] == trained)]
        return dict(zip(held["id"], held["text"]))

    @cached_property
    def _new(self) -> dict[str, str]:
        return dict(zip(self._asked["id"], self._asked["new"]))

    @cached_property
    def _months(self) -> NDArray[np.int64]:
        return np.array([month_number(str(one)) for one in self._asked["month"]], np.int64)

    @cached_property
    def _newest_before_base(self) -> list[str]:
        """The ids of the newest change of each fact that did not change after the base."""
        rows = list(zip(self._asked["fact"], self._months.tolist(), self._asked["id"]))
        newest: dict[str, tuple[int, str]] = {}
        for fact, month, one in rows:
            newest[fact] = max(newest.get(fact, (-1, "")), (month, str(one)))
        return [one for month, one in newest.values() if month <= self.base_month]

    def _between(self, after: int, upto: int) -> list[str]:
        chosen = (self._months > after) & (self._months <= upto)
        return [str(one) for one in self._asked["id"][chosen]]


def _share(outcomes: Sequence[bool]) -> FactShare | None:
    return FactShare(float(np.mean(outcomes)), len(outcomes)) if outcomes else None
