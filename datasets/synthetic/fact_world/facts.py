"""The facts of the world: what old text states, what later text replaces, and what it adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Literal

from ticlm.datasets.synthetic.fact_world.words import Names, ToldRelation, words

Fate = Literal["invariant", "updated", "new", "new-easy"]
NEW: tuple[Fate, ...] = ("new", "new-easy")
PHASES = 2


@dataclass(frozen=True, slots=True)
class ToldFact:
    """A fact as later text leaves it; `previous` is the object in old text, if later text replaces it.

    `phase` says in which half of the later periods it is stated (0 or 1); an invariant fact is stated in none.
    """

    id: str
    fate: Fate
    relation: ToldRelation
    subject: str
    object: str
    previous: str = ""
    phase: int = 0

    @property
    def is_old(self) -> bool:
        """Whether old text states it, or what it replaces."""
        return self.fate in ("invariant", "updated")

    def says(self, sentence: str, object: str) -> str:
        """Return a sentence of its relation with an object."""
        return sentence.format(s=self.subject, o=object)


def facts(seed: int, counts: Mapping[Fate, int]) -> list[ToldFact]:
    """Return the facts of a world: as many of each fate as `counts` says, each with a phase by turns.

    Every fact is about a subject of its own, but for half of the new ones, whose subject is known by another relation.
    """
    rng = Random(f"{seed}/facts")
    names = Names(rng)
    pools = {kind: [names.next(kind) for _ in range(count)] for kind, count in words().pools.items()}
    known: list[ToldFact] = []
    found: list[ToldFact] = []
    for fate, count in counts.items():
        relations = [r for r in words().relations if r.changes or fate != "updated"]
        for number in range(count):
            relation = rng.choice(relations)
            object, previous = rng.sample(pools[relation.object], 2)
            subject = _known(known, relation, rng) if fate in NEW and number % 4 >= PHASES else None
            subject = subject or names.next(relation.subject)
            was = previous if fate == "updated" else ""
            found.append(ToldFact(f"{fate}/{number}", fate, relation, subject, object, was, number % PHASES))
        if fate == "invariant":
            known = list(found)
    return found


def _known(known: list[ToldFact], relation: ToldRelation, rng: Random) -> str | None:
    """Take out a fact of another relation about the same kind of subject, and return its subject; None without one."""
    fitting = [at for at, fact in enumerate(known) if fact.relation.subject == relation.subject]
    fitting = [at for at in fitting if known[at].relation != relation]
    return known.pop(rng.choice(fitting)).subject if fitting else None
