"""Articles that hang together: one states the firm of a person, and another one who runs that firm."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import Field

from ticlm.core.settings import Settings
from ticlm.datasets.synthetic.fact_wiki.articles import Country, Fate, WikiFact, WikiSubject
from ticlm.datasets.synthetic.fact_wiki.hop_words import HopWords, hop_words
from ticlm.datasets.synthetic.fact_wiki.words import WikiRelation, words


class LinkedArticles(Settings):
    """How many chains of two facts there are, by which of their hops are edited. Each chain is an article about a
    person, and another one about that person's firm or club; both are there from the first day on.

    An edit of the first hop takes the person to another firm or club, which has an article too. An edit of the second
    one replaces what the article about the firm or club says, of a person who moves that about the new one.
    """

    neither: int = Field(0, ge=0)
    """Chains of which nothing changes."""
    first: int = Field(0, ge=0)
    """Chains whose first hop is edited in one month."""
    second: int = Field(0, ge=0)
    """Chains whose second hop is edited in one month."""
    both: int = Field(0, ge=0)
    """Chains of which both hops are edited in the same month."""
    apart: int = Field(0, ge=0)
    """Chains of which both hops are edited in different months, the first or the second one before by turns."""
    told: int = Field(1, ge=0)
    """Further persons of each firm and club, whose articles state the answer over both hops too. They change with it,
    and no question asks about them."""

    @property
    def chains(self) -> int:
        """How many chains there are to ask about."""
        return self.neither + self.first + self.second + self.both + self.apart

    def edits(self, months: int) -> Iterator[tuple[int, int]]:
        """Yield the months in which the two hops of each chain are edited; 0 is never."""
        yield from ((0, 0) for _ in range(self.neither))
        yield from ((1 + at % months, 0) for at in range(self.first))
        yield from ((0, 1 + at % months) for at in range(self.second))
        yield from ((1 + at % months, 1 + at % months) for at in range(self.both))
        pairs = [(one, other) for one in range(1, months + 1) for other in range(one + 1, months + 1)]
        for at in range(self.apart):
            one, other = pairs[at // 2 % len(pairs)]
            yield (one, other) if at % 2 == 0 else (other, one)


def linked_subjects(country: Country, linked: LinkedArticles, months: int, number: int) -> list[WikiSubject]:
    """Return the subjects of linked articles, which are numbered from `number` on."""
    making = _Linking(country, linked, number)
    for at, (first, second) in enumerate(linked.edits(months)):
        making.add(hop_words()[at % len(hop_words())], first, second)
    return making.found


class _Linking:
    """Makes linked articles one chain after another."""

    def __init__(self, country: Country, linked: LinkedArticles, number: int) -> None:
        self.country, self.linked, self.number = country, linked, number
        self.found: list[WikiSubject] = []

    def add(self, words: HopWords, first: int, second: int) -> None:
        """Add the articles of a chain whose hops are edited in these months; 0 is never."""
        relation, last = words.relations
        # of a person who moves, what the article about the new place says is edited
        places = [(0, self._bridge(words, last, 0 if first else second))]
        if first:
            places.append((first, self._bridge(words, last, second)))
        self._article(relation.subject, [WikiFact(relation, tuple(places)), self._further(relation)])

    def _bridge(self, words: HopWords, last: WikiRelation, edited: int) -> str:
        """Add an article in the middle of a chain, and those of the persons who are told to belong there; return its
        title."""
        now, later = self.country.rng.sample(self.country.pools[last.object], 2)
        fact = WikiFact(last, ((0, now), (edited, later)) if edited else ((0, now),))
        title = self._article(last.subject, [fact, self._further(last)])
        relation = words.relations[0]
        for _ in range(self.linked.told):
            self._article(relation.subject, [WikiFact(relation, ((0, title),))], tells=True)
        return title

    def _further(self, stated: WikiRelation) -> WikiFact:
        """Return a fact that never changes, beside the stated one of the same kind of subject."""
        same = [one for one in words().relations if one.subject == stated.subject and not one.changes]
        relation = self.country.rng.choice(same)
        return WikiFact(relation, ((0, self.country.rng.choice(self.country.pools[relation.object])),))

    def _article(self, kind: str, facts: list[WikiFact], tells: bool = False) -> str:
        title = self.country.names.next(kind)
        fate: Fate = "edited" if any(len(fact.objects) > 1 for fact in facts) else "standing"
        self.found.append(WikiSubject(self.number + len(self.found), title, fate, 0, tuple(facts), tells))
        return title


@dataclass(frozen=True, slots=True)
class FactChain:
    """Two facts in a row: the object of the first one is the subject of an article that states the second one."""

    subject: WikiSubject
    words: HopWords
    first: WikiFact
    seconds: dict[str, tuple[WikiSubject, WikiFact]]
    """The title of each article that is in the middle at some time -> what it is about, and its second fact."""

    def bridge(self, month: int) -> str | None:
        """Return the object of the first fact in a month, which is the subject of the second one; None if it is not
        stated."""
        return self.first.at(month)

    def second(self, month: int, at: int | None = None) -> str | None:
        """Return the object of the second fact of a month's bridge in that month, or as it was in month `at`."""
        found = self.seconds.get(self.bridge(month) or "")
        when = month if at is None else at
        return None if found is None or found[0].since > when else found[1].at(when)


def chains(subjects: list[WikiSubject]) -> list[FactChain]:
    """Return all chains of two facts that the articles of a wiki state, whatever they were made for."""
    by_title = {one.title: one for one in subjects}
    found = []
    for subject in subjects:
        for hop in hop_words():
            first = _stated(subject, hop.first)
            if first is None:
                continue
            middle = {title: by_title[title] for _, title in first.objects if title in by_title}
            seconds = {title: (one, fact) for title, one in middle.items() if (fact := _stated(one, hop.second))}
            if seconds:
                found.append(FactChain(subject, hop, first, seconds))
    return found


def _stated(subject: WikiSubject, relation: str) -> WikiFact | None:
    return next((fact for fact in subject.facts if fact.relation.name == relation), None)
