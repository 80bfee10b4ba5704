"""The vintages of a study's runs, and the earlier ones that each is compared with in its leak test.

Which earlier vintage. It must not have read of the change either; that holds for every earlier one. Several ways were
tried on chains of clean vintages, with last checkpoints passed off as older ones (docs/age.md has the numbers):

- The vintage just before. A leak that a vintage has inherited, text of the future read three rounds ago, is in both.
- The first vintage, on all later changes. Most of their old values are newer than the first vintage, so it goes by fame
  where an honest vintage goes by the old value. That outweighs a leak: no more than a fifth of leaks was found, where
  the power said all. On the few facts that did not change since, there is nothing left after half a year.
- For each change the first vintage that had read its old value, which has the most to tell. But just after the month in
  which a value is news, a chain prefers it as never again, and what it forgets later looks like a leak: over 56 clean
  vintages 488 pairs flipped up and 396 down, and four were called leaky.
- For each change the first vintage that had also read the month after that one, which is what is done here: 464 up and
  464 down, and one called leaky. Both have read the same value of the fact and no other one. A leak from any round
  after the earlier one shows. A fact has one such change after a vintage, so pairs are independent over facts.

What else moves preferences. New values gain fame before they become values (a minister is in the news before becoming
prime minister), and a vintage that has lost the old value goes by fame. Both raise the share of new values without any
leak. So a new value counts as preferred only if it is likelier than the old one, and by more than it is behind neutral
words. Without that condition, 620 pairs of the 56 vintages flipped up and 489 down.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ticlm.core.errors import InputError
from ticlm.core.periods import span
from ticlm.platform.analysis.age.ages import answered_changes
from ticlm.platform.analysis.age.changes import Changes, Months, month_text
from ticlm.platform.analysis.age.flips import Flips, Outcomes, holm, power
from ticlm.platform.analysis.age.leak import HALF, LeakMonth, LeakTest
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd


LAG = 1
"""Months after the one in which a value became right that a vintage must have read to be asked for it: in the month of
the news itself it is at its strongest, which is no state to compare with."""


@dataclass(frozen=True)
class Vintage:
    """The answers of the checkpoint of one period."""

    label: str
    whole: int
    """The last month that it has read all text of, counted since the year 0."""
    begun: int
    """The last month that it has read any text of: the same one, unless its period ends within a month."""
    ids: Sequence[str]
    """The changes that it was asked, in the order of `changes`."""
    changes: Changes
    alike: int = 0
    """Changes whose values it cannot tell apart."""

    @cached_property
    def prefers(self) -> Outcomes:
        """bool[changes], whether it prefers the new value, and by more than its fame."""
        return self.changes.lead > np.maximum(0, self.changes.lead_anywhere)

    @cached_property
    def places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.ids)}


def leak_tests(study: StudyResult) -> Iterator[LeakTest]:
    """Yield the test of every vintage of a trained study, by task, method and seed, oldest first; nothing if no task
    asked for dated changes."""
    known, answers = study.dated_changes, study.predictions
    if study.of_models or known is None or answers is None:
        return
    ends = answers[answers["step"].isna()]
    for task, asked in known.groupby("task", sort=False):
        own = ends[ends["task"] == task]
        for one in study.methods:
            for seed in one.seeds:
                held = own[(own["method"] == one.name) & (own["seed"] == seed)]
                yield from of_run(vintages(asked, held), one.name, seed, str(task))


def leak_of(study: StudyResult, method: str, vintage: str, seed: int | None = None) -> list[LeakTest]:
    """Return the test of one vintage by each task that asked for dated changes; of the first seed, unless one is given.

    Raises InputError if the study has no such method.
    """
    made = next((one for one in study.methods if one.name == method), None)
    if made is None:
        raise InputError(f"method must be one of {', '.join(one.name for one in study.methods)}, got {method}")
    wanted = (method, made.seeds[0] if seed is None else seed, vintage)
    return [one for one in leak_tests(study) if (one.method, one.seed, one.vintage) == wanted]


def vintages(asked: pd.DataFrame, answered: pd.DataFrame) -> list[Vintage]:
    """Return the vintages of one run, oldest first, from the changes that were asked (results/dated_changes.py) and the
    answers of the run (PREDICTION_COLUMNS). An imported start that no date is known of is none."""
    found = []
    ends = {label: end for label in map(str, answered["trained"].unique()) if (end := _end(label)) is not None}
    for label, end in sorted(ends.items(), key=lambda one: one[1]):
        kept, changes, alike = answered_changes(asked, answered[answered["trained"] == label])
        last = end - timedelta(days=1)
        whole, begun = end.year * 12 + end.month - 2, last.year * 12 + last.month - 1
        found.append(Vintage(label, whole, begun, tuple(kept["id"]), changes, alike))
    return found


def _end(label: str) -> date | None:
    """Return the first day after a period; None of a start from outside whose name is no span of time."""
    try:
        return span(label)[1]
    except ValueError:
        return None


def of_run(run: Sequence[Vintage], method: str, seed: int, task: str) -> Iterator[LeakTest]:
    """Yield the test of each vintage of one run, which are given oldest first."""
    for place, one in enumerate(run):
        yield leak_test(one, run[:place], method, seed, task)


def leak_test(later: Vintage, before: Sequence[Vintage], method: str, seed: int, task: str) -> LeakTest:
    """Return the test of one vintage against those before it, oldest first."""
    place = (method, seed, task, later.label)
    if not before:
        nan = math.nan
        return LeakTest(*place, "", (), 0, 0, nan, nan, Flips(0, 0, 0), nan, 0)
    changes, prefers = later.changes, later.prefers
    preferred, is_asked, begun, left_out = _earlier(later, before)
    after = is_asked & (changes.month > later.begun)
    between = is_asked & (changes.month > begun) & (changes.month <= later.whole) & (changes.until > later.whole)
    seen, found = (Flips.of(prefers[of], preferred[of]) for of in (between, after))
    months = _months(changes.month[after], prefers[after], preferred[after], seen)
    return LeakTest(
        *place,
        before[0].label,
        months,
        found.up,
        found.down,
        p_pooled=found.p if months else math.nan,
        p_months=min((one.p_holm for one in months), default=math.nan),
        seen=seen,
        power=power(len(found), seen, HALF),
        left_out=left_out,
    )


def _earlier(later: Vintage, before: Sequence[Vintage]) -> tuple[Outcomes, Outcomes, Months, int]:
    """Return what the earlier vintage of each change of a later one says: whether it prefers the new value, whether it
    was asked at all, both bool[changes], and the last month that it has begun to read, int64[changes]; and the number
    of changes that one of the two cannot tell apart."""
    whole, since = np.array([one.whole for one in before]), later.changes.since
    # What the first vintage has read of is old to it, so it needs no lag; else the last earlier one stands in for none.
    first = np.searchsorted(whole, np.where(since > whole[0], since + LAG, since)).clip(max=len(before) - 1)
    count = len(later.ids)
    preferred, is_asked, begun = np.zeros(count, np.bool_), np.zeros(count, np.bool_), np.zeros(count, np.int64)
    alike = later.alike
    for k in np.flatnonzero(whole[first] >= since).tolist():
        one = before[first[k]]
        at = one.places.get(later.ids[k])
        if at is None:
            alike += 1
        else:
            preferred[k], is_asked[k], begun[k] = one.prefers[at], True, one.begun
    return preferred, is_asked, begun, alike


def _months(
    month: NDArray[np.int64], prefers: NDArray[np.bool_], preferred: NDArray[np.bool_], seen: Flips
) -> tuple[LeakMonth, ...]:
    """Return the test of each month, from the month of each change and which vintages prefer its new value."""
    every = np.unique(month)
    flips = [Flips.of(prefers[month == one], preferred[month == one]) for one in every]
    corrected = holm([one.p for one in flips])
    return tuple(
        LeakMonth(
            month_text(int(one)),
            len(found),
            int(prefers[month == one].sum()),
            int(preferred[month == one].sum()),
            found.up,
            found.p,
            p_holm,
            power(len(found), seen, HALF / len(every)),
        )
        for one, found, p_holm in zip(every, flips, corrected)
    )
