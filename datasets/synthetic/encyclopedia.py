"""The synthetic encyclopedia: an article about each entity of the synthetic world, as it stands on a day.

Articles state the facts of their day and change with them. Their prose keeps its words. Editors also respell, reword,
move and delete what they find, which changes no fact. Every sentence has an id that it keeps while it is edited, so
`benchmarks/truth/encyclopedia.py` knows what changed between two days without comparing texts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from random import Random
from typing import Literal

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.settings import Settings
from ticlm.datasets.synthetic.facts import Fact, NewsEntity
from ticlm.datasets.synthetic.tables import ArticleTemplates, tables
from ticlm.datasets.synthetic.world import SyntheticWorld
from ticlm.datasets.synthetic.writing import A_BEFORE_VOWEL

EditKind = Literal["respell", "reword", "number", "move", "delete"]
EDITS: tuple[EditKind, ...] = ("respell", "reword", "number", "move", "delete")
FIRST_COUNT = (20, 900)
MOST_ADDED = 19
"""Most that a count grows by in a month."""
YEARS = (1610, 1990)
LEAST_PROSE = 2
"""Paragraphs of prose that editors leave in an article."""
_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


class EncyclopediaStyle(Settings):
    """How long the articles of a synthetic encyclopedia are, and how often editors work on them."""

    paragraphs: int = Field(4, ge=LEAST_PROSE)
    """Paragraphs of prose in an article, which state nothing."""
    sentences: int = Field(4, ge=1)
    """Sentences of a paragraph of prose."""
    report: int = Field(10, ge=0)
    """Sentences of prose behind the one that reports a change of a fact; they make an article's update long enough."""
    edits: float = Field(0.1, ge=0, le=1)
    """Share of the articles that an editor works on in a month without a fact that changed: respelling the first
    sentence, rewording a sentence, writing a number in words, moving a paragraph, or deleting something."""
    infobox: bool = False
    """Whether an article also has its facts as Wikidata has them, each on a line: subject, relation, object. A small
    model learns from these what it is asked by; of the prose alone it learns no answer to such a question."""

    def without_meaning(self) -> frozenset[str]:
        return frozenset() if self.infobox else frozenset({"infobox"})  # there were none before


@dataclass(frozen=True, slots=True)
class ArticleSentence:
    """A sentence of an article. `value` is what it states and `answers` are the names, dates and numbers in it that can
    be asked for; both are empty in prose."""

    id: str
    text: str
    value: str = ""
    answers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ArticleParagraph:
    """A paragraph of an article, with an id that it keeps."""

    id: str
    sentences: tuple[ArticleSentence, ...]

    @property
    def text(self) -> str:
        """The sentences, joined by spaces."""
        return " ".join(sentence.text for sentence in self.sentences)


@dataclass(frozen=True, slots=True)
class EncyclopediaArticle:
    """An article on a day."""

    id: int
    title: str
    paragraphs: tuple[ArticleParagraph, ...]

    @property
    def text(self) -> str:
        """The paragraphs, joined by line breaks."""
        return "\n".join(paragraph.text for paragraph in self.paragraphs)


@dataclass(slots=True)
class _EditedCopy:
    """What editors did to an article so far."""

    respelled: bool = False
    in_words: bool = False
    order: list[str] = field(default_factory=list)
    """Ids of the paragraphs of prose."""
    openings: dict[str, str] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    """Ids of sentences."""


@dataclass(frozen=True)
class Encyclopedia:
    """The encyclopedia of a world. The same settings always give the same bytes, whatever days are asked for."""

    world: SyntheticWorld
    style: EncyclopediaStyle

    def articles(self, day: date) -> Iterator[EncyclopediaArticle]:
        """Yield the articles of a day, those about entities that have been there longest first.

        Raises InputError if the day lies before the world's epoch.
        """
        history = self.world.history
        if day < self.world.epoch:
            raise InputError(f"day {day:%Y%m%d} lies before the synthetic world begins (epoch {self.world.epoch})")
        facts: dict[str, dict[str, list[Fact]]] = {}
        for fact in history.known(date.fromordinal(day.toordinal() + 1)):
            facts.setdefault(fact.subject, {}).setdefault(fact.relation, []).append(fact)
        for number, entity in written_about(self.world, day).items():
            templates = tables().encyclopedia[entity.kind]
            yield self._article(number, entity, templates, facts.get(entity.name, {}), day)

    def _article(
        self, number: int, entity: NewsEntity, templates: ArticleTemplates, facts: dict[str, list[Fact]], day: date
    ) -> EncyclopediaArticle:
        copy = self._copy(entity, day)
        rng = Random(f"{self.world.seed}/article/{entity.name}")
        lead = [ArticleSentence("lead", templates.leads[copy.respelled].format(subject=entity.name))]
        for at, template in enumerate(templates.stable):
            lead.append(_stable(f"stable/{at}", template, entity.name, rng, copy.in_words))
        stated = [_stated(several[-1], rng) for _, several in sorted(facts.items())]
        if templates.counts:
            count = f"{self._count(entity, day)}"
            text = templates.counts.format(subject=entity.name, number=count)
            stated.append(ArticleSentence("count", text, count, (count,)))
        paragraphs = [ArticleParagraph("lead", tuple(lead)), ArticleParagraph("facts", tuple(stated))]
        if self.style.infobox:
            paragraphs += [_boxed(several[-1]) for _, several in sorted(facts.items())]
        paragraphs += [self._prose(entity.name, name, copy) for name in copy.order]
        changes = sorted((fact for several in facts.values() for fact in several[1:]), key=lambda f: (f.start, f.id))
        paragraphs += [self._report(f"report/{fact.id}", *_reported(fact)) for fact in changes]
        if entity.end is not None:
            when = _day(entity.end)
            text = templates.closed.format(subject=entity.name, day=when)
            paragraphs.append(self._report(f"closed/{entity.name}", text, (when,)))
        return EncyclopediaArticle(number, entity.name, tuple(p for p in paragraphs if p.sentences))

    def _copy(self, entity: NewsEntity, day: date) -> _EditedCopy:
        """Return what editors did to an article up to a day; they work on the first day of a month."""
        history, copy = self.world.history, _EditedCopy(order=[f"prose/{n}" for n in range(self.style.paragraphs)])
        for month in range(history.month_of(entity.start) + 1, history.month_of(day) + 1):
            rng = Random(f"{self.world.seed}/editors/{entity.name}/{month}")
            if rng.random() < self.style.edits:
                self._edit(copy, rng)
        return copy

    def _edit(self, copy: _EditedCopy, rng: Random) -> None:
        paragraph = rng.choice(copy.order)
        left = [f"{paragraph}/{n}" for n in range(self.style.sentences) if f"{paragraph}/{n}" not in copy.deleted]
        sentence = rng.choice(left)
        match rng.choice(EDITS):
            case "respell":
                copy.respelled = not copy.respelled
            case "number":
                copy.in_words = not copy.in_words
            case "reword":
                copy.openings[sentence] = rng.choice([o for o in tables().reworded if o != copy.openings.get(sentence)])
            case "move":
                to = 0 if paragraph == copy.order[-1] else len(copy.order)
                copy.order.remove(paragraph)
                copy.order.insert(to, paragraph)
            case "delete" if len(left) > 1:
                copy.deleted.add(sentence)
            case _ if len(copy.order) > LEAST_PROSE:
                copy.order.remove(paragraph)

    def _prose(self, name: str, paragraph: str, copy: _EditedCopy) -> ArticleParagraph:
        sentences = []
        for at, text in enumerate(self._everyday(f"{name}/{paragraph}", self.style.sentences)):
            id = f"{paragraph}/{at}"
            opening = copy.openings.get(id, "")
            if id not in copy.deleted:
                sentences.append(ArticleSentence(id, opening + text[0].lower() + text[1:] if opening else text))
        return ArticleParagraph(paragraph, tuple(sentences))

    def _report(self, id: str, text: str, answers: tuple[str, ...]) -> ArticleParagraph:
        """Return a paragraph that reports something, with prose behind it."""
        rest = (ArticleSentence(f"{id}/{n}", text) for n, text in enumerate(self._everyday(id, self.style.report)))
        return ArticleParagraph(id, (ArticleSentence(id, text, answers[0], answers), *rest))

    def _everyday(self, name: str, count: int) -> list[str]:
        prose, rng = self.world.everyday, Random(f"{self.world.seed}/encyclopedia/{name}")
        about = prose.field(rng)
        return [A_BEFORE_VOWEL.sub(r"\1n", prose.sentence(about, rng)) for _ in range(count)]

    def _count(self, entity: NewsEntity, day: date) -> int:
        """Return the number that an article states and that grows, as often as other facts change."""
        history = self.world.history
        first = history.month_of(entity.start)
        count = Random(f"{self.world.seed}/count/{entity.name}").randint(*FIRST_COUNT)
        for month in range(first + 1, history.month_of(day if entity.end is None else entity.end) + 1):
            rng = Random(f"{self.world.seed}/count/{entity.name}/{month}")
            if rng.random() < self.world.changing:
                count += rng.randint(1, MOST_ADDED)
        return count


def written_about(world: SyntheticWorld, day: date) -> dict[int, NewsEntity]:
    """Return the entities that have an article on a day, by a number that each keeps. Articles that still exist have no
    `end`."""
    found = {}
    for number, entity in world.history.begun(day).items():
        gone = entity.end is not None and entity.end <= day
        if not gone or tables().encyclopedia[entity.kind].closed:
            found[number] = entity if gone else replace(entity, end=None)
    return found


def in_words(number: int) -> str:
    """Return a number below 100 in English words."""
    if number < len(_UNITS):
        return _UNITS[number]
    tens, units = divmod(number, 10)
    return _TENS[tens] + (f"-{_UNITS[units]}" if units else "")


def _stable(id: str, template: str, subject: str, rng: Random, words: bool) -> ArticleSentence:
    number, year = rng.randint(2, 99), rng.randint(*YEARS)
    value = f"{year}" if "{year}" in template else f"{number}"
    shown = in_words(number) if words else f"{number}"
    text = template.format(subject=subject, number=shown, year=year)
    return ArticleSentence(id, text, value, (shown if "{number}" in template else value,))


def _stated(fact: Fact, rng: Random) -> ArticleSentence:
    """Return the sentence that states a fact; its wording belongs to the article and outlives the fact."""
    statements: Sequence[str] = fact.statements
    text = statements[rng.randrange(1 << 30) % len(statements)]
    return ArticleSentence(f"fact/{fact.relation}", text, fact.object, (fact.object,))


def _boxed(fact: Fact) -> ArticleParagraph:
    """Return the line of an infobox that states a fact."""
    id, text = f"box/{fact.relation}", f"{fact.subject} {fact.relation} {fact.object}"
    return ArticleParagraph(id, (ArticleSentence(id, text, fact.object, (fact.object,)),))


def _reported(fact: Fact) -> tuple[str, tuple[str, ...]]:
    """Return the sentence that reports a change on its day, and what can be asked for in it."""
    when = _day(fact.start)
    assert fact.previous is not None, f"{fact.id} replaced nothing"
    return f"{fact.news[0].rstrip('.')} on {when}.", (fact.object, fact.previous, when)


def _day(day: date) -> str:
    return f"{day.day} {day:%B} {day.year}"
