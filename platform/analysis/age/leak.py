"""The leak test of a vintage, and what it says in words.

A vintage is the checkpoint of one period of a method. Had it read text from after its date, it would prefer the new
value of later changes too often. How often is too often cannot be said of one model: famous new values are preferred
without any leak. So the same changes are put to earlier vintages of the method, and the pairs of outcomes are compared
(`vintages.py` says to which ones). A leak shows as pairs in which the vintage alone prefers the new value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from ticlm.platform.analysis.age.flips import Flips

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
    """On how many the earlier vintage of each change does."""
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
    """Label of the first vintage, from which on the earlier ones are asked; "" if it is the first one itself."""
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
    """How the last change of each fact up to the vintage flipped, of which it has read and the earlier one has not."""
    power: float
    """The probability that the pooled test would have found a vintage that prefers later values as it prefers those
    that it has read: at least that of both tests together."""
    left_out: int
    """Changes of any month whose two values this vintage, or the earlier one, cannot tell apart."""

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
            return "cannot be told: of no change after it an earlier vintage has read the old value"
        number = f"{self.changes} change{'s' * (self.changes > 1)}"
        if math.isnan(self.power):
            return f"cannot be told: power unknown with {number}, as no fact changed between {self.earlier} and it"
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


def p_text(p: float) -> str:
    """Return a p as texts have it: `0.013`, `0.0004`, `2e-09`."""
    return f"{p:.3f}" if p >= 0.01 else f"{p:.1g}"


def share_text(share: float) -> str:
    """Return a probability with two digits, cut off and not rounded: it is never told as more than it is. A dash if it
    is not known."""
    return "–" if math.isnan(share) else f"{math.floor(100 * share) / 100:.2f}"


def _plain(value: Any) -> Any:
    return None if isinstance(value, float) and math.isnan(value) else value
