"""Repetition: texts in which too much stands more than once (Gopher, table A1; step 15 of TiC-CC's filters)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from numba import njit
from pydantic import Field

from ticlm.datasets.filters.quality import NO_WORDS, lines
from ticlm.datasets.io.documents import Document
from ticlm.datasets.text.words import Hashes, ngrams, split
from ticlm.platform.core.settings import Settings

if TYPE_CHECKING:
    pass


class Repetition(Settings):
    """Leave out texts in which a share of more than a limit is repeated, by the first limit that is passed.

    Lines and paragraphs count without the white space around them, where there are two at least; of those that occur
    more than once all copies count, also the first. Words are those of Unicode (UAX #29) that begin with a letter or
    number, shares of n-grams are characters among those of all words, and case matters.
    """

    kind: Literal["repetition"] = "repetition"
    lines: float = Field(0.30, ge=0)
    paragraphs: float = Field(0.30, ge=0)
    line_chars: float = Field(0.20, ge=0)
    paragraph_chars: float = Field(0.20, ge=0)
    most_common: tuple[tuple[int, float], ...] = ((2, 0.20), (3, 0.18), (4, 0.16))
    """(n, limit): length times number of the n-gram that occurs most often (of several the longest), if more than once.
    Copies that overlap count in full."""
    repeated: tuple[tuple[int, float], ...] = ((5, 0.15), (6, 0.14), (7, 0.13), (8, 0.12), (9, 0.11), (10, 0.10))
    """(n, limit): characters within any n-gram that occurs more than once; none counts twice."""

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
    """Which shares of the segments, and of their characters, occur more than once."""
    if len(segments) < 2 or len(counts := Counter(segments)) == len(segments):
        return 0.0, 0.0
    copies = {segment: n for segment, n in counts.items() if n > 1}
    chars = sum(len(segment) * n for segment, n in copies.items())
    return sum(copies.values()) / len(segments), chars / sum(map(len, segments))


@dataclass(frozen=True)
class Recurrence:
    """Words by their hashes; word i takes the characters `at[i]` to `at[i + 1]` of all words one after another."""

    hashes: Hashes
    at: npt.NDArray[np.int64]

    @staticmethod
    def of(text: str) -> Recurrence:
        """Of the words that begin with a letter or number."""
        words = split(text)
        at = np.zeros(np.count_nonzero(words.alnum) + 1, np.int64)
        np.cumsum((words.end - words.start)[words.alnum], out=at[1:])
        return Recurrence(words.hash[words.alnum], at)

    @property
    def chars(self) -> int:
        return int(self.at[-1])

    def most_common(self, n: int) -> int:
        """Length of the n-gram with the most copies (of several the longest) times their number; 0 without copies."""
        return int(_most_common(ngrams(self.hashes, n), self.at, n))

    def repeated(self, n: int) -> int:
        """Characters in n-grams that occur more than once, each character counted once."""
        return int(_repeated_chars(ngrams(self.hashes, n), self.at, n))


@njit(cache=True, nogil=True)
def _counted(grams: Any) -> Any:
    """(place, count): `count[place[i]]` is how often the i-th n-gram occurs. A table with open addresses."""
    size = 16
    while size < 2 * grams.size:
        size *= 2
    mask = np.uint64(size - 1)
    keys, count = np.empty(size, np.uint64), np.zeros(size, np.int32)
    place = np.empty(grams.size, np.int64)
    for i in range(grams.size):
        slot: Any = np.int64(grams[i] & mask)
        while count[slot] and keys[slot] != grams[i]:
            slot = slot + 1 if slot + 1 < size else 0
        keys[slot] = grams[i]
        count[slot] += 1
        place[i] = slot
    return place, count


@njit(cache=True, nogil=True)
def _most_common(grams: Any, at: Any, n: int) -> Any:
    place, count = _counted(grams)
    most, longest = 1, 0
    for i in range(grams.size):
        copies = count[place[i]]
        chars = at[i + n] - at[i]
        if copies > most or (copies == most and chars > longest):
            most, longest = copies, chars
    return most * longest if most > 1 else 0


@njit(cache=True, nogil=True)
def _repeated_chars(grams: Any, at: Any, n: int) -> Any:
    place, count = _counted(grams)
    total, done = 0, 0
    for i in range(grams.size):
        if count[place[i]] > 1:
            total += at[i + n] - at[max(i, done)]
            done = i + n
    return total
