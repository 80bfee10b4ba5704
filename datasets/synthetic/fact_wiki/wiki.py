"""A wiki whose articles state facts: what some of them say stands, what others say is replaced, and some are new."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from itertools import product
from random import Random
from typing import Literal

from pydantic import Field, model_validator

from ticlm.core.errors import InputError
from ticlm.core.periods import FirstOfMonth
from ticlm.core.settings import Settings
from ticlm.datasets.synthetic.fact_wiki.articles import Country, WikiSubject, subjects
from ticlm.datasets.synthetic.fact_wiki.hop_words import HopWords
from ticlm.datasets.synthetic.fact_wiki.linked import FactChain, LinkedArticles, chains, linked_subjects
from ticlm.datasets.synthetic.fact_wiki.words import WikiRelation, words


class FactWiki(Settings, version=1):
    """A wiki of an invented country whose articles state four facts each, in sentences by which a small model learns
    them. Another seed is another country.

    An article has a line for each of its facts: a sentence, details that state the same fact in other words, and a
    question with its answer. In a month, an edit replaces the object of one fact of an article wherever it stands, and
    adds another fact; other articles are new. Nothing else changes.
    """

    kind: Literal["fact-wiki"]
    seed: int = 0
    """Seed of the wiki: its names, its facts and its words."""
    epoch: FirstOfMonth
    """The first day of the first month, from which on the wiki is there."""
    months: int = Field(ge=1)
    """Months after the first one in which articles are edited and begin."""
    standing: int = Field(150, ge=0)
    """Articles with all details that never change."""
    stubs: int = Field(250, ge=0)
    """Articles with few details that never change, of which a model remembers less."""
    edited: int = Field(36, ge=0)
    """Articles that are edited, in each month as many."""
    begun: int = Field(12, ge=0)
    """Articles that are new, in each month as many."""
    passing: int = Field(0, ge=0)
    """Articles of the first snapshot that are deleted within a month, so that nothing is asked about them. They are
    stubs whose facts have names as objects that no other article has. A model that reads many of them learns to find an
    answer in a text, where it would otherwise remember what it was trained on."""
    details: int = Field(8, ge=1, le=32)
    """Sentences beside the first one that state a fact."""
    stub_details: int = Field(2, ge=0, le=32)
    """The same in a stub."""
    linked: LinkedArticles = LinkedArticles()
    """Further articles, of which one goes on where another ends: chains of two facts, and which of the two are edited.
    By default there are none."""

    def without_meaning(self) -> frozenset[str]:
        used = {"linked": self.linked.chains, "passing": self.passing}
        return frozenset(name for name, count in used.items() if not count)

    @model_validator(mode="after")
    def _has_months(self) -> FactWiki:
        if self.linked.apart and self.months < 2:
            raise ValueError("linked.apart: to change in different months, hops need 2 months or more, got 1")
        return self

    @cached_property
    def subjects(self) -> list[WikiSubject]:
        """What the articles are about, by their numbers."""
        counts = {"standing": self.standing, "stub": self.stubs, "edited": self.edited, "begun": self.begun}
        counts["passing"] = self.passing
        country = Country.of(self.seed)
        found = subjects(country, counts, self.months)  # type: ignore[arg-type]  # its keys are fates
        return found + linked_subjects(country, self.linked, self.months, len(found))

    @cached_property
    def chains(self) -> list[FactChain]:
        """All chains of two facts that the articles state."""
        return chains(self.subjects)

    @cached_property
    def _told_chains(self) -> dict[int, list[FactChain]]:
        """The chains whose answers the article of a subject states itself, by the subject's number."""
        found: dict[int, list[FactChain]] = {}
        for chain in self.chains:
            if chain.subject.tells:
                found.setdefault(chain.subject.number, []).append(chain)
        return found

    def pages(self, day: date) -> Iterator[tuple[int, str, str]]:
        """Yield the number, the title and the text of each article of a day.

        Raises InputError if the day lies before the epoch.
        """
        if day < self.epoch:
            raise InputError(f"day {day:%Y%m%d} lies before the fact wiki begins (epoch {self.epoch})")
        month = 12 * (day.year - self.epoch.year) + day.month - self.epoch.month
        for subject in self.subjects:
            if subject.since <= month and not (month and subject.fate == "passing"):
                yield subject.number, subject.title, self._text(subject, month)

    def _text(self, subject: WikiSubject, month: int) -> str:
        """Return an article: for each fact that it states, and each answer over two, a line of the sentence and its
        details."""
        count = self.stub_details if subject.fate in ("stub", "passing") else self.details
        lines = [
            self._told(subject.title, fact.relation, (fact.relation.question,), object, count)
            for fact in subject.facts
            if (object := fact.at(month)) is not None
        ]
        lines += [
            self._told(subject.title, chain.words, (chain.words.asked, chain.words.question), answer, count)
            for chain in self._told_chains.get(subject.number, ())
            if (answer := chain.second(month)) is not None
        ]
        return "\n".join(" ".join(line) for line in lines)

    def _told(
        self, title: str, said: WikiRelation | HopWords, questions: Sequence[str], object: str, count: int
    ) -> Iterator[str]:
        """Yield different sentences that state a fact, or the answer over two; they keep their words when its object is
        replaced."""
        rng = Random(f"{self.seed}/{title}/{said.name}")
        told = [*product(said.details, words().quoted)]
        details = [f"{detail.format(s=title, q=quoted, o=object)}." for detail, quoted in rng.sample(told, count)]
        answers = words().answers[: 1 + count // 4]
        details += [
            f"{question.format(s=title)} {answer.format(o=object)}" for question in questions for answer in answers
        ]
        rng.shuffle(details)
        yield said.sentence.format(s=title, o=object)
        yield from details
