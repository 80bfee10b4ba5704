"""Comparing two answers: equal after normalisation, one within the other, or different."""

from __future__ import annotations

import re
import string
from collections.abc import Iterable
from typing import Literal

Agreement = Literal["same", "nested", "other"]

_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(answer: str) -> str:
    """Return the form in which CKL compares answers: lower case, without punctuation, articles and extra spaces."""
    return " ".join(_ARTICLES.sub(" ", answer.lower().translate(_PUNCTUATION)).split())


def agreement(answer: str, others: Iterable[str]) -> Agreement:
    """Return how an answer agrees best with one of the others.

    `nested`: all words of one are in the other, as in "Johnson" and "Boris Johnson". Rules cannot tell whether these
    are one answer or two.
    """
    mine = normalised(answer).split()
    found: Agreement = "other"
    for other in others:
        theirs = normalised(other).split()
        if mine == theirs:
            return "same"
        if set(mine) <= set(theirs) or set(theirs) <= set(mine):
            found = "nested"
    return found
