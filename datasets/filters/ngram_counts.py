"""Counts of the n-grams of a text that occur more than once, with numba (which takes long to load: import it late)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from numba import njit

from ticlm.datasets.text.words import Hashes, ngrams, split


@dataclass(frozen=True)
class Recurrence:
    """Hashes of the words of a text. Word i has the characters `at[i]` to `at[i + 1]` of all words joined together."""

    hashes: Hashes
    at: npt.NDArray[np.int64]

    @staticmethod
    def of(text: str) -> Recurrence:
        """Take the words of a text that begin with a letter or number."""
        words = split(text)
        at = np.zeros(np.count_nonzero(words.alnum) + 1, np.int64)
        np.cumsum((words.end - words.start)[words.alnum], out=at[1:])
        return Recurrence(words.hash[words.alnum], at)

    @property
    def chars(self) -> int:
        return int(self.at[-1])

    def most_common(self, n: int) -> int:
        """Return the characters in all copies of the most frequent n-gram (of several, the longest); 0 without any."""
        return int(_most_common(ngrams(self.hashes, n), self.at, n))

    def repeated(self, n: int) -> int:
        """Return the characters in n-grams that occur more than once, each character counted once."""
        return int(_repeated_chars(ngrams(self.hashes, n), self.at, n))


@njit(cache=True, nogil=True)
def _counted(grams: Any) -> Any:
    """Return (place, count), a hash table with open addressing: the i-th n-gram occurs `count[place[i]]` times."""
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
