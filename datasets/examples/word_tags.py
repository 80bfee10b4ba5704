"""Words of given parts of speech: found in texts by a spaCy pipeline, in groups that settings name."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.mixture import Subset
from ticlm.core.settings import Settings
from ticlm.datasets.io.executor import Executor, WorkerPool
from ticlm.datasets.text import pipelines

CHUNK = 256
"""Texts that are sent to an actor at once."""
TAGGED_AT_ONCE = 100_000
"""Characters that are tagged at once: about 70 MB of activations in a pipeline of the common small size."""
Spans = tuple[tuple[int, int], ...]
Grouped = dict[str, Spans]
"""The character spans [start, end) of the words of each group, in order."""


class WordTags(Settings):
    """Base of settings of a spaCy pipeline that finds words by part of speech: an installed package by name, or a
    folder. Nothing is downloaded."""

    pipeline: str
    """Name of an installed spaCy pipeline, or its folder; nothing is downloaded."""
    actors: int = Field(2, gt=0)
    """Number of actors that hold the pipeline and tag in parallel, if there are as many CPUs."""
    setting: ClassVar[str]
    """The key of a recipe that these settings stand under."""
    tags_key: ClassVar[str]
    """The key of the tags, below `setting`."""
    finds: ClassVar[str]
    """What the pipeline finds, in the line about what comes from outside the timeline."""

    @property
    @abstractmethod
    def tags_of(self) -> Mapping[str, Sequence[str]]:
        """The parts of speech (PROPN) and language-specific tags (NNP) of each group."""
        raise NotImplementedError

    @abstractmethod
    def with_marks(self, example: Example, found: Grouped) -> Example:
        """Return an example with the words of its text marked."""
        raise NotImplementedError

    @cached_property
    def _folder(self) -> Path:
        return pipelines.folder_of(self.pipeline, f"{self.setting}.pipeline")

    @cached_property
    def digest(self) -> str:
        """The hash of the pipeline's files. Raises InputError if it never gives one of the tags."""
        _check_tags(self, self.load())
        return pipelines.digest_of(self._folder)

    @property
    def external_inputs(self) -> str:
        """A line that names the pipeline and its version, which come from outside the timeline."""
        return f"{self.finds} by {pipelines.title_of(self._folder)}"

    def load(self) -> Any:
        """Load the pipeline without the components that part-of-speech tags do not need."""
        unused = ("ner", "lemmatizer", "parser", "senter", "textcat")
        pipeline = pipelines.loaded(self._folder, self.pipeline, f"{self.setting}.pipeline", unused)
        pipeline.max_length = sys.maxsize  # the limit protects the memory of the components that are excluded here
        return pipeline


def _check_tags(wanted: WordTags, pipeline: Any) -> None:
    """Raise InputError if the pipeline never gives one of the tags, so that words would be missed."""
    from spacy.parts_of_speech import IDS

    doc = pipeline("It is.")
    labels = {label for name in pipeline.pipe_names for label in getattr(pipeline.get_pipe(name), "labels", ())}
    known = {label for label in labels if "=" not in label} if doc.has_annotation("TAG") else set()
    if doc.has_annotation("POS"):
        known |= {*IDS} - {""}  # parts of speech are the same in every language; other tags belong to the tagger
    if not known:
        parts = ", ".join(pipeline.pipe_names) or "none"
        raise InputError(
            f"{wanted.setting}.pipeline: {wanted.pipeline} tags no parts of speech: of tagger, morphologizer and "
            f"attribute_ruler it has {parts}"
        )
    if unknown := sorted({tag for tags in wanted.tags_of.values() for tag in tags} - known):
        raise InputError(
            f"{wanted.setting}.{wanted.tags_key}: {wanted.pipeline} never gives {', '.join(unknown)}; it knows "
            f"{', '.join(sorted(known))}"
        )


class WordTagger:
    """A loaded pipeline that finds the words of each group in texts."""

    def __init__(self, wanted: WordTags) -> None:
        self._pipeline = wanted.load()
        self._groups = {name: frozenset(tags) for name, tags in wanted.tags_of.items()}

    def __call__(self, texts: Sequence[str]) -> list[Grouped]:
        """Return the words of each text; every group is there, also one without a word."""
        return [self._grouped(doc) for batch in batches(texts) for doc in self._pipeline.pipe(batch)]

    def _grouped(self, doc: Any) -> Grouped:
        return {
            name: tuple(
                (token.idx, token.idx + len(token.text)) for token in doc if token.pos_ in tags or token.tag_ in tags
            )
            for name, tags in self._groups.items()
        }


WordTaggers = WorkerPool[Sequence[str], list[Grouped]]


def taggers(executor: Executor, wanted: WordTags) -> WordTaggers:
    """Return a context manager whose workers tag texts until it ends."""
    return executor.workers(WordTagger, (wanted,), wanted.actors)


def marked(
    taggers: WordTaggers, wanted: WordTags, subsets: Mapping[Subset, Sequence[Example]]
) -> dict[Subset, list[Example]]:
    """Return the examples with the words of their texts marked; questions are returned unchanged."""
    texts = [(name, i) for name, examples in subsets.items() for i, e in enumerate(examples) if e.answer is None]
    result = {name: list(examples) for name, examples in subsets.items()}
    chunks = [texts[at : at + CHUNK] for at in range(0, len(texts), CHUNK)]
    tagged = taggers.map([[result[name][i].text for name, i in chunk] for chunk in chunks])
    for chunk, found_in_chunk in zip(chunks, tagged, strict=True):
        for (name, i), found in zip(chunk, found_in_chunk, strict=True):
            result[name][i] = wanted.with_marks(result[name][i], found)
    return result


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """Yield the texts in batches of at most TAGGED_AT_ONCE characters; a longer text is a batch of its own."""
    batch: list[str] = []
    size = 0
    for text in texts:
        if batch and size + len(text) > TAGGED_AT_ONCE:
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += len(text)
    if batch:
        yield batch


_NAMES = "names"


class ProperNouns(WordTags):
    """The spaCy pipeline that finds proper nouns (TiC-LM, section 4): an installed package by name, or a folder.

    A word is a proper noun if its part of speech (PROPN) or its language-specific tag (NNP, NNPS) is one of `tags`.
    Nothing is downloaded.
    """

    tags: tuple[str, ...] = Field(("PROPN",), min_length=1)
    """Parts of speech, or language-specific tags, that mark a proper noun."""
    setting: ClassVar[str] = "nouns"
    tags_key: ClassVar[str] = "tags"
    finds: ClassVar[str] = "proper nouns"

    @property
    def tags_of(self) -> Mapping[str, Sequence[str]]:
        return {_NAMES: self.tags}

    @property
    def identity(self) -> tuple[str, tuple[str, ...]]:
        """The hash of the pipeline's files, and the tags. Raises InputError if the pipeline never gives one of them."""
        return self.digest, self.tags

    def with_marks(self, example: Example, found: Grouped) -> Example:
        return replace(example, nouns=found[_NAMES])


GROUPS: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"proper noun": ("PROPN",), "noun": ("NOUN",), "verb": ("VERB",), "number": ("NUM",)}
)
"""The groups that TemporalWiki tells apart; its released code names them by tags of English (NNP, NN, VB, CD)."""


class PartsOfSpeech(WordTags):
    """The spaCy pipeline that marks words by part of speech (TemporalWiki, section 4): an installed package by name,
    or a folder.

    A word belongs to every group that names its part of speech (PROPN) or its language-specific tag (NNP). Nothing is
    downloaded.
    """

    groups: dict[Annotated[str, Field(min_length=1)], Annotated[tuple[str, ...], Field(min_length=1)]] = Field(
        default_factory=lambda: dict(GROUPS), min_length=1
    )
    """Parts of speech, or language-specific tags, by the name of their group."""
    setting: ClassVar[str] = "parts_of_speech"
    tags_key: ClassVar[str] = "groups"
    finds: ClassVar[str] = "parts of speech"

    @property
    def tags_of(self) -> Mapping[str, Sequence[str]]:
        return self.groups

    @property
    def identity(self) -> tuple[object, ...]:
        """The hash of the pipeline's files, and the groups in their order. Raises InputError if the pipeline never
        gives one of their tags."""
        return "parts of speech", self.digest, tuple(self.groups.items())

    def with_marks(self, example: Example, found: Grouped) -> Example:
        return replace(example, parts=found)
