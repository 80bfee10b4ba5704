"""Row makers: how a stream of tokenized documents becomes the rows of a corpus.

A stream is the tokens of many documents, one after another, with the end of text after each one and nowhere else. The
recipe's `rows` names the maker; the objective of a study reads the columns that it writes (`core/row_columns.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from ticlm.core.corpus import TokenizerInfo
from ticlm.core.errors import InputError
from ticlm.core.row_columns import INPUTS, TARGETS, TOKENS
from ticlm.core.seeds import random_numbers
from ticlm.core.settings import Settings
from ticlm.core.token_rows import Column, Tokens, dtype_for

if TYPE_CHECKING:
    from ticlm.datasets.corpus.salient.marking import Marking

PAD = "<pad>"
"""The padding token of a tokenizer that is trained for rows with padding; its id is 0, as in T5."""
BLOCK = 1 << 20
"""Most tokens of a column, padding included, that are made at once."""


class RowCount(NamedTuple):
    """How many rows a stream makes, the tokens in them without padding, and the tokens of text that are in no row, by
    reason."""

    rows: int
    tokens: int
    left: Mapping[str, int]


def _no_tags() -> Iterator[Tokens]:
    raise ValueError("the documents of this stream were not marked")


@dataclass(frozen=True)
class TokenStream:
    """A stream of `tokens` tokens with their ends of text. `blocks` reads it from its beginning, in blocks [n] that end
    anywhere; `key` seeds whatever a maker draws at random, and is another one for every stream. If the maker has
    documents marked, `tags` reads a tag for each token, in the same blocks. `sentinels` are the ids of its own."""

    tokens: int
    blocks: Callable[[], Iterator[Tokens]]
    end_of_text: int
    key: int
    tags: Callable[[], Iterator[Tokens]] = _no_tags
    sentinels: tuple[int, ...] = ()


class RowMaker(Protocol):
    """Makes rows from a stream. What it makes follows from the stream and its key alone, so that the same documents
    give the same bytes however the work is cut.

    T5's span corruption fits this as one more class: its `sentinels` are `<extra_id_0>` …, which its `special_tokens`
    add to those of `PrefixLM`, its `columns` are `inputs` and `targets`, its `rows` draw the spans of each piece with
    `key`. It joins `AnyRowMaker` (`recipe.py`), and its `left_out`, if new, `pack.TOKEN_REASONS`.
    """

    left_out: ClassVar[tuple[str, ...]]
    """The reasons under which a period counts the tokens that are in no row."""
    sentinels: ClassVar[tuple[str, ...]]
    """Tokens that the tokenizer must have, and whose ids a stream has."""

    @property
    def identity(self) -> Any:
        """Return what determines the rows."""
        ...

    @property
    def external_inputs(self) -> str | None:
        """Return a line on what comes from outside the timeline; None if nothing does."""
        ...

    @property
    def special_tokens(self) -> tuple[str, ...]:
        """Tokens that stand in no text, which a tokenizer trained for the corpus gets before the end of text."""
        ...

    def marking(self, length: int) -> Marking | None:
        """Return how documents are marked before they are tokenized, in a recipe of this `length`; None if not."""
        ...

    def columns(self, length: int, tokenizer: TokenizerInfo, pad: int | None) -> tuple[Column, ...]:
        """Return the columns of rows for a study of this `length`; `pad` is the tokenizer's padding token, if any.

        Raises InputError if the tokenizer lacks a token that the rows need.
        """
        ...

    def beside(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """Return the columns that `rows` yields after the columns of the shards, for data that is kept beside each
        row."""
        ...

    def count(self, stream: TokenStream, columns: tuple[Column, ...]) -> RowCount:
        """Count the rows that `rows` makes of the stream."""
        ...

    def rows(self, stream: TokenStream, columns: tuple[Column, ...]) -> Iterator[dict[str, Tokens]]:
        """Yield the stream's rows in order, in blocks of arrays [rows, length], one for each column."""
        ...


class Unmarked(Settings):
    """Base of makers that need the tokens alone, and keep nothing beside their rows."""

    sentinels: ClassVar[tuple[str, ...]] = ()

    @property
    def identity(self) -> Settings:
        return self

    @property
    def external_inputs(self) -> None:
        return None

    def marking(self, length: int) -> None:
        return None

    def beside(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        return ()


class PackedTokens(Unmarked):
    """Rows of `length` + 1 tokens cut from the stream without regard to documents, and without padding, for a causal
    model. The last tokens of a stream, too few for a row, are left out."""

    kind: Literal["packed"] = "packed"
    left_out: ClassVar[tuple[str, ...]] = ("tokens of tails",)

    @property
    def special_tokens(self) -> tuple[str, ...]:
        return ()

    def columns(self, length: int, tokenizer: TokenizerInfo, pad: int | None) -> tuple[Column, ...]:
        return (Column(name=TOKENS, length=length + 1, dtype=dtype_for(tokenizer.vocab_size)),)

    def count(self, stream: TokenStream, columns: tuple[Column, ...]) -> RowCount:
        (column,) = columns
        rows, left = divmod(stream.tokens, column.length)
        return RowCount(rows, rows * column.length, {self.left_out[0]: left})

    def rows(self, stream: TokenStream, columns: tuple[Column, ...]) -> Iterator[dict[str, Tokens]]:
        (column,) = columns
        rest = np.empty(0, column.dtype)
        for block in stream.blocks():
            joined = np.concatenate([rest, block])
            whole = len(joined) // column.length
            yield {column.name: joined[: whole * column.length].reshape(whole, column.length)}
            rest = joined[whole * column.length :]


class PrefixLM(Unmarked):
    """Rows for an encoder–decoder, as in T5's prefix language modelling (Raffel et al., 2020, section 3.3.1).

    A document is cut into pieces of `length` tokens, the last one shorter. Each piece of n tokens is split at a random
    place: the first 1 to n − 1 tokens, every number equally likely, are `inputs`, the others `targets`. Both end with
    the end of text and are filled up with padding to `length` tokens. A piece of one token cannot be split and is left
    out.
    """

    kind: Literal["prefix-lm"] = "prefix-lm"
    left_out: ClassVar[tuple[str, ...]] = ("tokens of pieces too short to split",)

    @property
    def special_tokens(self) -> tuple[str, ...]:
        return (PAD,)

    def columns(self, length: int, tokenizer: TokenizerInfo, pad: int | None) -> tuple[Column, ...]:
        if length < 2:
            raise InputError(f"length must be at least 2 for rows: {self.kind}, got {length}")
        return padded(self.kind, {INPUTS: length, TARGETS: length}, tokenizer, pad)

    def count(self, stream: TokenStream, columns: tuple[Column, ...]) -> RowCount:
        rows = text = left = 0
        for _, _, sizes in _pieces(stream, columns[0].length):
            split = sizes > 1
            rows += int(split.sum())
            text += int(sizes[split].sum())
            left += int(sizes[~split].sum())
        tokens = text + 2 * rows  # an end of text after inputs and targets each
        return RowCount(rows, tokens, {self.left_out[0]: left})

    def rows(self, stream: TokenStream, columns: tuple[Column, ...]) -> Iterator[dict[str, Tokens]]:
        length, pad = columns[0].length, columns[0].pad
        assert pad is not None
        first = 0
        for tokens, starts, sizes in _pieces(stream, length):
            # number i of the stream's key: cuts of the stream into blocks change no draw
            drawn = random_numbers(len(sizes), stream.key, first)
            first += len(sizes)
            split = sizes > 1
            starts, sizes, drawn = starts[split], sizes[split], drawn[split]
            prefix = 1 + (drawn % (sizes - 1).astype(np.uint64)).astype(np.int64)
            at_once = max(1, BLOCK // length)
            for low in range(0, len(starts), at_once):
                some = slice(low, low + at_once)
                begin, middle, rest = starts[some], prefix[some], (sizes - prefix)[some]
                yield {
                    INPUTS: filled(tokens, begin, middle, length, stream.end_of_text, pad),
                    TARGETS: filled(tokens, begin + middle, rest, length, stream.end_of_text, pad),
                }


def padded(kind: str, lengths: Mapping[str, int], tokenizer: TokenizerInfo, pad: int | None) -> tuple[Column, ...]:
    """Return columns of these lengths that are filled up with padding. Raises InputError if the tokenizer has none that
    is in no text."""
    if pad is None or pad == tokenizer.end_of_text:
        what = "no padding token (pad_token)" if pad is None else "one token for padding and the end of text"
        raise InputError(f"rows: {kind} needs padding that is in no text, and {tokenizer.name} has {what}")
    dtype = dtype_for(tokenizer.vocab_size)
    return tuple(Column(name=name, length=length, dtype=dtype, pad=pad) for name, length in lengths.items())


def _pieces(stream: TokenStream, size: int) -> Iterator[tuple[Tokens, NDArray[np.int64], NDArray[np.int64]]]:
    """Cut every document into pieces of at most `size` tokens. Yield (tokens [n], starts int64[pieces], sizes
    int64[pieces]) of whole documents; piece i is tokens[starts[i] : starts[i] + sizes[i]]. Empty documents have no
    piece."""
    rest: list[Tokens] = []
    for block in stream.blocks():
        ends = np.flatnonzero(block == stream.end_of_text)
        if not len(ends):
            rest.append(block)
            continue
        tokens = np.concatenate([*rest, block[: ends[-1] + 1]])
        rest = [block[ends[-1] + 1 :]]
        ends = np.flatnonzero(tokens == stream.end_of_text)
        begins = np.concatenate([[0], ends[:-1] + 1])
        lengths = ends - begins
        counts = -(-lengths // size)
        number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)  # of a piece in its document
        starts = np.repeat(begins, counts) + number * size
        yield tokens, starts, np.minimum(size, np.repeat(ends, counts) - starts)


def filled(
    tokens: Tokens,
    starts: NDArray[np.int64],
    sizes: NDArray[np.int64],
    length: int,
    end_of_text: int,
    pad: int,
) -> Tokens:
    """Return rows [n, length]: `sizes[i]` tokens from `starts[i]` on, the end of text, and padding."""
    at = np.arange(length)
    rows: Tokens = tokens[np.minimum(starts[:, None] + at, len(tokens) - 1)]
    rows[at >= sizes[:, None]] = pad
    rows[np.arange(len(rows)), sizes] = end_of_text
    return rows
