"""Dated facts of the synthetic world: every change of an answer, with the month in which it happened."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from ticlm.core.accounting import Step
from ticlm.core.periods import Calendar
from ticlm.core.settings import Settings
from ticlm.datasets.evalsets.dated_facts.change import CHANGES, DatedChange, examples_of
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.io.documents import Input
from ticlm.datasets.synthetic.facts import Fact
from ticlm.datasets.synthetic.tables import tables
from ticlm.datasets.synthetic.world import SyntheticWorld

NEUTRAL = {"person": "In the words of", "firm": "At the head of", "town": "The town of"}
"""Words of this world that any value of a kind may follow: what a model expects there is how famous each name is."""
OTHERWISE = "The promise of"


class SyntheticDatedFacts(Settings):
    """Changes of facts of a synthetic world by their month: the new answer and the one that was right before.

    Subjects are those that are there from the world's first month on, so that a model of any age has heard of them.
    """

    kind: Literal["synthetic-dated-facts"] = "synthetic-dated-facts"
    world: SyntheticWorld = SyntheticWorld()
    """The world; the settings must be those of the corpus that is trained on (its `documents`)."""
    periods: Calendar
    """The periods whose changes are asked for, with a first and a last one."""

    @property
    def identity(self) -> Settings:
        return self

    def inputs(self) -> list[Input]:
        timeline = self.periods.timeline()
        self.world.check(timeline.periods[0])
        return [Input(path=f"synthetic/{period.label}", size=0, stamp="") for period in timeline.periods]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        history = self.world.history
        first = {one.name for one in history.begun(self.world.epoch).values()}
        for period in self.periods.timeline().periods:
            if period.label in context.built:
                continue
            months = range(history.month_of(period.start), history.month_of(period.end))
            changed = [fact for month in months for fact in history.changes(month)]
            lasting = [fact for fact in changed if fact.subject in first]
            young = len(changed) - len(lasting)
            step = Step(
                name="changes", read=len(changed), dropped={"a subject that came later": young} if young else {}
            )
            yield PeriodDraft(period, {CHANGES: examples_of(_changes(lasting))}, (step,))


def _changes(facts: Sequence[Fact]) -> Iterator[DatedChange]:
    for fact in facts:
        relation = tables().relation[fact.relation]
        assert fact.previous is not None
        yield DatedChange(
            month=f"{fact.start:%Y%m}",
            item="",
            property_id=fact.relation,
            subject=fact.subject,
            category=fact.relation,
            old=(fact.previous,),
            new=(fact.object,),
            text=fact.say(relation.statements[0].partition("{object}")[0]).rstrip(),
            neutral=NEUTRAL.get(relation.object, OTHERWISE),
            question=fact.say(relation.question),
        )
