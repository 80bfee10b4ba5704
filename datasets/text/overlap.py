"""Overlap of questions with passages, and answers that stand in a text (EvolvingQA, section 4.3 and Figure 7)."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ticlm.datasets.text.matching import contains, normalised

_WORD = re.compile(r"\w+")
_FUNCTION = """
a about after all also am an and any are as at be because been before being between both but by can could did do does
doing down during each few for from had has have having he her here hers him his how if in into is it its just many me
more most much my name named no nor not now of off on once one only or other our out over own s same she should so
some such t than that the their them then there these they this those through to too under until up very was we were
what when where which while who whom whose why will with would you your"""
FUNCTION_WORDS = frozenset(_FUNCTION.split())
"""English words that a question has whatever it is about, with the words that ask (`who`, `when`)."""


def content_words(text: str) -> list[str]:
    """Return the words of a text that are no function words, in lower case, each once, in their order."""
    return [word for word in dict.fromkeys(_WORD.findall(text.lower())) if word not in FUNCTION_WORDS]


def overlap(question: str, passage: str) -> float | None:
    """Return the share, from 0 to 1, of a question's content words that a passage has; None if it has none."""
    words = content_words(question)
    if not words:
        return None
    there = set(_WORD.findall(passage.lower()))
    return sum(word in there for word in words) / len(words)


def has_answer(text: str, answers: Iterable[str]) -> bool:
    """Return whether one of the answers stands in a text as whole words.

    Case and white space do not count, nor do punctuation and articles, without which answers are scored.
    """
    plain, bare = " ".join(text.split()), f" {normalised(text)} "
    for answer in (" ".join(answer.split()) for answer in answers):
        said = normalised(answer)
        if (said and f" {said} " in bare) or (answer and contains(plain, answer)):
            return True
    return False
