"""Repetition: a filter of texts that repeat too much of themselves (Gopher, table A1; step 15 of TiC-CC's filters)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from pydantic import Field

from ticlm.core.extras import Extra
from ticlm.core.settings import Settings
from ticlm.datasets.filters.quality import NO_WORDS, lines
from ticlm.datasets.io.documents import Document


class Repetition(Settings):
    """Leave out texts where a repeated share is above its limit; the first such limit is the reason.

    Lines and paragraphs count without the white space around them, and only if there are at least two. All copies of a
    repeated one count, also the first. Words are those of Unicode (UAX #29) that begin with a letter or number. Shares
    of n-grams are in characters, relative to the characters of all words, and case matters.
    """

    kind: Literal["repetition"] = "repetition"
    lines: float = Field(0.30, ge=0)
    """Limit of the share of lines that are repeated."""
    paragraphs: float = Field(0.30, ge=0)
    """Limit of the share of paragraphs that are repeated."""
    line_chars: float = Field(0.20, ge=0)
    """Limit of the share of characters that are in repeated lines."""
    paragraph_chars: float = Field(0.20, ge=0)
    """Limit of the share of characters that are in repeated paragraphs."""
    most_common: tuple[tuple[int, float], ...] = ((2, 0.20), (3, 0.18), (4, 0.16))
    """(n, limit) of the share of the most frequent n-gram: its length times its number of copies, if there are
    several. Of several equally frequent n-grams, the longest counts; overlapping copies count in full."""
    repeated: tuple[tuple[int, float], ...] = ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10))
    """(n, limit) of the share of characters in any n-gram that occurs more than once; no character counts twice."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("web", ("numba",)),)

    def __call__(self, document: Document) -> Document | str:
        return self._of_segments(document.text) or self._of_ngrams(document.text) or document

    def _of_segments(self, text: str) -> str | None:
        by_line = _repeated(lines(text))
        by_paragraph = _repeated([part for part in map(str.strip, text.split("\n\n")) if part])
        limits = {
            "repeated lines": (by_line[0], self.lines),
            "repeated paragraphs": (by_paragraph[0], self.paragraphs),
            "characters in repeated lines": (by_line[1], self.line_chars),
            "characters in repeated paragraphs": (by_paragraph[1], self.paragraph_chars),
        }
        return next((reason for reason, (share, limit) in limits.items() if share > limit), None)

    def _of_ngrams(self, text: str) -> str | None:
        from ticlm.datasets.filters.ngram_counts import Recurrence

        words = Recurrence.of(text)
        if words.chars == 0:
            return NO_WORDS
        for n, limit in self.most_common:
            if words.most_common(n) / words.chars > limit:
                return f"one {n}-gram too often"
        for n, limit in self.repeated:
            if words.repeated(n) / words.chars > limit:
                return f"characters in repeated {n}-grams"
        return None


def _repeated(segments: Sequence[str]) -> tuple[float, float]:
    """Return the share of the segments, and of their characters, that occur more than once."""
    if len(segments) < 2 or len(counts := Counter(segments)) == len(segments):
        return 0.0, 0.0
    copies = {segment: n for segment, n in counts.items() if n > 1}
    chars = sum(len(segment) * n for segment, n in copies.items())
    return sum(copies.values()) / len(segments), chars / sum(map(len, segments))
