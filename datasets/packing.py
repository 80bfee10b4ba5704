"""Packing: a period's staged documents into token streams, and the streams into shuffled rows of equal length.

Rows are cut from one stream per split (per source of a split, where a recipe asks for it), without padding. Which
tokens make up a row, and where the row stands, follow from the documents and the seed alone: a stream may be made in
any number of parts, by anyone.
"""

from __future__ import annotations

import functools
import hashlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ticlm.datasets.recipe import hash64
from ticlm.datasets.staging import SPLITS, Span, Tally, collect
from ticlm.datasets.tokenizing import Encoder
from ticlm.platform.mixture import Split
from ticlm.platform.periods import Period
from ticlm.platform.settings import Settings
from ticlm.platform.shards import (
    ROW_GROUP,
    CorpusInfo,
    PeriodManifest,
    ShardFile,
    SplitManifest,
    TokenizerInfo,
    Tokens,
    to_parquet,
)
from ticlm.platform.store import Attempt, Store

SHARD_BYTES = 64 << 20
BLOCK_TOKENS = 1 << 22
TAIL = "tokens of tails"
"""The reason under which a period counts tokens, not documents: those after the last whole row of a stream."""


class Part(Settings):
    """A stretch of one period's documents, to be tokenised by one task."""

    period: str
    number: int
    low: int
    high: int
    bytes: int
    spans: tuple[Span, ...]


class Section(Settings):
    """The tokens of one split (and one source of it) within a part; sections follow one another in its file."""

    split: Split
    source: str
    documents: int
    bytes: int
    tokens: int


class Stream(Settings):
    """A part's tokens, in a file of little-endian ids."""

    path: str
    sections: tuple[Section, ...]


class Bundle(Settings):
    """All that makes up a period: its streams in order, and what was counted when its documents were read."""

    period: Period
    streams: tuple[Stream, ...]
    tally: Tally


def tokenise(store: Store, folder: str, by_source: bool, info: TokenizerInfo, part: Part) -> Stream:
    """The part's tokens, written below `folder`; what stands there already is not made again."""
    path = stream_path(folder, part)
    if store.exists(f"{path}.json"):
        return Stream.model_validate(store.read_json(f"{path}.json"))
    encoder = _encoder(store.root, info)
    sections, blocks = [], []
    for split, source, texts in _sections(collect(store, part.spans, part.low, part.high), by_source):
        mine = list(encoder.stream(_strings(texts)))
        blocks += mine
        size = pc.sum(pc.binary_length(texts)).as_py()
        count = sum(len(block) for block in mine)
        sections.append(Section(split=split, source=source, documents=len(texts), bytes=size, tokens=count))
    little = encoder.dtype.newbyteorder("<")
    store.write(path, b"".join(block.astype(little, copy=False).tobytes() for block in blocks))
    stream = Stream(path=path, sections=tuple(sections))
    store.write(f"{path}.json", stream.model_dump_json().encode())
    return stream


def stream_path(folder: str, part: Part) -> str:
    return f"{folder}/{part.period}-{part.number:05d}.tokens"


def texts_of(store: Store, parts: Sequence[Part], split: Split) -> Iterator[str]:
    """The staged texts of one split in their order, a part in memory at a time."""
    for part in parts:
        for found, _, texts in _sections(collect(store, part.spans, part.low, part.high), by_source=False):
            if found == split:
                yield from _strings(texts)


def pack(store: Store, info: CorpusInfo, seed: int, bundle: Bundle) -> PeriodManifest:
    """Write the period's shards and, last, its record."""
    attempt = Attempt(store, f"periods/{bundle.period.label}")
    splits: dict[Split, SplitManifest] = {}
    tails = 0
    for split in SPLITS:
        sources = _by_source(bundle.streams, split, np.dtype(info.columns[0].dtype).itemsize)
        named = info.sources is not None and split != "train"
        key = hash64(f"{seed}\0{bundle.period.label}\0{split}")
        files = tuple(_write(store, attempt.path, info, split, sources, key, named))
        sections = [s for stream in bundle.streams for s in stream.sections if s.split == split]
        rows = sum(file.rows for file in files)
        tokens = rows * info.columns[0].length
        tails += sum(s.tokens for s in sections) - tokens
        splits[split] = SplitManifest(
            files=files,
            rows=rows,
            tokens=tokens,
            documents=sum(s.documents for s in sections),
            bytes=sum(s.bytes for s in sections),
        )
    dropped = bundle.tally.dropped | ({TAIL: tails} if tails else {})
    manifest = PeriodManifest(period=bundle.period, splits=splits, dropped=dropped, read=bundle.tally.read)
    attempt.publish(manifest.model_dump(mode="json"))
    return manifest


@functools.lru_cache(maxsize=1)  # a Ray worker runs many parts of one corpus
def _encoder(root: str, info: TokenizerInfo) -> Encoder:
    return Encoder(Store(root), info)


def _sections(table: pa.Table, by_source: bool) -> Iterator[tuple[Split, str, pa.ChunkedArray]]:
    for index, split in enumerate(SPLITS):
        mine = table.filter(pc.equal(table["split"], index))
        if not by_source or split == "train":
            if len(mine):
                yield split, "", mine["text"]
            continue
        for source in sorted(pc.unique(mine["source"]).to_pylist()):
            yield split, source, mine.filter(pc.equal(mine["source"], source))["text"]


def _strings(texts: pa.ChunkedArray) -> Iterator[str]:
    for start in range(0, len(texts), 256):
        yield from texts.slice(start, 256).to_pylist()


_Stretches = list[tuple[str, int, int]]  # path, first byte, bytes


def _by_source(streams: Sequence[Stream], split: Split, itemsize: int) -> dict[str, _Stretches]:
    found: dict[str, _Stretches] = {}
    for stream in streams:
        at = 0
        for section in stream.sections:
            size = section.tokens * itemsize
            if section.split == split:
                found.setdefault(section.source, []).append((stream.path, at, size))
            at += size
    return dict(sorted(found.items()))


def _write(
    store: Store, folder: str, info: CorpusInfo, split: Split, sources: dict[str, _Stretches], key: int, named: bool
) -> Iterator[ShardFile]:
    """Write the split's rows, shuffled over all its sources, and yield what was written."""
    (column,) = info.columns
    counts = {source: sum(size for *_, size in s) // column.width for source, s in sources.items()}
    ends, names = np.cumsum(list(counts.values())), list(counts)
    rows = (row for stretches in sources.values() for row in _rows(store, stretches, column.dtype, column.length))
    for number, (values, which) in enumerate(_shuffled(rows, sum(counts.values()), column.width, key)):
        owners = [names[i] for i in np.searchsorted(ends, which, side="right")] if named else None
        data = to_parquet({column.name: values.view(column.dtype)}, info.columns, owners)
        path = f"{split}/part-{number:05d}.parquet"
        store.write(f"{folder}/{path}", data)
        yield ShardFile(path=path, rows=len(values), bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _rows(store: Store, stretches: _Stretches, dtype: str, length: int) -> Iterator[Tokens]:
    """Whole rows [n, length] of a stream, a block at a time; the tail is left."""
    little = np.dtype(dtype).newbyteorder("<")
    rest = np.empty(0, dtype)
    for path, start, size in stretches:
        with store.fs.open(store.path(path), "rb") as raw:
            raw.seek(start)
            while size:
                data = raw.read(min(size, BLOCK_TOKENS * little.itemsize))
                size -= len(data)
                joined = np.concatenate([rest, np.frombuffer(data, little)])
                whole = len(joined) // length
                yield joined[: whole * length].reshape(whole, length)
                rest = joined[whole * length :]


def _shuffled(
    blocks: Iterator[Tokens], total: int, width: int, key: int
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Shard after shard of all rows in a random order (as bytes, [n, width]), and which row each of them was.

    Rows go through a local folder, a file per shard, so that memory holds a block and a shard.
    """
    order = np.argsort(_random(total, key), kind="stable").astype(np.int64)
    place = np.empty_like(order)
    place[order] = np.arange(total)
    size = max(1, SHARD_BYTES // width // ROW_GROUP) * ROW_GROUP
    with tempfile.TemporaryDirectory(prefix="ticlm-") as folder:
        at = 0
        for block in blocks:
            shards = place[at : at + len(block)] // size
            at += len(block)
            for shard in np.unique(shards):
                with open(Path(folder, str(shard)), "ab") as file:
                    file.write(block[shards == shard].tobytes())
        for shard, start in enumerate(range(0, total, size)):
            which = order[start : start + size]
            stored = np.fromfile(Path(folder, str(shard)), np.uint8).reshape(-1, width)  # in the order they came
            yield stored[np.argsort(np.argsort(which))], which


def _random(total: int, key: int) -> NDArray[np.uint64]:
    """A random number for each of `total` rows: SplitMix64 (Steele et al., 2014), which no release of NumPy changes."""
    z: Any = np.uint64(key) + np.arange(1, total + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), np.uint64)
