"""Words of a text by Unicode's word boundaries (UAX #29), their hashes, and n-grams of the hashes.

Repetition and deduplication compare words but never need the words themselves. So a text becomes arrays, once.
"""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

Hashes = npt.NDArray[np.uint64]
Offsets = npt.NDArray[np.int64]

CHARACTERS = 0x110000  # code points of Unicode


class Words(NamedTuple):
    """The segments between word boundaries that are not white space: words, numbers, single marks.

    `start` and `end` are in code points. `hash` depends on the code points of the segment alone, and never changes.
    `alnum` says whether the first character is a letter or a number. The arrays are shared and read-only.
    """

    start: npt.NDArray[np.int32]
    end: npt.NDArray[np.int32]
    hash: Hashes
    alnum: npt.NDArray[np.bool_]


class Shingles(NamedTuple):
    """The n-grams of a text, in its order. Paragraph p has `hashes[offsets[p] : offsets[p + 1]]`."""

    hashes: Hashes
    offsets: Offsets


@lru_cache(maxsize=4)
def split(text: str) -> Words:
    """Return the words of a text by rules WB1 to WB999. The last few texts are cached, as several steps need them."""
    return Words(*map(_shared, _split(points(text), classes())))


def ngrams(hashes: Hashes, n: int) -> Hashes:
    """Return uint64[words - n + 1], a hash of each `n` consecutive words, which depends on their order; empty if there
    are fewer words."""
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    found: Hashes = _ngrams(np.ascontiguousarray(hashes, dtype=np.uint64), n)
    return found


def paragraphs(text: str) -> Offsets:
    """Return int64[paragraphs + 1], the starts in code points and the length of the text: p is text[at[p] : at[p + 1]].

    A text is cut before each newline, which belongs to the paragraph after it; no paragraph is empty.
    """
    found: Offsets = _paragraphs(points(text))
    return found


def shingles(text: str, n: int) -> Shingles:
    """Return the n-grams of each paragraph of the text; no n-gram crosses paragraphs."""
    if n < 1:
        raise ValueError(f"n must be at least 1, got {n}")
    words = split(text)
    return Shingles(*_shingles(words.start, words.hash, paragraphs(text), n))


def count(text: str) -> int:
    """Count the runs between ASCII white space that begin with a letter or number: fastText's words."""
    return int(_count(points(text), classes()))


def points(text: str) -> npt.NDArray[np.uint32]:
    """Return uint32[characters], the code points of a text."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


# Values of Word_Break (UAX #29, table 3), those that no rule tells apart as one.
_OTHER, _CR, _LF, _NEWLINE, _SPACE, _EXTEND, _ZWJ = range(7)
_LETTER, _HEBREW, _NUMERIC, _KATAKANA, _EXTEND_NUM_LET = range(7, 12)
_MID_LETTER, _MID_NUM, _MID_NUM_LET, _SINGLE_QUOTE, _DOUBLE_QUOTE, _REGIONAL = range(12, 18)
_CLASS = 0x1F  # the bits of a class
_PICTOGRAPHIC, _BLANK, _ALNUM = 0x20, 0x40, 0x80  # flags above the bits of a class

_PROPERTIES = {
    "CR": _CR,
    "LF": _LF,
    "Newline": _NEWLINE,
    "WSegSpace": _SPACE,
    "Extend": _EXTEND,
    "Format": _EXTEND,
    "ZWJ": _ZWJ,
    "ALetter": _LETTER,
    "Hebrew_Letter": _HEBREW,
    "Numeric": _NUMERIC,
    "Katakana": _KATAKANA,
    "ExtendNumLet": _EXTEND_NUM_LET,
    "MidLetter": _MID_LETTER,
    "MidNum": _MID_NUM,
    "MidNumLet": _MID_NUM_LET,
    "Single_Quote": _SINGLE_QUOTE,
    "Double_Quote": _DOUBLE_QUOTE,
    "Regional_Indicator": _REGIONAL,
}


@cache
def classes() -> npt.NDArray[np.uint8]:
    """Return uint8[CHARACTERS]: the class of each character, and flags of pictographs, blanks, letters and numbers.

    It comes from `regex`, whose release fixes the version of Unicode, and not from Python, whose versions differ.
    """
    import regex

    every = "".join(map(chr, range(CHARACTERS)))
    table = np.zeros(CHARACTERS, np.uint8)
    marked = {rf"\p{{Word_Break={name}}}": value for name, value in _PROPERTIES.items()}
    marked |= {r"\p{Extended_Pictographic}": _PICTOGRAPHIC, r"[\p{L}\p{N}]": _ALNUM}
    marked |= {r"[\s\x1c-\x1f]": _BLANK}  # with the four separators it is what str.isspace says
    for pattern, bits in marked.items():
        for found in regex.finditer(f"{pattern}+", every):
            table[found.start() : found.end()] |= bits
    table.flags.writeable = False
    return table


def _shared(array: Any) -> Any:
    array.flags.writeable = False
    return array


# Arithmetic on hashes is modulo 2**64. Numbers are wrapped, as numba would else make floats of signed and unsigned.
_SEED = np.uint64(0x243F6A8885A308D3)  # digits of pi
STEP = np.uint64(0x9E3779B97F4A7C15)  # odd: multiplying by it loses nothing
_BASE = np.uint64(0xD1342543DE82EF95)  # a multiplier of good spectral quality (Steele and Vigna, 2021)
_MIX_1 = np.uint64(0xBF58476D1CE4E5B9)  # the finalizer of SplitMix64 (Steele, Lea, Flood 2014)
_MIX_2 = np.uint64(0x94D049BB133111EB)
_27, _29, _30, _31 = np.uint64(27), np.uint64(29), np.uint64(30), np.uint64(31)


@njit(cache=True, nogil=True)
def mixed(value: Any) -> Any:
    """Return a 64-bit hash in which every bit depends on every bit of the value."""
    value = (value ^ (value >> _30)) * _MIX_1
    value = (value ^ (value >> _27)) * _MIX_2
    return value ^ (value >> _31)


@njit(cache=True, nogil=True)
def _split(text: Any, table: Any) -> Any:
    start, end = np.empty(text.size, np.int32), np.empty(text.size, np.int32)
    hashes, alnum = np.empty(text.size, np.uint64), np.empty(text.size, np.bool_)
    found, at = 0, 0
    while at < text.size:
        stop = _segment(text, table, at)
        value, blank = _SEED, True
        for i in range(at, stop):
            value = (value ^ np.uint64(text[i])) * STEP
            value ^= value >> _29
            blank = blank and (table[text[i]] & _BLANK) != 0
        if not blank:
            start[found], end[found] = at, stop
            hashes[found], alnum[found] = mixed(value), (table[text[at]] & _ALNUM) != 0
            found += 1
        at = stop
    return start[:found].copy(), end[:found].copy(), hashes[:found].copy(), alnum[:found].copy()


@njit(cache=True, nogil=True)
def _count(text: Any, table: Any) -> Any:
    found, outside = 0, True
    for point in text:
        blank = point == 32 or 9 <= point <= 13 or point == 0  # where fastText cuts words
        found += outside and not blank and (table[point] & _ALNUM) != 0
        outside = blank
    return found


@njit(cache=True, nogil=True)
def _segment(text: Any, table: Any, at: int) -> Any:
    """Return the end of the segment that begins at `at`."""
    before = table[text[at]] & _CLASS  # of the last character that counts: WB4 looks past extending ones
    if before == _CR and at + 1 < text.size and table[text[at + 1]] & _CLASS == _LF:
        return at + 2  # WB3
    if before in (_CR, _LF, _NEWLINE):
        return at + 1  # WB3a
    last, regional = before, 1
    i = at + 1
    while i < text.size:
        here = table[text[i]]
        kind = here & _CLASS
        if (last == _ZWJ and here & _PICTOGRAPHIC) or (last == _SPACE and kind == _SPACE):
            before = kind  # WB3c, WB3d
        elif kind in (_EXTEND, _ZWJ):
            pass  # WB4
        elif _joined(before, kind):
            before = kind
        elif before == _REGIONAL and kind == _REGIONAL and regional == 1:
            regional = 2  # WB15, WB16: two of them are a flag
        elif _MID_LETTER <= kind <= _DOUBLE_QUOTE and _continued(before, kind, _next(text, table, i)[1]):
            i, kind = _next(text, table, i)  # WB6, WB7, WB7b, WB7c, WB11, WB12
            before = kind
        elif before == _HEBREW and kind == _SINGLE_QUOTE:
            before = kind  # WB7a
        else:
            return i
        last = kind
        i += 1
    return text.size


@njit(cache=True, nogil=True)
def _joined(before: int, kind: int) -> bool:
    """Return whether there is no boundary between two classes: WB5, WB8 to WB10, WB13 to WB13b."""
    if kind == _EXTEND_NUM_LET:
        return _LETTER <= before <= _EXTEND_NUM_LET
    if kind == _KATAKANA:
        return before in (_KATAKANA, _EXTEND_NUM_LET)
    if kind in (_LETTER, _HEBREW, _NUMERIC):
        return _LETTER <= before <= _NUMERIC or before == _EXTEND_NUM_LET
    return False


@njit(cache=True, nogil=True)
def _next(text: Any, table: Any, i: int) -> tuple[int, int]:
    """Return the place and class of the next character that counts; at the end, a class that joins nothing."""
    i += 1
    while i < text.size:
        kind = table[text[i]] & _CLASS
        if kind not in (_EXTEND, _ZWJ):
            return i, kind
        i += 1
    return i, _OTHER


@njit(cache=True, nogil=True)
def _continued(before: int, mark: int, after: int) -> bool:
    """Return whether a mark is within a word or number, as in "can't" and "3.14": WB6, WB7b, WB12."""
    if before == _NUMERIC:
        return after == _NUMERIC and mark in (_MID_NUM, _MID_NUM_LET, _SINGLE_QUOTE)
    if mark == _DOUBLE_QUOTE:
        return before == _HEBREW and after == _HEBREW
    letters = before in (_LETTER, _HEBREW) and after in (_LETTER, _HEBREW)
    return letters and mark in (_MID_LETTER, _MID_NUM_LET, _SINGLE_QUOTE)


@njit(cache=True, nogil=True)
def _ngrams(hashes: Any, n: int) -> Any:
    """Hash each n-gram by a rolling polynomial in the word hashes, which are mixed already."""
    count = max(hashes.size - n + 1, 0)
    out = np.empty(count, np.uint64)
    highest = np.uint64(1)
    for _ in range(n - 1):
        highest *= _BASE
    value = np.uint64(0)
    for i in range(hashes.size):
        if i >= n:
            value -= hashes[i - n] * highest
        value = value * _BASE + hashes[i]
        if i >= n - 1:
            out[i - n + 1] = mixed(value)
    return out


@njit(cache=True, nogil=True)
def _paragraphs(text: Any) -> Any:
    count = min(text.size, 1)
    for i in range(1, text.size):
        count += text[i] == 10
    at = np.zeros(count + 1, np.int64)
    found = 1
    for i in range(1, text.size):
        if text[i] == 10:
            at[found] = i
            found += 1
    at[count] = text.size
    return at


@njit(cache=True, nogil=True)
def _shingles(start: Any, hashes: Any, at: Any, n: int) -> Any:
    offsets = np.zeros(at.size, np.int64)
    first = np.zeros(at.size, np.int64)  # the first word of each paragraph
    word = 0
    for p in range(1, at.size):
        while word < start.size and start[word] < at[p]:
            word += 1
        first[p] = word
        offsets[p] = offsets[p - 1] + max(word - first[p - 1] - n + 1, 0)
    out = np.empty(offsets[-1], np.uint64)
    for p in range(1, at.size):
        out[offsets[p - 1] : offsets[p]] = _ngrams(hashes[first[p - 1] : first[p]], n)
    return out, offsets
