"""How well a text that a model wrote matches the right answers, with texts compared as in SQuAD."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Collection


def normalised(text: str) -> str:
    """Return the text in lower case, without punctuation and articles, with single spaces (SQuAD's script)."""
    plain = "".join(character for character in text.lower() if character not in string.punctuation)
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", plain).split())


def exact_match(text: str, answers: Collection[str]) -> float:
    """Return 1 if the text is one of the answers, both normalised, else 0."""
    return float(normalised(text) in {normalised(answer) for answer in answers})


def f1(text: str, answers: Collection[str]) -> float:
    """Return the largest F1 of the text's words against those of an answer, both normalised; 0 if they share none."""
    return max((_f1(normalised(text).split(), normalised(answer).split()) for answer in answers), default=0.0)


def _f1(said: list[str], right: list[str]) -> float:
    shared = (Counter(said) & Counter(right)).total()
    return 2 * shared / (len(said) + len(right)) if shared else 0.0
