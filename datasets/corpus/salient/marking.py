"""Marking: the tokens of a text with a tag for each one, which says where its title and its spans are.

Title, spans and the text between them are encoded apart, so that no token reaches over the border of a span. A space
before a span belongs to its tokens, as it does in the words of a byte-level BPE.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint, hash64
from ticlm.core.settings import Settings
from ticlm.core.token_rows import RowSpan, Tokens
from ticlm.datasets.text.spans import Span
from ticlm.datasets.text.taggers import AnyTagger

Tags = Tokens
"""uint8, one for each token."""
OUTSIDE, TITLE, BEGIN, INSIDE, LONG = range(5)
"""Tags of tokens: plain text, the title, the first one of a span, its others, and all of a span that is too long."""
ENDINGS = (".", "!", "?", "…")
_FORGED = "<extra_id_"
Pieces = list[tuple[int, str]]


class TokenEncoder(Protocol):
    """Encodes texts, as `tokenizers.StreamEncoder` does."""

    end_of_text: int
    dtype: np.dtype[Any]

    def ids(self, texts: Sequence[str]) -> list[list[int]]: ...


class Marking(Settings):
    """How the documents of a corpus are marked. A span of more than `longest` tokens fits no target.

    `expected` is the hash of the tagger's identity where the build began, and `masked` the share of spans to mask.
    """

    tagger: AnyTagger
    title: bool
    longest: int
    expected: str
    masked: float = 1.0


@lru_cache(maxsize=1)
def _check(marking: Marking) -> None:
    """Raise InputError if this machine has another pipeline under the tagger's name."""
    here = type(marking.tagger).model_validate(marking.tagger.model_dump())  # without what was found elsewhere
    if fingerprint(here.identity) != marking.expected:
        raise InputError("rows.tagger: this machine has another pipeline of this name; install the same one everywhere")


class Marked(NamedTuple):
    """A marked text: its tokens and their tags, with the end of text, and its spans in order."""

    tokens: Tokens
    tags: Tags
    spans: list[RowSpan]


def marked(marking: Marking, texts: Sequence[str], encoder: TokenEncoder) -> list[Marked]:
    """Tag and encode texts. Raises InputError if the tagger is another one here than where the build began."""
    _check(marking)
    found = [_pieces(marking, text, spans) for text, spans in marking.tagger.tagged(texts)]
    ids = iter(encoder.ids([part for pieces, _ in found for _, piece in pieces for part in _without_sentinels(piece)]))
    done = []
    for pieces, spans in found:
        encoded = [(tag, [token for _ in _without_sentinels(piece) for token in next(ids)]) for tag, piece in pieces]
        done.append(_joined(marking, encoded, spans, encoder))
    return done


def title_and_body(text: str) -> tuple[str, str]:
    """Return the first line of a text as it stands before chunks (`Title.`), "" if it is empty, and the rest."""
    first, _, body = text.partition("\n")
    first, body = first.strip(), body.lstrip("\n")
    if not first:
        return "", body
    return first if first.endswith(ENDINGS) else f"{first}.", f" {body}" if body else ""


def _pieces(marking: Marking, text: str, spans: Sequence[Span]) -> tuple[Pieces, list[RowSpan]]:
    """Return a text as tagged pieces, and its spans. Spans that begin in the title are none."""
    pieces: Pieces = []
    body, moved = text, 0
    if marking.title:
        title, body = title_and_body(text)
        moved = len(text) - len(body)
        pieces.append((TITLE, title))
    inside = [Span(begin - moved, end - moved, label) for begin, end, label in spans if begin >= moved]
    if marking.masked < 1:  # by a hash of the text: the same spans wherever it is marked
        most = marking.masked * 2**64
        inside = [span for number, span in enumerate(inside) if hash64(f"masked\0{number}\0{text}") < most]
    at = 0
    for begin, end, _ in inside:
        space = begin > at and body[begin - 1] == " "
        pieces += [(OUTSIDE, body[at : begin - space]), (BEGIN, body[begin - space : end])]
        at = end
    pieces.append((OUTSIDE, body[at:]))
    return pieces, [RowSpan(body[begin:end], label) for begin, end, label in inside]


def _without_sentinels(piece: str) -> Iterator[str]:
    """Cut a piece within each `<extra_id_`, so that no tokenizer reads a sentinel in a text."""
    *heads, last = piece.split(_FORGED)
    before = ""
    for head in heads:
        yield f"{before}{head}<"
        before = _FORGED[1:]
    yield before + last


def _joined(
    marking: Marking, pieces: Sequence[tuple[int, list[int]]], spans: Sequence[RowSpan], encoder: TokenEncoder
) -> Marked:
    tokens: list[int] = []
    tags: list[int] = []
    kept: list[RowSpan] = []
    left = iter(spans)
    for tag, ids in pieces:
        tokens += ids
        if tag != BEGIN:
            tags += [tag] * len(ids)
            continue
        span = next(left)
        if len(ids) > marking.longest:
            tags += [LONG] * len(ids)
        elif ids:
            tags += [BEGIN] + [INSIDE] * (len(ids) - 1)
            kept.append(span)
    return Marked(np.array([*tokens, encoder.end_of_text], encoder.dtype), np.array([*tags, OUTSIDE], np.uint8), kept)
