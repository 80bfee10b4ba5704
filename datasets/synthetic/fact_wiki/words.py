"""The words of the fact wiki: the YAML file beside this module."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ticlm.core.settings import Settings, parse

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
