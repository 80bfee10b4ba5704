"""Row makers of pairs: one row for each pair of an input and a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ticlm.core.corpus import TokenizerInfo
from ticlm.core.row_columns import INPUTS, TARGETS, TOKENS
from ticlm.core.token_rows import Column, Tokens, dtype_for
from ticlm.datasets.corpus.row_makers import BLOCK, PAD, RowCount, TokenStream, Unmarked, filled, padded
from ticlm.datasets.text.pairs import as_phrase, as_sentence, parted

LONG_INPUT = "tokens cut from inputs"
LONG_TARGET = "tokens cut from targets"
NO_ROOM = "tokens of pairs whose target fits no row"
Parting = Literal["pairs", "sentences", "phrases"]
PARTS: dict[Parting, Callable[[str], tuple[str, str]]] = {
    "pairs": parted,
    "sentences": as_sentence,
    "phrases": as_phrase,
}
"""What rows are made of -> what cuts the text of a pair into the two that are tokenized apart."""
Ints = NDArray[np.int64]


class _Pairs(Unmarked):
    """Base of makers whose documents are pairs."""

    left_out: ClassVar[tuple[str, ...]] = (LONG_INPUT, LONG_TARGET, NO_ROOM)

    @property
    def parting(self) -> Parting:
        """How the text of a pair is cut into the two that are tokenized apart."""
        return "pairs"


class PairRows(_Pairs):
    """Rows of pairs for an encoder–decoder: an input of at most `inputs` tokens, and a target of at most the recipe's
    `length`, each with its end of text and filled up with padding.

    Of a longer input, the first tokens are read, as in the code released with CKL. A longer target is left out with its
    input, or cut in the same way; what is cut or left out is counted.
    """

    kind: Literal["pairs"] = "pairs"
    inputs: int = Field(gt=1)
    """Length of the inputs in tokens, with their end of text."""
    long_targets: Literal["leave-out", "cut"] = "leave-out"
    """What happens to a pair whose target is longer than the recipe's `length`; CKL's code cuts it."""

    @property
    def special_tokens(self) -> tuple[str, ...]:
        return (PAD,)

    def columns(self, length: int, tokenizer: TokenizerInfo, pad: int | None) -> tuple[Column, ...]:
        return padded(self.kind, {INPUTS: self.inputs, TARGETS: length}, tokenizer, pad)

    def count(self, stream: TokenStream, columns: tuple[Column, ...]) -> RowCount:
        rows = held = 0
        cut, shortened, left = 0, 0, 0
        for block in _blocks(stream):
            given, target, chosen = self._sizes(block, columns)
            rows += int(chosen.sum())
            held += int((given + target + 2)[chosen].sum())  # an end of text behind each
            cut += int((block.given - given)[chosen].sum())
            shortened += int((block.target - target)[chosen].sum())
            left += int((block.given + block.target)[~chosen].sum())
        return RowCount(rows, held, dict(zip(self.left_out, (cut, shortened, left))))

    def rows(self, stream: TokenStream, columns: tuple[Column, ...]) -> Iterator[dict[str, Tokens]]:
        pad = columns[0].pad
        assert pad is not None
        at_once = max(1, BLOCK // max(column.length for column in columns))
        for block in _blocks(stream):
            given, target, chosen = self._sizes(block, columns)
            for some in _slices(np.flatnonzero(chosen), at_once):
                parts = ((block.given_at, given), (block.target_at, target))
                yield {
                    column.name: filled(block.tokens, at[some], sizes[some], column.length, stream.end_of_text, pad)
                    for column, (at, sizes) in zip(columns, parts, strict=True)
                }

    def _sizes(self, block: _PairBlock, columns: tuple[Column, ...]) -> tuple[Ints, Ints, NDArray[np.bool_]]:
        """Return the tokens of each input and of each target in its row, int64[pairs], and which pairs make a row,
        bool[pairs]."""
        inputs, targets = (column.length - 1 for column in columns)
        fits = block.target <= targets
        chosen = np.ones_like(fits) if self.long_targets == "cut" else fits
        return np.minimum(block.given, inputs), np.minimum(block.target, targets), chosen


class SentenceRows(_Pairs):
    """Rows of pairs for a causal model, as in CKL's light-tuning: the sentence `input target.`, filled up with padding
    to `length` + 1 tokens. Every token of it but the first is a label; the padding never is.

    Of a longer sentence, the beginning of the input is cut off. A target that leaves no room for any input is left out
    with it. What is cut or left out is counted. The padding is the tokenizer's; without one, its end of text.
    """

    kind: Literal["sentences"] = "sentences"
    full_stop: bool = True
    """Whether a sentence ends with a full stop; TemporalWiki tunes on `subject relation object` without one, so that
    nothing says where the object ends."""

    def without_meaning(self) -> frozenset[str]:
        return super().without_meaning() | (frozenset({"full_stop"}) if self.full_stop else frozenset())

    @property
    def parting(self) -> Parting:
        return "sentences" if self.full_stop else "phrases"

    @property
    def special_tokens(self) -> tuple[str, ...]:
        return ()

    def columns(self, length: int, tokenizer: TokenizerInfo, pad: int | None) -> tuple[Column, ...]:
        token = tokenizer.end_of_text if pad is None else pad
        return (Column(name=TOKENS, length=length + 1, dtype=dtype_for(tokenizer.vocab_size), pad=token),)

    def count(self, stream: TokenStream, columns: tuple[Column, ...]) -> RowCount:
        rows = held = cut = left = 0
        for block in _blocks(stream):
            given, chosen = self._sizes(block, columns[0])
            rows += int(chosen.sum())
            held += int((given + block.target)[chosen].sum())
            cut += int((block.given - given)[chosen].sum())
            left += int((block.given + block.target)[~chosen].sum())
        return RowCount(rows, held, dict(zip(self.left_out, (cut, 0, left))))

    def rows(self, stream: TokenStream, columns: tuple[Column, ...]) -> Iterator[dict[str, Tokens]]:
        (column,) = columns
        at = np.arange(column.length)
        for block in _blocks(stream):
            given, chosen = self._sizes(block, column)
            for some in _slices(np.flatnonzero(chosen), max(1, BLOCK // column.length)):
                kept, sizes = given[some, None], (given + block.target)[some, None]
                first = (block.given_at + block.given)[some, None] - kept
                places = np.where(at < kept, first + at, block.target_at[some, None] + at - kept)
                tokens = block.tokens[np.minimum(places, len(block.tokens) - 1)]
                yield {column.name: np.where(at < sizes, tokens, np.array(column.pad, column.dtype))}

    def _sizes(self, block: _PairBlock, column: Column) -> tuple[Ints, NDArray[np.bool_]]:
        """Return the tokens of each input in its row, int64[pairs], and which pairs make a row, bool[pairs]."""
        room = column.length - block.target
        return np.minimum(block.given, np.maximum(room, 0)), room > 0


class _PairBlock(NamedTuple):
    """Whole pairs of a stream: `tokens`, and for each pair where its input and its target begin and how many tokens
    they have, without their ends of text, int64[pairs]."""

    tokens: Tokens
    given_at: Ints
    given: Ints
    target_at: Ints
    target: Ints


def _blocks(stream: TokenStream) -> Iterator[_PairBlock]:
    """Cut a stream, in which inputs and targets take turns, into blocks of whole pairs."""
    rest: list[Tokens] = []
    for block in stream.blocks():
        rest.append(block)
        tokens = np.concatenate(rest)
        ends = np.flatnonzero(tokens == stream.end_of_text)
        ends = ends[: len(ends) // 2 * 2]
        if not len(ends):
            continue
        rest = [tokens[ends[-1] + 1 :]]
        starts = np.concatenate([[0], ends[:-1] + 1])
        sizes = ends - starts
        yield _PairBlock(tokens, starts[::2], sizes[::2], starts[1::2], sizes[1::2])


def _slices(places: Ints, at_once: int) -> Iterator[Any]:
    for low in range(0, len(places), at_once):
        yield places[low : low + at_once]
