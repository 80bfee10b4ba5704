"""Answers by rules: whether two are the same, and which entity of a passage one is."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ticlm.datasets.text.matching import normalised
from ticlm.datasets.text.spans import Span

_ALL = 0.0  # text2num leaves numbers up to a threshold in words
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_SCALE = re.compile(r"(\d+(?:\.\d+)?) (1000(?:000)*)\b")
_BETWEEN = re.compile(r"(?<!\d)[^\w\s]|[^\w\s](?!\d)|[^\w\s.]")  # all marks but the point within a number


def with_digits(text: str) -> str:
    """Return an English text in lower case with its numbers in digits, without punctuation and articles.

    "Twenty-Eight" and "28" become the same, and so do "sixteenth" and "16th", "2 million" and "2,000,000".
    """
    from text_to_num import alpha2digit

    plain = _THOUSANDS.sub("", text.lower())
    plain = " ".join(_BETWEEN.sub(" ", plain).split())
    plain = _SCALE.sub(_scaled, str(alpha2digit(plain, "en", _ALL)))
    return " ".join(word for word in plain.split() if word not in ("a", "an", "the"))


def same(first: str, second: str) -> bool:
    """Return whether two answers are the same after normalisation: as they are scored, or with numbers in digits."""
    return normalised(first) == normalised(second) or with_digits(first) == with_digits(second)


def span_of(answer: str, text: str, spans: Iterable[Span]) -> Span | None:
    """Return the first span of a text that the answer names, compared in the way that answers are scored; None if it
    names none."""
    wanted = normalised(answer)
    return next((span for span in spans if wanted and normalised(text[span.begin : span.end]) == wanted), None)


def _scaled(match: re.Match[str]) -> str:
    return f"{float(match[1]) * int(match[2]):.6f}".rstrip("0").rstrip(".")
