"""The questions about what is unchanged, asked again in later months as long as their articles stay so."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ticlm.core.accounting import Step
from ticlm.core.examples import Example, Examples
from ticlm.datasets.wiki.unchanged import NO_LONGER

UNCHANGED = "unchanged"
NOT_THE_SAME = "article not the same any more"


@dataclass
class AskedAgain:
    """The questions of the first month about what is unchanged, followed through the later months, oldest first."""

    changes: Examples
    """The set that says which articles are not unchanged any more."""
    questions: list[Example] = field(default_factory=list)
    lost: int = 0
    """Number of questions whose article is not the same any more, in the months so far."""

    def take(self, built: Examples, label: str) -> None:
        """Take the questions of a first month that is finished."""
        if UNCHANGED in built.periods[label].subsets:
            self.questions = list(built.read(label, UNCHANGED))

    def until(self, label: str) -> None:
        """Leave out the questions about articles that are not the same any more in a month."""
        if NO_LONGER not in self.changes.periods[label].subsets:
            return
        gone = {row.id for row in self.changes.read(label, NO_LONGER)}
        kept = [one for one in self.questions if one.about["article"] not in gone]
        self.lost += len(self.questions) - len(kept)
        self.questions = kept

    def of_month(self, label: str) -> list[Example]:
        """Return the questions as a month asks them."""
        return [replace(one, about={**one.about, "month": label}) for one in self.questions]

    def step(self) -> Step:
        """Return how many questions are asked again, and how many are left out in this month or were before."""
        dropped = {NOT_THE_SAME: self.lost} if self.lost else {}
        return Step(name="unchanged: from the first month", read=len(self.questions) + self.lost, dropped=dropped)

    def __str__(self) -> str:
        """Return what is wrong if the first month alone has these questions."""
        return (
            f"{self.lost:,} of {len(self.questions) + self.lost:,} questions about what is unchanged are about "
            "articles that changed since; unchanged: every would leave them out from then on"
        )
