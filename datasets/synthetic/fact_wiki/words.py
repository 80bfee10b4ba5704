"""The words of the fact wiki: the YAML file beside this module, and names made of them."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from random import Random

from ticlm.core.settings import Settings, parse
from ticlm.datasets.synthetic.fact_world.words import words as syllables_of

Texts = tuple[str, ...]


class WikiRelation(Settings):
    """A relation with the sentence that states it, and the details that state it in other words, with a quotation."""

    name: str
    subject: str
    object: str
    sentence: str
    question: str
    """The question that an article answers, in the words in which rules ask it."""
    details: Texts
    changes: bool = False
    """Whether its object may be replaced."""


class WikiWords(Settings):
    """All words of the wiki."""

    names: dict[str, Texts]
    """The endings of the names of each kind of thing."""
    pools: dict[str, int]
    """How many things of each kind are objects of facts."""
    years: tuple[int, int]
    numbers: tuple[int, int]
    relations: tuple[WikiRelation, ...]
    answers: Texts
    """Sentences that answer the question of an article."""
    quoted: Texts


@cache
def words() -> WikiWords:
    """Return the words, read once per process."""
    import yaml

    text = files(__package__).joinpath("fact_wiki.yaml").read_text("utf-8")
    return parse(WikiWords, yaml.safe_load(text), "the words of the fact wiki")


class Given:
    """Names that were given to things, none of them twice."""

    def __init__(self, rng: Random) -> None:
        self._rng, self._given = rng, set[str]()

    def next(self, kind: str) -> str:
        """Return a name of a thing of this kind that no other thing has."""
        while (name := self._made(kind)) in self._given:
            pass
        self._given.add(name)
        return name

    def _made(self, kind: str) -> str:
        rng, syllables = self._rng, syllables_of().syllables
        stems = [rng.choice(syllables.first) + rng.choice(syllables.middle) for _ in range(1 + (kind == "person"))]
        stems[-1] += rng.choice(words().names[kind])
        return " ".join(stem[0].upper() + stem[1:] for stem in stems)
