"""A wiki whose articles state facts: what some of them say stands, what others say is replaced, and some are new."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from functools import cached_property
from itertools import product
from random import Random
from typing import Literal

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.periods import FirstOfMonth
from ticlm.core.settings import Settings
from ticlm.datasets.synthetic.fact_wiki.articles import WikiFact, WikiSubject, subjects
from ticlm.datasets.synthetic.fact_wiki.words import words


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

    @cached_property
    def subjects(self) -> list[WikiSubject]:
        """What the articles are about, by their numbers."""
        counts = {"standing": self.standing, "stub": self.stubs, "edited": self.edited, "begun": self.begun}
        counts["passing"] = self.passing
        return subjects(self.seed, counts, self.months)  # type: ignore[arg-type]  # its keys are fates

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
        """Return an article: for each fact that it states, a line of the sentence and its details."""
        count = self.stub_details if subject.fate in ("stub", "passing") else self.details
        stated = [(fact, object) for fact in subject.facts if (object := fact.at(month)) is not None]
        return "\n".join(" ".join(self._told(subject.title, fact, object, count)) for fact, object in stated)

    def _told(self, title: str, fact: WikiFact, object: str, count: int) -> Iterator[str]:
        """Yield different sentences that state a fact; they keep their words when its object is replaced."""
        rng, relation = Random(f"{self.seed}/{title}/{fact.relation.name}"), fact.relation
        told = [*product(relation.details, words().quoted)]
        details = [f"{detail.format(s=title, q=quoted, o=object)}." for detail, quoted in rng.sample(told, count)]
        answers = words().answers[: 1 + count // 4]
        details += [f"{relation.question.format(s=title)} {answer.format(o=object)}" for answer in answers]
        rng.shuffle(details)
        yield relation.sentence.format(s=title, o=object)
        yield from details
