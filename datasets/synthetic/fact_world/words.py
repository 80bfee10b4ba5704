"""The words of a world of single facts: the YAML file beside this module, and names made of them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from random import Random

from ticlm.core.settings import Settings, parse

Words = tuple[str, ...]


class Syllables(Settings):
    """What names begin with, and what may follow. Names of old and of new things are made of the same pieces, so that a
    model that has read the old ones can spell the new ones."""

    first: Words
    middle: Words


class ToldRelation(Settings):
    """A relation with the sentences that state it: `{s}` stands for the subject, `{o}` for the object."""

    name: str
    subject: str
    object: str
    changes: bool
    """Whether its object may be replaced later."""
    question: str
    cloze: str
    """The sentence in which probes mask the object."""
    sentences: Words


class FactWords(Settings):
    """All words of the world."""

    syllables: Syllables
    names: dict[str, Words]
    """The endings of the names of each kind of thing."""
    pools: dict[str, int]
    """How many things of each kind are objects of facts."""
    relations: tuple[ToldRelation, ...]
    openings: Words
    closings: Words


@cache
def words() -> FactWords:
    """Return the words, read once per process."""
    import yaml

    text = files(__package__).joinpath("fact_world.yaml").read_text("utf-8")
    return parse(FactWords, yaml.safe_load(text), "the words of the fact world")


class Names:
    """Names of things, none of them given twice. `endings` are those of each kind of thing, by default this world's."""

    def __init__(self, rng: Random, endings: Mapping[str, Words] | None = None) -> None:
        self._rng, self._given = rng, set[str]()
        self._endings = words().names if endings is None else endings

    def next(self, kind: str) -> str:
        """Return a name of a thing of this kind that no other thing has."""
        while (name := self._made(kind)) in self._given:
            pass
        self._given.add(name)
        return name

    def _made(self, kind: str) -> str:
        rng, syllables = self._rng, words().syllables
        stems = [rng.choice(syllables.first) + rng.choice(syllables.middle) for _ in range(1 + (kind == "person"))]
        stems[-1] += rng.choice(self._endings[kind])
        return " ".join(stem[0].upper() + stem[1:] for stem in stems)
