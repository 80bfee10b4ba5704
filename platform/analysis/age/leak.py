"""The leak test of a vintage: whether a checkpoint that should know nothing after its date prefers later values.

A vintage is the checkpoint of one period of a method. Had it read text from after its date, it would prefer the new
value of later changes too often. How often is too often cannot be said of one model: famous new values are preferred
without any leak. So the same changes are put to an earlier vintage of the method, and the pairs are compared.

Which earlier vintage. It must not have read the new value either, which holds for all of them; and a leak that a
vintage has inherited must show, which rules out the vintage just before: text of the future that was read three rounds
ago would be in both. So by default it is the first vintage of the method that was scored. The price is time, in which
other things than a leak move preferences. They are kept out by the choice of changes:

- Only changes whose old value held from before the earlier vintage on are compared. So both vintages have read the same
  value of the fact and no other one, and the rounds between state the old value again, which moves an honest vintage
  away from the new one. A value that comes back has not been read in between.
- So each fact is compared once, at its first change after the vintage, and the pairs are independent over facts.

What remains is the fame that a new value gains between the two vintages (a minister who is in the news before becoming
prime minister), and what a method forgets: a vintage that has lost the old value goes by fame.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ticlm.core.errors import InputError
from ticlm.core.periods import span
from ticlm.platform.analysis.age.ages import answered_changes
from ticlm.platform.analysis.age.changes import Changes, month_text
from ticlm.platform.analysis.age.flips import Flips, holm, power
from ticlm.platform.results.study_result import StudyResult

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05
"""The largest share of clean vintages that may be called leaky."""
HALF = LEVEL / 2
"""The level of each of the two tests, that of all later months together and that of single months: a leak of one dump
is lost among all months, and a thin leak of all of them in each."""
ENOUGH = 0.5
"""Least power of a test that is told as a clean bill."""


@dataclass(frozen=True)
class LeakMonth:
    """The changes of one month after a vintage."""

    month: str
    """YYYY-MM"""
    changes: int
    preferred: int
    """On how many of them the vintage prefers the new value."""
    preferred_earlier: int
    """On how many the earlier vintage does."""
    up: int
    """On how many the vintage alone does; `preferred - up` are preferred by both."""
    p: float
    p_holm: float
    """After Holm's correction for the number of months."""
    power: float
    """The probability that this month alone would have been found if the vintage had read its text."""


@dataclass(frozen=True)
class LeakTest:
    """Whether a vintage knows later text, by the changes of one task. Shares and probabilities are NaN if there is
    nothing to compute them from."""

    method: str
    seed: int
    task: str
    vintage: str
    """Label of its period."""
    earlier: str
    """Label of the vintage that it is compared with; "" if it is the first one itself."""
    months: tuple[LeakMonth, ...]
    """Every later month with changes that are compared, in order."""
    up: int
    """Later changes whose new value the vintage alone prefers."""
    down: int
    """Those whose new value the earlier vintage alone prefers."""
    p_pooled: float
    """One-sided p of McNemar's exact test over all later changes."""
    p_months: float
    """The smallest p of a single month, after Holm's correction."""
    seen: Flips
    """How the changes up to the vintage flipped, whose text it has read and the earlier one has not."""
    power: float
    """The probability that the pooled test would have found a vintage that prefers later values as it prefers those
    that it has read: at least that of both tests together."""
    left_out: int
    """Changes of any month whose two values one of the two vintages cannot tell apart."""

    @property
    def changes(self) -> int:
        return sum(one.changes for one in self.months)

    @property
    def preferred(self) -> int:
        return sum(one.preferred for one in self.months)

    @property
    def preferred_earlier(self) -> int:
        return sum(one.preferred_earlier for one in self.months)

    @property
    def p(self) -> float:
        """The smaller p of the two tests, doubled (Bonferroni); NaN if nothing is compared."""
        return min(1.0, 2 * min(self.p_pooled, self.p_months)) if self.changes else math.nan

    @property
    def is_leak(self) -> bool:
        return self.p <= LEVEL

    @property
    def is_clean(self) -> bool:
        """Whether there is no sign of a leak, and one would have been found more often than not."""
        return self.p > LEVEL and self.power >= ENOUGH

    @property
    def short(self) -> str:
        """The verdict in a few words."""
        return "leak" if self.is_leak else "no sign" if self.is_clean else "cannot be told"

    @property
    def verdict(self) -> str:
        """What the test says, in words."""
        if self.is_leak:
            found = [one.month for one in self.months if one.p_holm <= HALF]
            where = f"in {', '.join(found)}" if found else f"over its {self.changes} later changes together"
            return f"leak found {where} (p = {p_text(self.p)})"
        if not self.earlier:
            return "cannot be told: it is the first vintage, which others are compared with"
        if not self.changes:
            return f"cannot be told: no change after it is of a fact that both it and {self.earlier} know"
        number = f"{self.changes} change{'s' * (self.changes > 1)}"
        if math.isnan(self.power):
            return f"cannot be told: power unknown with {number}, as none lies between {self.earlier} and it"
        if not self.is_clean:
            return f"cannot be told: power {share_text(self.power)} with {number}"
        return f"no sign of later text (would have been found with probability {share_text(self.power)})"

    def as_json(self) -> dict[str, Any]:
        """Return everything as plain values; None where a number is not known."""
        named = ("method", "seed", "task", "vintage", "earlier", "changes", "preferred", "preferred_earlier")
        own = {name: getattr(self, name) for name in (*named, "up", "down", "left_out")}
        numbers = {name: _plain(getattr(self, name)) for name in ("p", "p_pooled", "p_months", "power")}
        seen = {"seen_up": self.seen.up, "seen_down": self.seen.down, "seen_changes": len(self.seen)}
        months = [{name: _plain(value) for name, value in vars(one).items()} for one in self.months]
        told = {"is_leak": self.is_leak, "is_clean": self.is_clean, "verdict": self.verdict}
        return own | numbers | seen | told | {"months": months}


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
    """Yield the test of each vintage of one run, all against the first one."""
    for place, one in enumerate(run):
        yield leak_test(one, run[0] if place else None, method, seed, task)


def leak_test(later: Vintage, earlier: Vintage | None, method: str, seed: int, task: str) -> LeakTest:
    """Return the test of one vintage against an earlier one, None if it has none."""
    place = (method, seed, task, later.label)
    if earlier is None:
        nan = math.nan
        return LeakTest(*place, "", (), 0, 0, nan, nan, Flips(0, 0, 0), nan, 0)
    both = [(k, earlier.places[one]) for k, one in enumerate(later.ids) if one in earlier.places]
    at, at_earlier = np.array(both, np.intp).reshape(-1, 2).T
    changes, month = later.changes, later.changes.month[at]
    prefers, preferred = later.changes.lead[at] > 0, earlier.changes.lead[at_earlier] > 0
    is_held = changes.since[at] <= earlier.whole
    after, between = is_held & (month > later.begun), is_held & (month > earlier.begun) & (month <= later.whole)
    seen, found = (Flips.of(prefers[of], preferred[of]) for of in (between, after))
    months = _months(month[after], prefers[after], preferred[after], seen)
    return LeakTest(
        *place,
        earlier.label,
        months,
        found.up,
        found.down,
        p_pooled=found.p if months else math.nan,
        p_months=min((one.p_holm for one in months), default=math.nan),
        seen=seen,
        power=power(len(found), seen, HALF),
        left_out=max(one.alike + len(one.ids) for one in (later, earlier)) - len(both),
    )


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


def p_text(p: float) -> str:
    """Return a p as texts have it: `0.013`, `0.0004`, `2e-09`."""
    return f"{p:.3f}" if p >= 0.01 else f"{p:.1g}"


def share_text(share: float) -> str:
    """Return a probability with two digits, cut off and not rounded: it is never told as more than it is. A dash if it
    is not known."""
    return "–" if math.isnan(share) else f"{math.floor(100 * share) / 100:.2f}"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
