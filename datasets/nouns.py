"""Proper nouns: where they stand in a text, found once per set of examples by a spaCy pipeline."""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from ticlm.datasets.fanout import by_actors
from ticlm.platform.errors import InputError
from ticlm.platform.examples import Example, Subset
from ticlm.platform.settings import Settings

CHUNK = 256
"""Texts that an actor tags at once."""
Spans = tuple[tuple[int, int], ...]


class ProperNouns(Settings):
    """A spaCy pipeline by the name of an installed package or by its folder; a word counts where its part of speech is
    one of `tags`. Nothing is downloaded. (TiC-LM, section 4: "proper noun tokens found by a PoS tagger".)"""

    pipeline: str
    tags: tuple[str, ...] = ("PROPN",)
    actors: int = Field(2, gt=0)

    @cached_property
    def _folder(self) -> Path:
        return _folder(self.pipeline)

    @property
    def identity(self) -> tuple[str, tuple[str, ...]]:
        """The pipeline by what its folder holds, and the tags."""
        digest = hashlib.sha256()
        for file in sorted(path for path in self._folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            digest.update(file.relative_to(self._folder).as_posix().encode() + b"\0" + file.read_bytes())
        return digest.hexdigest(), self.tags

    @property
    def outside(self) -> str:
        meta = json.loads((self._folder / "meta.json").read_text())
        return f"proper nouns by {meta.get('lang', '')}_{meta.get('name', '')} {meta.get('version', '')}"

    def load(self) -> Any:
        """The pipeline, without what part-of-speech tags do not need."""
        import spacy

        pipeline = spacy.load(self._folder, exclude=["ner", "lemmatizer", "parser", "textcat"])
        pipeline.max_length = sys.maxsize  # the limit is for the memory of what was just left out
        return pipeline


def _folder(pipeline: str) -> Path:
    """Where a pipeline lies; InputError where there is none, or it tags no parts of speech."""
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


def marked(nouns: ProperNouns, subsets: Mapping[Subset, Sequence[Example]]) -> dict[Subset, list[Example]]:
    """The examples with the proper nouns of their texts; questions stay as they are."""
    texts = [(name, i) for name, examples in subsets.items() for i, e in enumerate(examples) if e.answer is None]
    found = {name: list(examples) for name, examples in subsets.items()}
    chunks = [texts[at : at + CHUNK] for at in range(0, len(texts), CHUNK)]
    tagged = by_actors(Tagger, (nouns,), [[found[name][i].text for name, i in chunk] for chunk in chunks], nouns.actors)
    for chunk, spans in zip(chunks, tagged, strict=True):
        for (name, i), mine in zip(chunk, spans, strict=True):
            found[name][i] = replace(found[name][i], nouns=mine)
    return found


class Tagger:
    """Holds a pipeline, and gives the proper nouns of texts."""

    def __init__(self, nouns: ProperNouns) -> None:
        self._pipeline, self._tags = nouns.load(), frozenset(nouns.tags)

    def __call__(self, texts: Sequence[str]) -> list[Spans]:
        """Character spans [start, end) of each text, in order."""
        return [
            tuple((token.idx, token.idx + len(token.text)) for token in doc if token.pos_ in self._tags)
            for doc in self._pipeline.pipe(texts)
        ]
