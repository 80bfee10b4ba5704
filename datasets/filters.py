"""Filters: a document goes in; it comes out, perhaps rewritten, or the reason why it is left out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

from pydantic import Field

from ticlm.datasets.documents import Document
from ticlm.platform.settings import Settings


class Filter(Protocol):
    """One step: looks at one document at a time, and at nothing else, so that its order and period cannot matter."""

    def __call__(self, document: Document) -> Document | str: ...


class MinChars(Settings):
    """Leave out texts of fewer than `chars` characters."""

    kind: Literal["min_chars"] = "min_chars"
    chars: int = Field(gt=0)

    def __call__(self, document: Document) -> Document | str:
        return document if len(document.text) >= self.chars else f"shorter than {self.chars} characters"


AnyFilter = MinChars
"""The filters a recipe may name; a new one is a class above and a member of this union."""


def passed(document: Document, filters: Sequence[Filter]) -> Document | str:
    """The document after all filters in turn, or the first reason to leave it out."""
    for step in filters:
        outcome = step(document)
        if isinstance(outcome, str):
            return outcome
        document = outcome
    return document
