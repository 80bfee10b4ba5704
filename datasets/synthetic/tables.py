"""The words, sentences and relations that the synthetic world is made of: the YAML files beside this module."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, cached_property, lru_cache
from importlib.resources import files
from string import Formatter
from typing import Any

from ticlm.core.settings import Settings, parse

FILES = ("vocabulary.yaml", "topics.yaml", "relations.yaml", "papers.yaml", "prose.yaml", "encyclopedia.yaml")

Words = tuple[str, ...]


class Topic(Settings):
    """What news can be about: the kind of its subject, the stories it gives rise to, and its sentences."""

    name: str
    subject: str
    stories: Words
    headlines: Words
    sentences: Words
    quotes: Words


class Relation(Settings):
    """What can be stated about a subject: the kinds of subject and object, and the sentences that state it."""

    name: str
    subject: str
    object: str
    question: str
    statements: Words
    """The first ends with its object, so that the words before it are a fill-in-the-blank prompt."""
    news: Words = ()
    """Sentences that report a change; empty if the object never changes."""
    title: str = ""
    """Apposition for a person who holds this office."""

    @property
    def changes(self) -> bool:
        return bool(self.news)


class Paper(Settings):
    """A newspaper: its host, and how long its reports are (lowest and highest counts), how they open and close."""

    name: str
    host: str
    opening: str
    body: tuple[int, int]
    facts: tuple[int, int]
    quotes: tuple[int, int]
    closings: Words


class ArticleTemplates(Settings):
    """The sentences of an article of the encyclopedia about one kind of subject."""

    leads: tuple[str, str]
    """The first sentence, in two spellings."""
    stable: Words
    """Sentences with a `{number}` or a `{year}` that never changes."""
    counts: str = ""
    """A sentence with a `{number}` that grows."""
    closed: str = ""
    """A sentence for a subject that is gone; without one, the article goes with its subject."""


class WorldTables(Settings):
    """All tables of the synthetic world. Their order matters: random choices are made by position."""

    words: Mapping[str, Words]
    seasons: Mapping[str, Mapping[str, Words]]
    """Lists of words that depend on the season."""
    objects: Mapping[str, Words]
    names: Mapping[str, Words]
    topics: tuple[Topic, ...]
    on_stories: Words
    relations: tuple[Relation, ...]
    papers: tuple[Paper, ...]
    quoted: Words
    connectives: Words
    prose: Mapping[str, Words]
    """Common words by part of speech, and the sentences that they make."""
    encyclopedia: Mapping[str, ArticleTemplates]
    """Sentences of articles, by the kind of subject."""
    reworded: Words
    """What editors put before a sentence that they reword."""

    @cached_property
    def relation(self) -> dict[str, Relation]:
        """Relations by name."""
        return {relation.name: relation for relation in self.relations}

    def relations_of(self, kind: str) -> tuple[Relation, ...]:
        """Return the relations whose subject is of this kind."""
        return self._by_subject.get(kind, ())

    @cached_property
    def _by_subject(self) -> dict[str, tuple[Relation, ...]]:
        kinds = {relation.subject for relation in self.relations}
        return {kind: tuple(r for r in self.relations if r.subject == kind) for kind in kinds}


@cache
def tables() -> WorldTables:
    """Return the tables, read from their files once per process."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # ten times faster, where PyYAML was built with libyaml
    data: dict[str, Any] = {}
    for name in FILES:
        data |= yaml.load(files("ticlm.datasets.synthetic").joinpath(name).read_text("utf-8"), loader)
    return parse(WorldTables, data, "the tables of the synthetic world")


@lru_cache(maxsize=4096)
def template_parts(template: str) -> tuple[tuple[str, str | None], ...]:
    """Return the literal texts of a sentence, each with the slot that follows it, None at the end."""
    return tuple((literal, slot) for literal, slot, _, _ in Formatter().parse(template))
