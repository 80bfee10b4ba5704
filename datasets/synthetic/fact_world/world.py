"""A world of single facts, as CKL's question needs one: old text teaches facts, and later text is silent about those
that stay.

In the news of `synthetic`, later months restate what never changes, so nothing is forgotten there. Here a sentence
states one fact, the object of which is its salient span, and every statement is another sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from itertools import islice, product
from random import Random
from typing import Literal

from pydantic import Field, model_validator

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar, span
from ticlm.core.settings import Settings
from ticlm.datasets.io.documents import Document, Documents, Input, Piece
from ticlm.datasets.synthetic.fact_world.facts import Fate, ToldFact, facts
from ticlm.datasets.synthetic.fact_world.words import words
from ticlm.datasets.text.spans import Span, inline

OLD = "201905-202004"
"""The year of old text."""
LATER = "202005-202104"
"""The year of later text: that of CC-RecentNews."""
PHASED = ("202005-202010", "202011-202104")
RUN = 500
"""Facts that one task writes about."""
BYTES_PER_SENTENCE = 75


class FactWorld(Settings, version=1):
    """Facts of an invented country: how many, and how they fare. Another seed is another country."""

    seed: int = 0
    """Seed of the world: its names, its facts and the words in which each is stated."""
    invariant: int = Field(800, ge=0)
    """Facts that old text states and later text does not mention."""
    updated: int = Field(100, ge=0)
    """Facts that old text states and later text contradicts: another object takes the place of the old one."""
    new: int = Field(100, ge=0)
    """Facts that later text alone states, half of them about subjects that old text knows by another relation."""
    new_easy: int = Field(100, ge=0)
    """The same, which probes ask by a sentence of the later text itself."""
    statements: int = Field(220, ge=1)
    """Sentences of old text that state a fact."""
    reports: int = Field(16, ge=1)
    """Sentences of later text that state a fact."""

    @cached_property
    def facts(self) -> list[ToldFact]:
        """The facts, those of old text first."""
        counts: dict[Fate, int] = {"invariant": self.invariant, "updated": self.updated}
        return facts(self.seed, counts | {"new": self.new, "new-easy": self.new_easy})

    def old_text(self, fact: ToldFact) -> Iterator[str]:
        """Yield the sentences of old text about a fact, with their spans."""
        return _sentences(fact, fact.previous or fact.object, self.statements, Random(f"{self.seed}/old/{fact.id}"))

    def later_text(self, fact: ToldFact) -> Iterator[str]:
        """Yield the sentences of later text about a fact, with their spans."""
        return _sentences(fact, fact.object, self.reports, Random(f"{self.seed}/later/{fact.id}"))


class FactWorldText(Documents):
    """Text of a world of single facts: old text in the year up to April 2020, later text in the one after it.

    Each document is a sentence that carries its salient span, for rows with `tagger: masked`. Facts of the first phase
    are stated in the first half of the later text, the others in the second.
    """

    kind: Literal["fact-world"] = "fact-world"
    world: FactWorld = FactWorld()
    """The facts; its probes are made of the same ones."""
    old_facts: float = Field(1.0, gt=0, le=1)
    """Share of the old facts that old text is written about: what is rehearsed may cover less than what was learned."""
    old_text: float = Field(1.0, gt=0, le=1)
    """Share of the sentences about each old fact that are written, one at least."""
    later_text: float = Field(1.0, gt=0, le=1)
    """The same of later text."""

    @model_validator(mode="after")
    def _has_old_facts(self) -> FactWorldText:
        if not self.world.invariant:
            raise ValueError(
                "world.invariant: a world without old facts that stay has nothing to forget; give 1 or more"
            )
        if not any(fact.fate == "invariant" for fact in self.told("old")):
            kept, old = len(self.told("old")), self.world.invariant + self.world.updated
            raise ValueError(f"old_facts: {self.old_facts} of {old} facts covers {kept}, none that a probe asks for")
        return self

    @property
    def carries_spans(self) -> bool:
        return True

    @property
    def dating(self) -> str:
        return "the day in an invented world on which a sentence is written"

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return runs of facts, those of old text and those of later text, as far as the calendar reaches."""
        return [entry for days, entry in self._runs() if _meets(days, calendar)]

    def count_outside(self, calendar: Calendar) -> int:
        """Return how many runs the calendar does not reach."""
        return sum(not _meets(days, calendar) for days, _ in self._runs())

    def read(self, piece: Piece) -> Iterator[Document]:
        """Yield the sentences about a run of facts, each as a document with its day."""
        _, side, first = piece.input.path.split("/")
        for fact in self.told(side)[int(first) :][:RUN]:
            rng = Random(f"{self.world.seed}/days/{side}/{fact.id}")
            begin, end = _days(side, fact)
            for number, text in enumerate(self._text(side, fact)):
                day = begin + timedelta(days=rng.randrange((end - begin).days))
                name = f"{fact.id}/{side}/{number}"
                yield Document(text, name, datetime.combine(day, time(), UTC), "", {"fact": fact.id})

    def told(self, side: str) -> Sequence[ToldFact]:
        """Return the facts of which `old` or `later` text tells."""
        if side == "later":
            return [fact for fact in self.world.facts if fact.fate != "invariant"]
        old = [fact for fact in self.world.facts if fact.is_old]
        kept = Random(f"{self.world.seed}/covered").sample(range(len(old)), round(len(old) * self.old_facts))
        return [old[at] for at in sorted(kept)]

    def _runs(self) -> Iterator[tuple[str, Input]]:
        for side, days in (("old", OLD), ("later", LATER)):
            told = self.told(side)
            for first in range(0, len(told), RUN):
                size = BYTES_PER_SENTENCE * self._count(side) * len(told[first : first + RUN])
                yield days, Input(path=f"fact-world/{side}/{first}", size=size, stamp="")

    def _count(self, side: str) -> int:
        world = self.world
        return max(1, round(world.statements * self.old_text if side == "old" else world.reports * self.later_text))

    def _text(self, side: str, fact: ToldFact) -> Iterator[str]:
        sentences = self.world.old_text(fact) if side == "old" else self.world.later_text(fact)
        return islice(sentences, self._count(side))


def _sentences(fact: ToldFact, object: str, count: int, rng: Random) -> Iterator[str]:
    """Yield different sentences that state a fact, each with its object as its span, until there are `count`."""
    told = words()
    variants = [*product(told.openings, fact.relation.sentences, told.closings)]
    if count > len(variants):
        raise InputError(f"documents.world: a fact has {len(variants)} sentences, {count} are asked for")
    for opening, sentence, closing in rng.sample(variants, count):
        before, after = (part.format(s=fact.subject) for part in sentence.split("{o}"))
        text = opening + before
        begin = len(text)
        text += object + after + closing
        text = text[0].upper() + text[1:]
        yield inline(text, [Span(begin, begin + len(object))])


def _days(side: str, fact: ToldFact) -> tuple[date, date]:
    """Return the first day of the text in which a fact is stated, and the day after the last."""
    return span(OLD if side == "old" else PHASED[fact.phase])


def _meets(days: str, calendar: Calendar) -> bool:
    (begin, end), periods = span(days), calendar.timeline().periods
    return begin < periods[-1].end and periods[0].start < end
