"""Probes of the synthetic world: what its facts say in each month, and what they said before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Literal

from pydantic import Field

from ticlm.core.examples import MASK, Example
from ticlm.core.periods import Calendar, Period
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import UnusableExample
from ticlm.datasets.io.documents import Input
from ticlm.datasets.lama.collecting import Collected, ProbeRules
from ticlm.datasets.synthetic.truth import KnownFact
from ticlm.datasets.synthetic.world import SyntheticWorld

INVARIANT = "invariant"
SUBSETS = (INVARIANT, "updated", "new")


class SyntheticProbes(Settings):
    """Probes from the facts of a synthetic world, whose truth is known, in the subsets `invariant`, `updated` and `new`
    of each month.

    `invariant` holds facts that are known in the first period and true through the last. `updated` holds facts that
    replaced another one in the month; its object is the outdated answer. `new` holds facts of subjects and relations
    that had none before. Facts that were true for some time only are left out. The last period decides which facts are
    invariant, so a longer calendar is another set.
    """

    kind: Literal["synthetic-probes"] = "synthetic-probes"
    world: SyntheticWorld = SyntheticWorld()
    """The world; the settings must be those of the corpus that is trained on (its `documents`)."""
    periods: Calendar
    """The periods of the corpus, with a first and a last one."""
    statements: int = Field(1, ge=0)
    """Documents that must state a fact: for `updated` and `new` those of its month, for `invariant` those of the first
    period. Nobody can learn what no document says. Some of the documents may be held out of training."""
    invariant: Literal["every", "first"] = "every"
    """Whether every period asks for what is invariant, or the first one alone."""
    rules: ProbeRules = ProbeRules()
    """Which probes are left out, beyond the facts that no document states."""

    @property
    def identity(self) -> Settings:
        return self

    def inputs(self) -> list[Input]:
        timeline = self.periods.timeline()
        self.world.check(timeline.periods[0])
        return [Input(path=f"synthetic/{period.label}", size=0, stamp="") for period in timeline.periods]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        periods = self.periods.timeline().periods
        facts = self.world.facts(periods)
        first = self._stated(periods[0])
        for period in periods:
            if period.label in context.built:
                continue
            collected = Collected(self.rules)
            if period == periods[0] or self.invariant == "every":
                self._collect(collected, [known for known in facts if known.category == INVARIANT], first)
            if period != periods[0]:
                own = [known for known in facts if known.period == period.label]
                self._collect(collected, own, self._stated(period))
            yield from collected.drafts(context, period, (f"synthetic/{period.label}",), SUBSETS)

    def _stated(self, period: Period) -> Counter[str]:
        """Count the documents of a period that state each fact, by its id."""
        counts = Counter[str]()
        for document in self.world.documents(period):
            counts.update(set(document.extra["facts"]))
        return counts

    def _collect(self, into: Collected, facts: list[KnownFact], stated: Counter[str]) -> None:
        for known in facts:
            into.add(known.category, partial(self._probe, known, stated[known.fact.id]))

    def _probe(self, known: KnownFact, statements: int) -> Example:
        """Return the probe of a fact. Raises UnusableExample if it is not true to the end, or too rarely stated."""
        if known.category == "ended":
            raise UnusableExample("true for some time only")
        if statements < self.statements:
            raise UnusableExample(f"stated by fewer than {self.statements} documents")
        fact, row = known.fact, known.row()
        return Example(
            id=fact.id,
            text=replace(fact, object=MASK).statements[0],
            answer=fact.object,
            source=fact.relation,
            about={"subject": fact.subject, "start": f"{fact.start}", "statements": f"{statements}"},
            question=str(row["question"]),
            outdated=() if known.previous is None else (known.previous,),
        )
