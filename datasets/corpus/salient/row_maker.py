"""Salient spans: rows for an encoder–decoder whose targets are the entities and dates of a text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from ticlm.core.corpus import TokenizerInfo
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.row_columns import INPUTS, TARGETS
from ticlm.core.settings import Settings
from ticlm.core.token_rows import SPANS, Column, Tokens
from ticlm.datasets.corpus.row_makers import BLOCK, PAD, RowCount, TokenStream, padded
from ticlm.datasets.corpus.salient.marking import BEGIN, INSIDE, LONG, TITLE, Marking, Tags
from ticlm.datasets.text.spans import MOST, SENTINELS
from ticlm.datasets.text.taggers import AnyTagger

NO_SPAN = "tokens of chunks without a span"
TOO_LONG = "tokens of spans longer than the targets"
LONG_TITLE = "tokens of documents whose title fills the inputs"
BESIDE_TARGET = 3
"""Tokens of targets beside those of a single span: its sentinel, the closing sentinel and the end of text."""
Ints = NDArray[np.int64]


class SalientSpans(Settings):
    """Rows of salient span masking (CKL, section 4; EvolvingQA, section 3): named entities and dates are masked.

    A document is cut into chunks, greedily, at token borders and never inside a span: a chunk ends where the next token
    would make its inputs longer than `inputs`, its targets longer than the recipe's `length`, or its spans more than
    99. In `inputs`, each span is one sentinel, from `<extra_id_0>` on; `targets` are the spans behind their sentinels
    and one sentinel more. Both end with the end of text and are filled up with padding. A chunk without a span is left
    out. A chunk ends before a span that fits no target, which is left out too.
    """

    kind: Literal["salient-spans"] = "salient-spans"
    tagger: AnyTagger
    """What finds the spans."""
    inputs: int | None = Field(None, gt=1)
    """Length of the inputs in tokens; by default that of the targets, the recipe's `length`."""
    title: bool = False
    """Whether the first line of a document is its title. It then stands as "Title." before each of its chunks, and is
    never masked."""
    masked: float = Field(1.0, gt=0, le=1)
    """Share of the spans that are masked, chosen by a hash; the others stand in the inputs. All in CKL and EvolvingQA;
    T5-SSM read rows with one span masked (Roberts et al., 2020). A model that never sees an answer does not learn to
    read one."""
    left_out: ClassVar[tuple[str, ...]] = (NO_SPAN, TOO_LONG, LONG_TITLE)
    sentinels: ClassVar[tuple[str, ...]] = SENTINELS

    @property
    def identity(self) -> tuple[Any, ...]:
        """Return what determines the rows: of the tagger its own identity."""
        some = () if self.masked == 1 else (self.masked,)  # corpora were built before there was a choice
        return self.kind, self.tagger.identity, self.inputs, self.title, *some

    @property
    def external_inputs(self) -> str | None:
        """Return the tagger's line on what comes from outside the timeline."""
        return self.tagger.external_inputs

    @property
    def special_tokens(self) -> tuple[str, ...]:
        return (PAD, *SENTINELS)

    def marking(self, length: int) -> Marking:
        expected = fingerprint(self.tagger.identity)
        longest = length - BESIDE_TARGET
        return Marking(tagger=self.tagger, title=self.title, longest=longest, expected=expected, masked=self.masked)

    def columns(self, length: int, tokenizer: TokenizerInfo, pad: int | None) -> tuple[Column, ...]:
        if length <= BESIDE_TARGET:
            raise InputError(f"length must be at least {BESIDE_TARGET + 1} for rows: {self.kind}, got {length}")
        return padded(self.kind, {INPUTS: self.inputs or length, TARGETS: length}, tokenizer, pad)

    def beside(self, columns: tuple[Column, ...]) -> tuple[Column, ...]:
        """Return a column with two int64 for each row: the number of its first span in the stream, and how many."""
        return (Column(name=SPANS, length=16 // np.dtype(columns[0].dtype).itemsize, dtype=columns[0].dtype),)

    def count(self, stream: TokenStream, columns: tuple[Column, ...]) -> RowCount:
        rows = tokens = 0
        left = Counter[str]()
        for block, chunks in _blocks(stream, columns, left):
            rows += len(chunks)
            for chunk in chunks:
                target = int(block.targets_before[chunk.end] - block.targets_before[chunk.begin])
                tokens += chunk.title + chunk.end - chunk.begin + target + 3  # a sentinel, and two ends of text
        return RowCount(rows, tokens, dict(left))

    def rows(self, stream: TokenStream, columns: tuple[Column, ...]) -> Iterator[dict[str, Tokens]]:
        inputs, targets = columns[0], columns[1]
        at_once = max(1, BLOCK // max(inputs.length, targets.length))
        before = 0
        for block, chunks in _blocks(stream, columns, Counter()):
            for low in range(0, len(chunks), at_once):
                yield _rows(stream, block, chunks[low : low + at_once], columns, before)
            before += int(block.spans_before[-1])


class _Chunk(NamedTuple):
    """Units [begin, end) of a block, and the document's title: `title` units from unit `first` on."""

    begin: int
    end: int
    first: int
    title: int


@dataclass(frozen=True)
class _UnitBlock:
    """Whole documents as units: a span, or one token that is in none.

    `starts` [units + 1] says where each unit begins in `tokens`. Before each unit there are `targets_before` tokens of
    targets (the spans' sentinels included) and `spans_before` spans, both [units + 1].
    """

    tokens: Tokens
    tags: Tags
    starts: Ints
    targets_before: Ints
    spans_before: Ints

    @staticmethod
    def of(tokens: Tokens, tags: Tags) -> _UnitBlock:
        first = np.flatnonzero(tags != INSIDE)
        starts = np.append(first, len(tokens))
        is_span = tags[first] == BEGIN
        costs = np.where(is_span, np.diff(starts) + 1, 0)
        return _UnitBlock(tokens, tags, starts, _sums(costs), _sums(is_span))

    def documents(self, end_of_text: int) -> Iterator[tuple[int, int]]:
        """Yield each document's units [begin, end), without its end of text."""
        begin = 0
        for end in np.flatnonzero(self.tokens[self.starts[:-1]] == end_of_text).tolist():
            yield begin, end
            begin = end + 1


def _sums(values: NDArray[Any]) -> Ints:
    """Return int64[n + 1], the sum of the values before each of n places, and of all."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(values, dtype=np.int64)])


def _blocks(
    stream: TokenStream, columns: tuple[Column, ...], left: Counter[str]
) -> Iterator[tuple[_UnitBlock, list[_Chunk]]]:
    """Yield whole documents with their chunks, and count in `left` the tokens that are in none, by reason."""
    rest: list[tuple[Tokens, Tags]] = []
    for tokens, tags in zip(stream.blocks(), stream.tags(), strict=True):
        ends = np.flatnonzero(tokens == stream.end_of_text)
        if not len(ends):
            rest.append((tokens, tags))
            continue
        cut = int(ends[-1]) + 1
        whole = [*rest, (tokens[:cut], tags[:cut])]
        rest = [(tokens[cut:], tags[cut:])]
        block = _UnitBlock.of(np.concatenate([some for some, _ in whole]), np.concatenate([some for _, some in whole]))
        yield block, list(_chunks(block, stream.end_of_text, columns[0].length, columns[1].length, left))


def _chunks(block: _UnitBlock, end_of_text: int, inputs: int, targets: int, left: Counter[str]) -> Iterator[_Chunk]:
    """Cut every document of a block into chunks, and yield those that have a span."""
    kinds = block.tags[block.starts[:-1]]
    titles, long = _sums(kinds == TITLE), np.append(np.flatnonzero(kinds == LONG), len(kinds))
    starts, spent, spans = block.starts, block.targets_before, block.spans_before
    for first, last in block.documents(end_of_text):
        title = int(titles[last] - titles[first])
        room = inputs - 1 - title
        if room < 1:
            left[LONG_TITLE] += int(starts[last] - starts[first])
            continue
        begin, found = first + title, False
        while begin < last:
            if kinds[begin] == LONG:
                left[TOO_LONG] += 1
                begin += 1
                continue
            stop = min(begin + room, last, int(long[np.searchsorted(long, begin)]))
            # the end of text and the closing sentinel stand in the targets too
            end = int(np.searchsorted(spent[begin : stop + 1], spent[begin] + targets - 2, side="right")) - 1
            end = min(end, int(np.searchsorted(spans[begin : stop + 1], spans[begin] + MOST, side="right")) - 1)
            if spans[begin + end] > spans[begin]:
                found = True
                yield _Chunk(begin, begin + end, first, title)
            else:
                left[NO_SPAN] += int(starts[begin + end] - starts[begin])
            begin += end
        left[NO_SPAN] += 0 if found else title


def _rows(
    stream: TokenStream, block: _UnitBlock, chunks: list[_Chunk], columns: tuple[Column, ...], before: int
) -> dict[str, Tokens]:
    """Make the rows of chunks; `before` spans were in earlier blocks."""
    sentinels = np.array(stream.sentinels, columns[0].dtype)
    inputs, targets = (np.full((len(chunks), column.length), column.pad, column.dtype) for column in columns[:2])
    numbers = np.empty((len(chunks), 2), "<i8")
    for row, (begin, end, first, title) in enumerate(chunks):
        starts = block.starts[begin : end + 1]
        spans = np.flatnonzero(np.diff(block.spans_before[begin : end + 1]))
        units = block.tokens[starts[:-1]]
        units[spans] = sentinels[: len(spans)]
        _put(inputs[row], block.tokens[block.starts[first] : block.starts[first] + title], units, stream.end_of_text)
        hidden = [
            part
            for sentinel, span in zip(sentinels, spans)
            for part in (sentinel[None], block.tokens[starts[span] : starts[span + 1]])
        ]
        _put(targets[row], *hidden, sentinels[len(spans)][None], stream.end_of_text)
        numbers[row] = before + block.spans_before[begin], len(spans)
    return {INPUTS: inputs, TARGETS: targets, SPANS: numbers.view(columns[0].dtype)}


def _put(row: Tokens, *parts: Any) -> None:
    *pieces, end_of_text = parts
    filled = np.concatenate(pieces)
    row[: len(filled)] = filled
    row[len(filled)] = end_of_text
