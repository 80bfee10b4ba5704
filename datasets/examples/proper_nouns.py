"""Proper nouns: their positions in texts, found once per set of examples by a spaCy pipeline."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from ticlm.datasets.io.executor import Executor, Workers
from ticlm.datasets.text import pipelines
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.examples import Example
from ticlm.platform.core.mixture import Subset
from ticlm.platform.core.settings import Settings

CHUNK = 256
"""Texts that are sent to an actor at once."""
TAGGED_AT_ONCE = 100_000
"""Characters that are tagged at once: about 70 MB of activations in a pipeline of the common small size."""
Spans = tuple[tuple[int, int], ...]
_SETTING = "nouns.pipeline"


class ProperNouns(Settings):
    """The spaCy pipeline that finds proper nouns (TiC-LM, section 4): an installed package by name, or a folder.

    A word is a proper noun if its part of speech (PROPN) or its language-specific tag (NNP, NNPS) is one of `tags`.
    Nothing is downloaded.
    """

    pipeline: str
    """Name of an installed spaCy pipeline, or its folder; nothing is downloaded."""
    tags: tuple[str, ...] = Field(("PROPN",), min_length=1)
    """Parts of speech, or language-specific tags, that mark a proper noun."""
    actors: int = Field(2, gt=0)
    """Number of actors that hold the pipeline and tag in parallel, if there are as many CPUs."""

    @cached_property
    def _folder(self) -> Path:
        return pipelines.folder_of(self.pipeline, _SETTING)

    @cached_property
    def _digest(self) -> str:
        _check_tags(self, self.load())
        return pipelines.digest_of(self._folder)

    @property
    def identity(self) -> tuple[str, tuple[str, ...]]:
        """The hash of the pipeline's files, and the tags. Raises InputError if the pipeline never gives one of them."""
        return self._digest, self.tags

    @property
    def external_inputs(self) -> str:
        """A line that names the pipeline and its version, which come from outside the timeline."""
        return f"proper nouns by {pipelines.title_of(self._folder)}"

    def load(self) -> Any:
        """Load the pipeline without the components that part-of-speech tags do not need."""
        unused = ("ner", "lemmatizer", "parser", "senter", "textcat")
        pipeline = pipelines.loaded(self._folder, self.pipeline, _SETTING, unused)
        pipeline.max_length = sys.maxsize  # the limit protects the memory of the components that are excluded here
        return pipeline


def _check_tags(nouns: ProperNouns, pipeline: Any) -> None:
    """Raise InputError if the pipeline never gives one of the tags, so that proper nouns would be missed."""
    from spacy.parts_of_speech import IDS

    doc = pipeline("It is.")
    labels = {label for name in pipeline.pipe_names for label in getattr(pipeline.get_pipe(name), "labels", ())}
    known = {label for label in labels if "=" not in label} if doc.has_annotation("TAG") else set()
    if doc.has_annotation("POS"):
        known |= {*IDS} - {""}  # parts of speech are the same in every language; other tags belong to the tagger
    if not known:
        parts = ", ".join(pipeline.pipe_names) or "none"
        raise InputError(
            f"nouns.pipeline: {nouns.pipeline} tags no parts of speech: of tagger, morphologizer and attribute_ruler "
            f"it has {parts}"
        )
    if unknown := sorted(set(nouns.tags) - known):
        raise InputError(
            f"nouns.tags: {nouns.pipeline} never gives {', '.join(unknown)}; it knows {', '.join(sorted(known))}"
        )


class Tagger:
    """A loaded pipeline that finds the proper nouns of texts."""

    def __init__(self, nouns: ProperNouns) -> None:
        self._pipeline, self._tags = nouns.load(), frozenset(nouns.tags)

    def __call__(self, texts: Sequence[str]) -> list[Spans]:
        """Return the character spans [start, end) of the proper nouns of each text, in order."""
        return [
            tuple(
                (token.idx, token.idx + len(token.text))
                for token in doc
                if token.pos_ in self._tags or token.tag_ in self._tags
            )
            for batch in _batches(texts)
            for doc in self._pipeline.pipe(batch)
        ]


Taggers = Workers[Sequence[str], list[Spans]]


def taggers(executor: Executor, nouns: ProperNouns) -> Taggers:
    """Return a context manager whose workers tag texts until it ends."""
    return executor.workers(Tagger, (nouns,), nouns.actors)


def marked(taggers: Taggers, subsets: Mapping[Subset, Sequence[Example]]) -> dict[Subset, list[Example]]:
    """Return the examples with the proper nouns of their texts marked; questions are returned unchanged."""
    texts = [(name, i) for name, examples in subsets.items() for i, e in enumerate(examples) if e.answer is None]
    result = {name: list(examples) for name, examples in subsets.items()}
    chunks = [texts[at : at + CHUNK] for at in range(0, len(texts), CHUNK)]
    tagged = taggers.map([[result[name][i].text for name, i in chunk] for chunk in chunks])
    for chunk, spans_of_chunk in zip(chunks, tagged, strict=True):
        for (name, i), spans in zip(chunk, spans_of_chunk, strict=True):
            result[name][i] = replace(result[name][i], nouns=spans)
    return result


def _batches(texts: Sequence[str]) -> Iterator[list[str]]:
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
