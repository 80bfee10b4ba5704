"""Overlap of questions with contexts, and answers that questions give away (EvolvingQA, section 4.3 and Figure 7)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable

from ticlm.datasets.text.matching import contains

BINS = 10
UNDEFINED = "no content words"
_WORD = re.compile(r"\w+")
_FUNCTION = """
a about after all also an and any are as at be because been before being between both but by can could did do does
during each for from had has have he her his how if in into is it its many more most much no nor not of on one or
other our over s she should so some such t than that the their them then there these they this those through to
under until up was we were what when where which while who whom whose why will with would you your"""
FUNCTION_WORDS = frozenset(_FUNCTION.split())
"""English words that carry no content; one that asks (`who`, `when`) is among them."""


def content_words(text: str) -> list[str]:
    """Return the words of a text that are no function words, in lower case, each once, in their order."""
    return [word for word in dict.fromkeys(_WORD.findall(text.lower())) if word not in FUNCTION_WORDS]


def overlap(question: str, context: str) -> float | None:
    """Return the share, from 0 to 1, of a question's content words that a context has; None if it has none."""
    words = content_words(question)
    if not words:
        return None
    there = set(_WORD.findall(context.lower()))
    return sum(word in there for word in words) / len(words)


def has_answer(text: str, answers: Iterable[str]) -> bool:
    """Return whether one of the answers stands in a text, in any case and with any white space."""
    plain = " ".join(text.split())
    return any(contains(plain, one) for one in (" ".join(answer.split()) for answer in answers) if one)


def answer_in_question(question: str, answers: Collection[str]) -> bool:
    """Return whether a question gives one of its answers away."""
    return has_answer(question, answers)


def histogram(shares: Iterable[float | None]) -> dict[str, int]:
    """Count shares in BINS bins of equal width, written `0.0-0.1`, with those that are None under UNDEFINED; the last
    bin has 1 in it."""
    counts = Counter(None if share is None else min(int(share * BINS + 1e-9), BINS - 1) for share in shares)
    named = {f"{number / BINS:.1f}-{(number + 1) / BINS:.1f}": counts[number] for number in range(BINS)}
    return named | ({UNDEFINED: counts[None]} if counts[None] else {})
