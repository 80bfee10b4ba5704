"""Probes of a world of single facts, in the sets of CKL: what later text is silent about, replaces and adds."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from random import Random
from typing import Literal

from ticlm.core.examples import MASK, Example
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext, PeriodDraft
from ticlm.datasets.examples.placing import period_of
from ticlm.datasets.io.documents import Input
from ticlm.datasets.lama.collecting import Collected, ProbeRules
from ticlm.datasets.synthetic.fact_world.facts import PHASES, ToldFact
from ticlm.datasets.synthetic.fact_world.world import LATER, FactWorld
from ticlm.datasets.text.spans import mask, outlined

SUBSETS = ("invariant", "updated", "new", "new-easy", *(f"new-easy-p{phase + 1}" for phase in range(PHASES)))


class FactWorldProbes(Settings):
    """Probes of a world of single facts, each subset as CKL's set of this name, in one period.

    `invariant` asks what later text is silent about, `updated` what it contradicts (the old object is the outdated
    answer), `new` what it adds; all by the cloze of their relation. `new-easy` asks other new facts by a sentence of
    the later text; its phases are subsets too.
    """

    kind: Literal["fact-world-probes"] = "fact-world-probes"
    world: FactWorld = FactWorld()
    """The facts; the settings must be those of the corpora that are trained on (their `documents.world`)."""
    rules: ProbeRules = ProbeRules()
    """Which probes are left out."""

    @property
    def identity(self) -> Settings:
        return self

    def inputs(self) -> list[Input]:
        return [Input(path="fact-world", size=0, stamp="")]

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        if LATER in context.built:
            return
        collected = Collected(self.rules)
        for fact in self.world.facts:
            subsets = (fact.fate, f"{fact.fate}-p{fact.phase + 1}") if fact.fate == "new-easy" else (fact.fate,)
            for subset in subsets:
                collected.add(subset, partial(self._probe, fact))
        yield from collected.drafts(context, period_of(LATER), ("fact-world",), SUBSETS)

    def _probe(self, fact: ToldFact) -> Example:
        return Example(
            id=fact.id,
            text=self._asked(fact),
            answer=fact.object,
            source=fact.relation.name,
            about={"subject": fact.subject},
            question=fact.relation.question.format(s=fact.subject),
            outdated=(fact.previous,) if fact.previous else (),
        )

    def _asked(self, fact: ToldFact) -> str:
        if fact.fate != "new-easy":
            return fact.says(fact.relation.cloze, MASK)
        told = [*self.world.later_text(fact)]
        return mask(*outlined(Random(f"{self.world.seed}/asked/{fact.id}").choice(told)))[0]
