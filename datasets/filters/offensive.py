"""A filter of offensive text, by the user's own list of words: no list is packaged."""

from __future__ import annotations

import re
from functools import cache
from typing import Literal

from pydantic import Field

from ticlm.core.periods import Label
from ticlm.core.settings import Settings
from ticlm.datasets.filters.urls import digest, entries
from ticlm.datasets.io.documents import Document

_WORD = re.compile(r"\w+(?:['’-]\w+)*")


class OffensiveWords(Settings):
    """Leave out texts in which too large a share of the words is on a list, in upper or lower case.

    A list also bans quotations, medicine, and the speech of those whom it was meant to protect (Dodge et al., 2021, on
    C4): a share that a single word in a long text does not reach leaves most of these in.
    """

    kind: Literal["offensive-words"] = "offensive-words"
    words: str
    """File with one word or phrase per line, local or remote."""
    most: float = Field(0.01, ge=0, lt=1)
    """Largest share (0 to 1) of the words of a text that may be on the list; each word of a phrase counts."""
    as_of: Label | None = None
    """The last period from which the list may know anything; it comes from outside the timeline."""

    @property
    def identity(self) -> tuple[Settings, str]:
        """Return the settings and the hash of the list's entries, not its path."""
        return self.model_copy(update={"words": "", "as_of": None}), digest(self.words)

    @property
    def external_inputs(self) -> str:
        return f"list of offensive words {self.words}, as of {self.as_of or 'an unknown time'}"

    def __call__(self, document: Document) -> Document | str:
        words = _WORD.findall(document.text.lower())
        return "offensive words" if listed(words, _phrases(self.words)) > self.most * len(words) else document


def listed(words: list[str], phrases: dict[str, list[tuple[str, ...]]]) -> int:
    """Return how many words of a text are part of a phrase of a list, the longest first."""
    at = count = 0
    while at < len(words):
        found = next((p for p in phrases.get(words[at], ()) if tuple(words[at : at + len(p)]) == p), ())
        count += len(found)
        at += len(found) or 1
    return count


@cache
def _phrases(path: str) -> dict[str, list[tuple[str, ...]]]:
    """Return the phrases of a list by their first word, longest first."""
    found: dict[str, list[tuple[str, ...]]] = {}
    for phrase in sorted((tuple(_WORD.findall(entry)) for entry in entries(path)), key=len, reverse=True):
        if phrase:
            found.setdefault(phrase[0], []).append(phrase)
    return found
