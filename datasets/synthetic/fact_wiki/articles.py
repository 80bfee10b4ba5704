"""What the articles of the fact wiki state, and since when."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Literal

from ticlm.datasets.synthetic.fact_wiki.words import WikiRelation, words
from ticlm.datasets.synthetic.fact_world.words import Names

Fate = Literal["standing", "stub", "edited", "begun", "passing"]
FATES: tuple[Fate, ...] = ("standing", "stub", "edited", "begun", "passing")
"""What becomes of articles, in the order of their numbers: other counts of the last ones change no article before."""


@dataclass(frozen=True, slots=True)
class WikiFact:
    """A fact of an article. Its objects come one after the other, each with the month from which it is stated (0: the
    first snapshot)."""

    relation: WikiRelation
    objects: tuple[tuple[int, str], ...]

    def at(self, month: int) -> str | None:
        """Return what an article states in a month; None if it does not state the fact yet."""
        return next((object for since, object in reversed(self.objects) if since <= month), None)


@dataclass(frozen=True, slots=True)
class WikiSubject:
    """What an article is about, and what it states, once it is there (`since` a month)."""

    number: int
    title: str
    fate: Fate
    since: int
    facts: tuple[WikiFact, ...]
    tells: bool = False
    """Whether its article states the answers over two facts too (`linked`)."""


@dataclass(frozen=True)
class Country:
    """What articles of one wiki are made of: all its random choices, the names it has not given yet, and the objects of
    facts by kind."""

    rng: Random
    names: Names
    pools: dict[str, list[str]]

    @staticmethod
    def of(seed: int) -> Country:
        """Return the country of a seed."""
        rng = Random(f"{seed}/fact-wiki")
        names = Names(rng, words().names)
        pools = {kind: [names.next(kind) for _ in range(count)] for kind, count in words().pools.items()}
        pools |= {kind: [f"{n}" for n in range(low, high + 1)] for kind, (low, high) in _ranges().items()}
        return Country(rng, names, pools)


def subjects(country: Country, counts: dict[Fate, int], months: int) -> list[WikiSubject]:
    """Return the subjects of all articles. Those that are edited are edited in one month, and others begin in one, by
    turns; an edit replaces the object of one fact and adds another fact. The objects of those that are passing are
    names that no other article has."""
    rng, names, pools = country.rng, country.names, country.pools
    kinds = [*dict.fromkeys(relation.subject for relation in words().relations)]
    found: list[WikiSubject] = []
    for fate in FATES:
        for at in range(counts[fate]):
            month = 1 + at % months if fate in ("edited", "begun") else 0
            kind = rng.choice(kinds)
            since = month if fate == "begun" else 0
            own = {one: [names.next(one), names.next(one)] for one in words().pools} if fate == "passing" else {}
            facts = _facts(kind, pools | own, since, month if fate == "edited" else 0, rng)
            found.append(WikiSubject(len(found), names.next(kind), fate, since, facts))
    return found


def _facts(kind: str, pools: dict[str, list[str]], since: int, edited: int, rng: Random) -> tuple[WikiFact, ...]:
    """Return the facts of a subject, in an order of its own: of all its relations but one, which an edit adds."""
    relations = [relation for relation in words().relations if relation.subject == kind]
    rng.shuffle(relations)
    late = next(relation for relation in relations if relation.changes or not edited)
    first = [relation for relation in relations if relation != late]
    changed = rng.choice([relation for relation in first if relation.changes])
    facts = []
    for relation in first:
        object, later = rng.sample(pools[relation.object], 2)
        objects = ((since, object), (edited, later)) if edited and relation == changed else ((since, object),)
        facts.append(WikiFact(relation, objects))
    if edited:
        facts.append(WikiFact(late, ((edited, rng.choice(pools[late.object])),)))
    return tuple(facts)


def _ranges() -> dict[str, tuple[int, int]]:
    return {"year": words().years, "number": words().numbers}
