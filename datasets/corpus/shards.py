"""Shards: the rows of a set of a period in random order, in files of equal size that are written apart.

The place of a row follows from the seed, the period, the split and the number of rows. So a task makes all rows of a
set from its streams and keeps those of its own shards: nothing is sorted on a disk, and memory holds SHARDS_AT_ONCE.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ticlm.core.corpus import CorpusInfo
from ticlm.core.fingerprint import hash64
from ticlm.core.mixture import Split
from ticlm.core.seeds import random_numbers
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.core.token_rows import ROW_GROUP, SPANS, ShardFile, Tokens, spans_to_parquet, to_parquet
from ticlm.datasets.corpus.parts import period_folder
from ticlm.datasets.corpus.row_makers import RowMaker, TokenStream
from ticlm.datasets.corpus.salient import span_files
from ticlm.datasets.corpus.tokenizers import ids_of

SHARD_BYTES = 64 << 20
"""Bytes of the rows of a shard, before Parquet packs them."""
SHARDS_AT_ONCE = 16
"""Shards of a task: each one reads all tokens of its set, and holds the rows of its shards in memory."""
TASK_BYTES = SHARDS_AT_ONCE * SHARD_BYTES + (1 << 30)
"""Memory of a task that writes more than one shard: their rows, the order of all rows, and one shard as Parquet."""
BLOCK_TOKENS = 1 << 22  # read at a time: 8 MiB of uint16, so memory does not grow with a stream


class Stretch(NamedTuple):
    """Tokens of one set and source in the stream of a part: from byte `start` of the file, `bytes` of them. Of marked
    documents, also their spans: `spans` of them, from number `first_span` of the part on."""

    path: str
    start: int
    bytes: int
    first_span: int = 0
    spans: int = 0


class SourceRows(Settings):
    """The tokens of one source of a set in order, and the rows they make."""

    stretches: tuple[Stretch, ...]
    rows: int


class SetOfRows(Settings):
    """A set of rows of a period, by source; at most `most` of them are chosen."""

    period: str
    split: Split
    sources: dict[str, SourceRows]
    most: int | None

    @property
    def total(self) -> int:
        return sum(source.rows for source in self.sources.values())

    @property
    def chosen(self) -> int:
        return self.total if self.most is None else min(self.total, self.most)

    def write(self, store: Store, folder: str) -> None:
        store.write(_path(folder, self.period, self.split), self.model_dump_json().encode())


class ShardRange(Settings):
    """Shards `first` to `last` (exclusive) of a set of rows, to be written below `into` by one task."""

    period: str
    split: Split
    first: int
    last: int
    into: str


class Written(Settings):
    """The files of a range of shards, the tokens in them, and the files of their rows' spans."""

    period: str
    split: Split
    first: int
    files: tuple[ShardFile, ...]
    tokens: int
    spans: tuple[ShardFile, ...] = ()


def ranges_of(rows: SetOfRows, info: CorpusInfo, into: str) -> list[ShardRange]:
    """Return the tasks that write the shards of a set."""
    shards = -(-rows.chosen // _rows_of_a_shard(info))
    starts = range(0, shards, SHARDS_AT_ONCE)
    ends = (min(first + SHARDS_AT_ONCE, shards) for first in starts)
    return [
        ShardRange(period=rows.period, split=rows.split, first=first, last=last, into=into)
        for first, last in zip(starts, ends)
    ]


def write(store: Store, folder: str, info: CorpusInfo, seed: int, maker: RowMaker, some: ShardRange) -> Written:
    """Write a range of shards of a set whose rows are counted, and return their files."""
    rows = SetOfRows.model_validate(store.read_json(_path(folder, some.period, some.split)))
    columns, size = (*info.columns, *maker.beside(info.columns)), _rows_of_a_shard(info)
    borders = np.cumsum([column.length for column in columns])[:-1]
    # which rows a shard has follows from the seed, period and set: each task draws the same order of all rows
    low, high = some.first * size, min(some.last * size, rows.chosen)
    key = hash64(f"{seed}\0{some.period}\0{some.split}")
    blocks = _blocks_of_rows(store, info, seed, maker, rows)
    values, which = picked(blocks, rows.total, sum(column.width for column in columns), key, low, high)
    names, ends = list(rows.sources), np.cumsum([source.rows for source in rows.sources.values()])
    owner = np.searchsorted(ends, which, side="right")
    named = info.sources is not None and some.split != "train"
    whole = dict(zip((column.name for column in columns), np.split(values.view(columns[0].dtype), borders, 1)))
    files, held = [], 0
    for number, start in enumerate(range(0, high - low, size), some.first):
        mine = {column.name: whole[column.name][start : start + size] for column in info.columns}
        owners = [names[i] for i in owner[start : start + size]] if named else None
        data = to_parquet(mine, info.columns, owners, info.page_checksums)
        count = len(mine[columns[0].name])
        files.append(_stored(store, some, f"{some.split}/part-{number:05d}.parquet", data, count))
        held += sum(mine[c.name].size if c.pad is None else int((mine[c.name] != c.pad).sum()) for c in info.columns)
    spans = _spans(store, rows, some, size, whole[SPANS].copy().view("<i8"), owner) if SPANS in whole else []
    return Written(
        period=some.period, split=some.split, first=some.first, files=tuple(files), tokens=held, spans=tuple(spans)
    )


def _stored(store: Store, some: ShardRange, path: str, data: bytes, rows: int) -> ShardFile:
    store.write(f"{some.into}/{path}", data)
    return ShardFile(path=path, rows=rows, bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _spans(
    store: Store, rows: SetOfRows, some: ShardRange, size: int, numbers: NDArray[np.int64], owner: NDArray[np.int64]
) -> list[ShardFile]:
    """Write the spans of rows, a file for each shard. `numbers` [rows, 2] are a row's first span, counted in its
    source, and how many it has."""
    places = [
        (stretch.path, stretch.first_span, stretch.spans)
        for source in rows.sources.values()
        for stretch in source.stretches
    ]
    in_source = [sum(stretch.spans for stretch in source.stretches) for source in rows.sources.values()]
    before = np.cumsum([0, *in_source])[owner]
    found = span_files.gathered(store, places, numbers[:, 0] + before, numbers[:, 1])
    files = []
    for number, start in enumerate(range(0, len(found), size), some.first):
        mine = found[start : start + size]
        path = f"{some.split}/spans-{number:05d}.parquet"
        files.append(_stored(store, some, path, spans_to_parquet(mine), len(mine)))
    return files


def picked(
    blocks: Iterable[Tokens], total: int, width: int, key: int, low: int, high: int
) -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Return the rows at the places `low` to `high` (exclusive) of the random order of all rows: bytes [n, width], and
    each row's number. `blocks` are all rows by number."""
    which = np.argsort(random_numbers(total, key), kind="stable")[low:high].astype(np.int64)
    places = np.argsort(which)
    wanted = which[places]
    values = np.empty((len(which), width), np.uint8)
    at = begin = 0
    for block in blocks:
        end = int(np.searchsorted(wanted, at + len(block)))
        chosen = np.ascontiguousarray(block[wanted[begin:end] - at])
        values[places[begin:end]] = chosen.view(np.uint8).reshape(-1, width)
        at, begin = at + len(block), end
        if end == len(wanted):
            break
    return values, which


def token_stream(
    store: Store,
    info: CorpusInfo,
    seed: int,
    maker: RowMaker,
    period: str,
    split: Split,
    source: str,
    stretches: Sequence[Stretch],
) -> TokenStream:
    """Return the documents of one source of a split as one stream."""
    little = np.dtype(info.columns[0].dtype).newbyteorder("<")
    tags = [(span_files.tags_of(s.path), s.start // little.itemsize, s.bytes // little.itemsize) for s in stretches]
    return TokenStream(
        tokens=sum(stretch.bytes for stretch in stretches) // little.itemsize,
        blocks=partial(_blocks, store, [stretch[:3] for stretch in stretches], little),
        end_of_text=info.tokenizer.end_of_text,
        key=hash64(f"{seed}\0{period}\0{split}\0{source}\0rows"),
        tags=partial(_blocks, store, tags, np.dtype(np.uint8)),
        sentinels=ids_of(store, maker.sentinels, info.tokenizer.name),
    )


def _blocks(store: Store, stretches: Sequence[tuple[str, int, int]], little: np.dtype[Any]) -> Iterator[Tokens]:
    """Yield the tokens of a stream, or their tags, as arrays [n] of at most BLOCK_TOKENS."""
    for path, start, size in stretches:
        with store.fs.open(store.path(path), "rb") as raw:
            raw.seek(start)
            while size:
                data = raw.read(min(size, BLOCK_TOKENS * little.itemsize))
                size -= len(data)
                yield np.frombuffer(data, little)


def _blocks_of_rows(store: Store, info: CorpusInfo, seed: int, maker: RowMaker, rows: SetOfRows) -> Iterator[Tokens]:
    """Yield all rows of a set, source after source: blocks [n, columns side by side]."""
    for source, held in rows.sources.items():
        stream = token_stream(store, info, seed, maker, rows.period, rows.split, source, held.stretches)
        for block in maker.rows(stream, info.columns):
            yield np.concatenate([block[column.name] for column in (*info.columns, *maker.beside(info.columns))], 1)


def _rows_of_a_shard(info: CorpusInfo) -> int:
    """Return the rows of a shard of about SHARD_BYTES, in whole row groups."""
    return max(1, SHARD_BYTES // sum(column.width for column in info.columns) // ROW_GROUP) * ROW_GROUP


def _path(folder: str, period: str, split: Split) -> str:
    return f"{period_folder(folder, period)}/rows/{split}.json"
