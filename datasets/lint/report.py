"""The report of a lint: of each period the texts, those that are flagged, and the rules that flagged them."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from pydantic import Field

from ticlm.core.settings import Settings


class LintExample(Settings):
    """A finding as it is shown: where it is, what it says, and the words around it."""

    period: str
    rule: str
    matched: str
    day: date
    """The last day that the text may be from, as it is dated."""
    earliest: date
    """The first day that it can be from, by the finding."""
    id: str = ""
    around: str = ""
    why: str = ""


class PeriodLint(Settings):
    """The counts of one period. A text with findings of two rules counts under both, and once in `flagged`."""

    texts: int = 0
    flagged: int = 0
    by_rule: Mapping[str, int] = Field(default_factory=dict)

    @property
    def share(self) -> float:
        """Return the share of the texts that are flagged, 0 to 1."""
        return self.flagged / self.texts if self.texts else 0.0


class LintReport(Settings):
    """What a lint found: the same for the same texts, known names and `rules`, a hash of the rules and their tables."""

    name: str
    rules: str
    periods: Mapping[str, PeriodLint]
    examples: tuple[LintExample, ...] = ()

    def summary(self) -> dict[str, dict[str, Any]]:
        """Return, of each period, `texts`, `flagged` and `by_rule` (texts flagged by each rule): what a certificate
        carries, and a verifier counts again."""
        return {
            label: {"texts": one.texts, "flagged": one.flagged, "by_rule": dict(one.by_rule)}
            for label, one in self.periods.items()
        }

    @property
    def total(self) -> PeriodLint:
        """Return the counts of all periods together."""
        rules = sorted({rule for one in self.periods.values() for rule in one.by_rule})
        return PeriodLint(
            texts=sum(one.texts for one in self.periods.values()),
            flagged=sum(one.flagged for one in self.periods.values()),
            by_rule={rule: sum(one.by_rule.get(rule, 0) for one in self.periods.values()) for rule in rules},
        )
