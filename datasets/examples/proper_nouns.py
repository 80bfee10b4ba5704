"""Proper nouns: where they stand in a text, found once per set of examples by a spaCy pipeline."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from ticlm.datasets.io.ray_map import Actors
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.examples import Example
from ticlm.platform.core.mixture import Subset
from ticlm.platform.core.settings import Settings

CHUNK = 256
"""Texts that an actor is given at once."""
TAGGED_AT_ONCE = 100_000
"""Characters tagged at once: some 70 MB of activations in a pipeline of the common small size."""
Spans = tuple[tuple[int, int], ...]


class ProperNouns(Settings):
    """A spaCy pipeline by the name of an installed package or by its folder; a word counts where its part of speech
    (PROPN) or its tag in the language (NNP, NNPS) is one of `tags`. Nothing is downloaded. (TiC-LM, section 4.)"""

    pipeline: str
    tags: tuple[str, ...] = Field(("PROPN",), min_length=1)
    actors: int = Field(2, gt=0)
    """How many hold the pipeline and tag side by side, where there are as many CPUs."""

    @cached_property
    def _folder(self) -> Path:
        return _folder(self.pipeline)

    @cached_property
    def _digest(self) -> str:
        _check_tags(self, self.load())
        digest = hashlib.sha256()
        for file in sorted(path for path in self._folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            digest.update(file.relative_to(self._folder).as_posix().encode() + b"\0" + file.read_bytes())
        return digest.hexdigest()

    @property
    def identity(self) -> tuple[str, tuple[str, ...]]:
        """The pipeline by what its folder holds, and the tags; InputError for one that could mark nothing."""
        return self._digest, self.tags

    @property
    def external_inputs(self) -> str:
        meta = json.loads((self._folder / "meta.json").read_text())
        return f"proper nouns by {meta.get('lang', '')}_{meta.get('name', '')} {meta.get('version', '')}"

    def load(self) -> Any:
        """The pipeline, without what part-of-speech tags do not need."""
        import spacy

        try:
            pipeline = spacy.load(self._folder, exclude=["ner", "lemmatizer", "parser", "senter", "textcat"])
        except (ValueError, OSError, ImportError, KeyError, TypeError) as error:
            reason = " ".join(str(error).split())[:200]
            raise InputError(f"nouns.pipeline: {self.pipeline} cannot be loaded: {reason}") from None
        pipeline.max_length = sys.maxsize  # the limit is for the memory of what was just left out
        return pipeline


def _check_tags(nouns: ProperNouns, pipeline: Any) -> None:
    """InputError where the pipeline never gives one of the tags, so that every word, or some, would be missed."""
    from spacy.parts_of_speech import IDS

    doc = pipeline("It is.")
    labels = {label for name in pipeline.pipe_names for label in getattr(pipeline.get_pipe(name), "labels", ())}
    known = {label for label in labels if "=" not in label} if doc.has_annotation("TAG") else set()
    if doc.has_annotation("POS"):
        known |= {*IDS} - {""}  # what spaCy knows in every language; tags of a language are its tagger's own
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


def _folder(pipeline: str) -> Path:
    """Where a pipeline lies; InputError where there is none."""
    try:
        import spacy.util
    except ImportError:
        raise InputError("nouns needs spaCy: pip install 'ticlm[spacy]'") from None
    if spacy.util.is_package(pipeline):
        package = Path(spacy.util.get_package_path(pipeline))
        folders = [package, *sorted(package.glob("*/"))]
    else:
        folders = [Path(pipeline).expanduser()]
    for folder in folders:
        if (folder / "meta.json").is_file() and (folder / "config.cfg").is_file():
            return folder
    raise InputError(
        f"nouns.pipeline: {pipeline} is neither an installed spaCy package nor the folder of a pipeline; install one "
        f"with python -m spacy download NAME, or give a path"
    )


class Tagger:
    """Holds a pipeline, and gives the proper nouns of texts."""

    def __init__(self, nouns: ProperNouns) -> None:
        self._pipeline, self._tags = nouns.load(), frozenset(nouns.tags)

    def __call__(self, texts: Sequence[str]) -> list[Spans]:
        """Character spans [start, end) of each text, in order."""
        return [
            tuple(
                (token.idx, token.idx + len(token.text))
                for token in doc
                if token.pos_ in self._tags or token.tag_ in self._tags
            )
            for some in _some(texts)
            for doc in self._pipeline.pipe(some)
        ]


Taggers = Actors[Sequence[str], list[Spans]]


def taggers(nouns: ProperNouns) -> Taggers:
    """Actors that tag, for as long as a block."""
    return Actors(Tagger, (nouns,), nouns.actors)


def marked(taggers: Taggers, subsets: Mapping[Subset, Sequence[Example]]) -> dict[Subset, list[Example]]:
    """The examples with the proper nouns of their texts; questions stay as they are."""
    texts = [(name, i) for name, examples in subsets.items() for i, e in enumerate(examples) if e.answer is None]
    found = {name: list(examples) for name, examples in subsets.items()}
    chunks = [texts[at : at + CHUNK] for at in range(0, len(texts), CHUNK)]
    tagged = taggers.map([[found[name][i].text for name, i in chunk] for chunk in chunks])
    for chunk, spans in zip(chunks, tagged, strict=True):
        for (name, i), mine in zip(chunk, spans, strict=True):
            found[name][i] = replace(found[name][i], nouns=mine)
    return found


def _some(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts, as many at a time as have TAGGED_AT_ONCE characters; a longer one alone."""
    some: list[str] = []
    size = 0
    for text in texts:
        if some and size + len(text) > TAGGED_AT_ONCE:
            yield some
            some, size = [], 0
        some.append(text)
        size += len(text)
    if some:
        yield some
