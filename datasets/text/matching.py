"""How well a text that a model wrote matches the right answers, with texts compared as in SQuAD; and whether a text has
an answer in it."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection

from ticlm.datasets.text.spelling import without

_PUNCTUATION = re.compile(f"[{re.escape(string.punctuation)}]")
_ARTICLE = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> str:
    """Return the text in lower case, without punctuation and articles, with single spaces (SQuAD's script), but with
    the marks that belong to numbers, which the script drops too: 1.5 is not 15, and -5 is not 5."""
    return _spaced(without(_PUNCTUATION, text.lower()))


def by_script(text: str) -> str:
    """Return the text as SQuAD's script normalises it, numbers included, for scores that are compared with published
    ones."""
    return _spaced(_PUNCTUATION.sub("", text.lower()))


def _spaced(text: str) -> str:
    return " ".join(_ARTICLE.sub(" ", text).split())


def exact_match(text: str, answers: Collection[str]) -> float:
    """Return 1 if the text is one of the answers, both normalised, else 0; a text without a word is none."""
    said = normalised(text)
    return float(bool(said) and said in {normalised(answer) for answer in answers})


def f1(text: str, answers: Collection[str]) -> float:
    """Return the largest F1 of the text's words against those of an answer, both normalised; 0 if they share none."""
    return max((_f1(normalised(text).split(), normalised(answer).split()) for answer in answers), default=0.0)


def _f1(said: list[str], right: list[str]) -> float:
    shared = (Counter(said) & Counter(right)).total()
    return 2 * shared / (len(said) + len(right)) if shared else 0.0


def whole_words(name: str, ignore_case: bool = True) -> re.Pattern[str]:
    """Return a pattern that finds a name as whole words."""
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE if ignore_case else re.NOFLAG)


def contains(text: str, answer: str) -> bool:
    """Return whether a text has an answer as whole words, in any case."""
    return whole_words(answer).search(text) is not None
