"""Comparing two answers: equal after normalisation, one within the other, or different."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from ticlm.datasets.text.matching import normalised
from ticlm.datasets.text.spelling import alike, folded

Agreement = Literal["same", "nested", "other"]


def agreement(answer: str, others: Iterable[str]) -> Agreement:
    """Return how an answer agrees best with one of the others; spelling alone makes no difference.

    `nested`: all words of one are in the other, as in "Johnson" and "Boris Johnson". Rules cannot tell whether these
    are one answer or two.
    """
    mine = normalised(folded(answer)).split()
    found: Agreement = "other"
    for other in others:
        theirs = normalised(folded(other)).split()
        if alike(mine, theirs):
            return "same"
        if set(mine) <= set(theirs) or set(theirs) <= set(mine):
            found = "nested"
    return found
