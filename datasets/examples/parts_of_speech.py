"""Parts of speech: the words of each group in texts, found once per set of examples by a spaCy pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Annotated, ClassVar

from pydantic import Field

from ticlm.core.examples import Example
from ticlm.datasets.examples.word_tags import Grouped, WordTags

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
