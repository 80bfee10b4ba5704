"""Spellings: marks that belong to a number, and characters that look alike but have several code points.

Comparisons of texts leave punctuation out, but the marks of a number carry its value: without them 1.5 would be 15,
-5 would be 5, and a score of 2-1 would be 21.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

_DASHES = "‐‑‒–−⁻₋﹣－-"
"""Hyphens, the figure dash, the en dash and the minus signs, which all stand for a minus or a range. An em dash is
neither: it stands between clauses."""
_APOSTROPHES = "’‘‛′ʹʻʼʽʾʿˈꞌ`´＇"
"""Characters written for an apostrophe. Some are letters to Unicode (`ʼ`, category Lm), so they survive where
punctuation is left out; half rings and primes are how transliterations of hamza, ayn and soft signs write theirs."""
_QUOTES = "“”„‟″ʺˮ＂"
_SPACES = "\u00a0\u2007\u202f\u2009"
"""Spaces that are not broken, or narrow; in words they are spaces."""
_NOTHING = "\u00ad\u200b\u200c\u200d\u2060\ufeff"
"""Soft hyphens, joiners and spaces without width, which no reader sees."""
_CANONICAL = {
    **dict.fromkeys(map(ord, _DASHES), "-"),
    **dict.fromkeys(map(ord, _APOSTROPHES), "'"),
    **dict.fromkeys(map(ord, _QUOTES), '"'),
    **dict.fromkeys(map(ord, _SPACES), " "),
    **dict.fromkeys(map(ord, _NOTHING), ""),
    ord("٬"): ",",  # separates thousands in Arabic
}
_HIGH, _LOW = "⁰¹²³⁴⁵⁶⁷⁸⁹", "₀₁₂₃₄₅₆₇₈₉"
_DIGIT = rf"[\d{_HIGH}{_LOW}]"
_MAY_COUNT = re.compile(rf"[^\w\s]{_DIGIT}")
"""A mark before a digit, without which no mark is part of a number: most sentences have none, and a build compares
millions."""
_MAY_GROUP = re.compile(r"[,'’٬]\d{3}")
_THOUSANDS = re.compile(r"(?<!\d)(?<!\d[.,'’٬])(?!0)\d{1,3}([,'’٬])\d{3}(?:\1\d{3})*(?!\1?\d)")
_MARKS = re.compile(  # looking behind at each character first would take twice the time
    r"[^\w\s](?:"
    rf"(?<={_DIGIT}.)[^\w\s]*(?={_DIGIT})"  # within a number and between two: 1.5, 2-1, 12:30, 10^-5
    rf"|(?<=[±{_DASHES}])(?<![\w{_DASHES}].)(?=[$€£¥₹]?\.?\d)"  # a sign, but not the hyphen of F-16
    rf"|(?<=[{_DASHES}])(?=[{_HIGH}{_LOW}])"  # the sign of an exponent: m⁻²
    rf"|(?<=\d[eE][{_DASHES}])(?=\d)"  # 1e-5
    r"|(?<=\.)(?<![\w.].)(?=\d))"  # .5
)
SHORTEST = 7
"""Fewest letters of two words that differ in one letter and may be one word in two spellings. Among shorter ones, too
many are two words: Boston and Bolton, Iran and Iraq."""
_NUMBERS = frozenset(["seventh", "seventy"])
"""The only numbers in words that have as many letters and differ in one."""


def without(dropped: re.Pattern[str], text: str, instead: str = "") -> str:
    """Return a text with `instead` in the place of each match of `dropped`, except for the marks that are part of a
    number's value: its point, its sign, and what stands between two numbers. Dashes among these become `-`.

    Commas and apostrophes that separate thousands go: 1,500 and 1500 are one number, 1,5 and 15 are two.
    """
    if not _MAY_COUNT.search(text):
        return dropped.sub(instead, text)
    if _MAY_GROUP.search(text):
        text = _THOUSANDS.sub(lambda match: match[0].replace(match[1], ""), text)
    pieces, at = [], 0
    for match in _MARKS.finditer(text):
        pieces += [dropped.sub(instead, text[at : match.start()]), match[0].translate(_CANONICAL)]
        at = match.end()
    return "".join([*pieces, dropped.sub(instead, text[at:])])


def folded(text: str) -> str:
    """Return a text in which each character that has look-alikes is the plain one: `Baháʼí` and `Bahá’í` are `Bahá'í`,
    and hyphens, minus signs and spaces are those of a keyboard."""
    return text if text.isascii() else text.translate(_CANONICAL)


def unaccented(text: str) -> str:
    """Return a text without the marks on its letters: `Bahai` for `Bahái`."""
    return "".join(one for one in unicodedata.normalize("NFD", text) if not unicodedata.combining(one))


def alike(first: Sequence[str], second: Sequence[str]) -> bool:
    """Return whether two lists of words in lower case differ by their spelling alone: by accents, by spaces, or by one
    letter of a long word, but not by its first (million, billion) and never by a digit."""
    a, b = ([unaccented(folded(word)) for word in words] for words in (first, second))
    if a == b:
        return True
    joined = "".join(a), "".join(b)
    if joined[0] == joined[1] and joined[0].isalpha():
        return True
    return len(a) == len(b) and all(x == y or _one_letter(x, y) for x, y in zip(a, b, strict=True))


def _one_letter(a: str, b: str) -> bool:
    """Return whether two long words differ by a letter: another one, one more, or two that changed places."""
    if min(len(a), len(b)) < SHORTEST or a[0] != b[0] or not (a.isalpha() and b.isalpha()) or {a, b} <= _NUMBERS:
        return False
    start = next((n for n, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), min(len(a), len(b)))
    a, b = a[start:], b[start:]
    while a and b and a[-1] == b[-1]:
        a, b = a[:-1], b[:-1]
    return max(len(a), len(b)) <= 1 or (len(a) == 2 and a == b[::-1])
