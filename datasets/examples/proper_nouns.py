"""Proper nouns: their positions in texts, found once per set of examples by a spaCy pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from pydantic import Field

from ticlm.core.examples import Example
from ticlm.datasets.examples.word_tags import Grouped, WordTags

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
