"""Answers by rules: whether two are the same, and which entity of a passage one is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ticlm.datasets.text.matching import normalised
from ticlm.datasets.text.spans import Span
from ticlm.datasets.text.spelling import alike, folded, without

_ALL = 0.0  # text2num leaves numbers up to a threshold in words
_SCALE = re.compile(r"(?<![\d.,:/])(\d+(?:\.\d+)?) (1000(?:000)*)\b")
_MARK = re.compile(r"[^\w\s]")


def with_digits(text: str) -> str:
    """Return an English text in lower case with its numbers in digits, without articles and without punctuation other
    than that of numbers.

    "Twenty-Eight" and "28" become the same, and so do "sixteenth" and "16th", "2 million" and "2,000,000".
    """
    from text_to_num import alpha2digit

    plain = " ".join(without(_MARK, folded(text.lower()), " ").split())
    plain = _SCALE.sub(_scaled, str(alpha2digit(plain, "en", _ALL)))
    return " ".join(word for word in plain.split() if word not in ("a", "an", "the"))


def same(first: str, second: str) -> bool:
    """Return whether two answers are the same: as they are scored, with numbers in digits, or but for their spelling
    ("Bahá'í" and "Baháʼí")."""
    if normalised(first) == normalised(second):
        return True
    return alike(with_digits(first).split(), with_digits(second).split())


def span_of(answer: str, text: str, spans: Iterable[Span]) -> Span | None:
    """Return the first span of a text that the answer names, compared in the way that answers are scored, apart from
    characters that look alike; None if it names none."""
    wanted = normalised(folded(answer))
    return next((span for span in spans if wanted and normalised(folded(text[span.begin : span.end])) == wanted), None)


def _scaled(match: re.Match[str]) -> str:
    return f"{float(match[1]) * int(match[2]):.6f}".rstrip("0").rstrip(".")
