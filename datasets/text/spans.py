"""Spans of a text: which of them stand when they overlap, and the masked form of salient span masking and its inverse.

`mask` follows T5's format (Guu et al., 2020; Raffel et al., 2020): each span becomes a sentinel in the input, and the
target lists the spans behind their sentinels and ends with one sentinel more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

MOST = 99
"""Spans that one text can have: T5 has 100 sentinels, and the last one closes the target."""
SENTINELS = tuple(f"<extra_id_{number}>" for number in range(MOST + 1))
_SENTINEL = re.compile(r"<extra_id_([0-9]+)>")
_OPEN, _CLOSE = "\ufdd0", "\ufdd1"  # code points that Unicode keeps for internal use
MARKS = (_OPEN, _CLOSE)
"""Characters that stand around each span in a text that carries its spans (`inline`)."""


class Span(NamedTuple):
    """The characters [begin, end) of a text, and what kind of thing they name; "" if that is not known."""

    begin: int
    end: int
    label: str = ""


def apart(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, without empty ones; where spans overlap, the longest stays, then the first."""
    found: list[Span] = []
    cluster: list[Span] = []  # spans that hang together by overlaps; almost always one
    end = 0
    for span in sorted(span for span in spans if span.begin < span.end):
        if span.begin >= end:
            found += _longest(cluster)
            cluster = []
        cluster.append(span)
        end = max(end, span.end)
    return found + _longest(cluster)


def stripped(text: str, spans: Iterable[Span]) -> list[Span]:
    """Return the spans without the white space at their ends, and then `apart`."""
    found = []
    for begin, end, label in spans:
        inner = text[begin:end]
        begin += len(inner) - len(inner.lstrip())
        found.append(Span(begin, begin + len(inner.strip()), label))
    return apart(found)


def mask(text: str, spans: Iterable[Span]) -> tuple[str, str]:
    """Return (input, target): the text with a sentinel in the place of each span, and the spans behind their sentinels.

    Raises ValueError for more than MOST spans, and for a text that spells a sentinel.
    """
    if found := _SENTINEL.search(text):
        raise ValueError(f"the text spells the sentinel {found[0]}")
    kept = apart(spans)
    if len(kept) > MOST:
        raise ValueError(f"{len(kept)} spans; a text can have at most {MOST}")
    shown, hidden, at = [], [], 0
    for sentinel, span in zip(SENTINELS, kept, strict=False):
        shown += [text[at : span.begin], sentinel]
        hidden.append(f"{sentinel} {text[span.begin : span.end]} ")
        at = span.end
    return "".join(shown) + text[at:], "".join(hidden) + SENTINELS[len(kept)]


def restore(masked: str, target: str) -> tuple[str, list[Span]]:
    """Return the text and the spans of an (input, target) pair: the inverse of `mask`, without labels.

    The closing sentinel may be missing. Raises ValueError if the two do not fit.
    """
    outside, shown = _split(masked)
    inside, hidden = _split(target)
    if shown != list(range(len(shown))):
        raise ValueError("the input's sentinels are not <extra_id_0>, <extra_id_1>, …")
    if hidden not in (shown, [*shown, len(shown)]):
        raise ValueError("the target's sentinels are not those of the input")
    closed = len(hidden) > len(shown)
    if len(hidden) == len(shown) and shown and not inside[-1].strip():
        raise ValueError("the target ends before its last span")
    if inside[0].strip() or (closed and inside[-1].strip()):
        raise ValueError("the target has text that belongs to no span")
    text, spans = outside[0], []
    for piece, rest in zip(inside[1:], outside[1:], strict=False):
        piece = piece.removeprefix(" ").removesuffix(" ")
        spans.append(Span(len(text), len(text) + len(piece)))
        text += piece + rest
    return text, spans


def inline(text: str, spans: Sequence[Span]) -> str:
    """Return the text with MARKS around each span; the spans must not overlap. Raises ValueError if it has MARKS."""
    if any(mark in text for mark in MARKS):
        raise ValueError("the text has characters that mark spans")
    pieces, at = [], 0
    for begin, end, _ in sorted(spans):
        pieces += [text[at:begin], _OPEN, text[begin:end], _CLOSE]
        at = end
    return "".join(pieces) + text[at:]


def outlined(text: str) -> tuple[str, list[Span]]:
    """Return a text without MARKS, and the spans that they stood around: the inverse of `inline`, without labels."""
    plain, spans, size = [], [], 0
    begin: int | None = None
    for piece in re.split(f"([{_OPEN}{_CLOSE}])", text):
        if piece == _OPEN:
            begin = size
        elif piece == _CLOSE:
            if begin is not None:
                spans.append(Span(begin, size))
            begin = None
        else:
            plain.append(piece)
            size += len(piece)
    return "".join(plain), spans


def plain(text: str) -> str:
    """Return a text without MARKS."""
    return text.replace(_OPEN, "").replace(_CLOSE, "")


def _longest(cluster: Sequence[Span]) -> list[Span]:
    kept: list[Span] = []
    for span in sorted(cluster, key=lambda span: (span.begin - span.end, span.begin, span.label)):
        if all(span.end <= other.begin or other.end <= span.begin for other in kept):
            kept.append(span)
    return sorted(kept)


def _split(text: str) -> tuple[list[str], list[int]]:
    """Return the pieces of text between sentinels, and the sentinels' numbers."""
    parts = _SENTINEL.split(text)
    return parts[::2], [int(number) for number in parts[1::2]]
