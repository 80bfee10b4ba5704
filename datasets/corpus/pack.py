"""Packing: a period's token streams into shuffled rows of equal length.

Rows are cut from one stream per set (or per source of a split, if the recipe says `by_source`), without padding. The
tokens and the place of a row follow from the documents and the seed alone: a stream may be made in any number of parts,
by any worker.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticlm.datasets.corpus.splits import HeldOut
from ticlm.datasets.corpus.staging import SPLITS, DocumentCounts
from ticlm.datasets.corpus.tokenize import Stream
from ticlm.datasets.dedup.settings import DUPLICATE
from ticlm.platform.core.accounting import Accounting, Deduplication, Host, Lineage, Overlap, Step
from ticlm.platform.core.corpus import CorpusInfo, PeriodManifest, ShardFile, SplitManifest
from ticlm.platform.core.hashing import hash64
from ticlm.platform.core.mixture import Split
from ticlm.platform.core.periods import Period
from ticlm.platform.core.settings import Settings
from ticlm.platform.core.store import Attempt, Store
from ticlm.platform.core.token_rows import ROW_GROUP, Column, Tokens, to_parquet

SHARD_BYTES = 64 << 20
BLOCK_TOKENS = 1 << 22
TAIL = "tokens of tails"
"""Tokens after the last whole row of a stream."""
BEYOND = "tokens beyond the held-out rows"
"""Tokens of held-out rows that were not chosen, if the rows of a set are limited."""
TOKEN_REASONS = (TAIL, BEYOND)
"""Reasons under which a period counts tokens instead of documents."""
TOP_HOSTS = 100


class Bundle(Settings):
    """All that a period is made of: its streams in order, and what was counted on the way to them."""

    period: Period
    streams: tuple[Stream, ...]
    tally: DocumentCounts
    deduplication: tuple[Deduplication, ...] = ()
    overlap: tuple[Overlap, ...] = ()
    lineage: Lineage = Lineage()


def pack(store: Store, info: CorpusInfo, seed: int, held_out: HeldOut, bundle: Bundle) -> PeriodManifest:
    """Write the shards of a period and then its record, and return the manifest in it."""
    attempt = Attempt(store, f"periods/{bundle.period.label}")
    splits: dict[Split, SplitManifest] = {}
    length = info.columns[0].length
    tails = beyond = 0
    for split in (name for first in SPLITS for name in held_out.sets(first)):
        sources = _by_source(bundle.streams, split, np.dtype(info.columns[0].dtype).itemsize)
        named = info.sources is not None and split != "train"
        most = None if split == "train" else held_out.rows
        key = hash64(f"{seed}\0{bundle.period.label}\0{split}")
        files = tuple(_write(store, attempt.path, info, split, sources, key, named, most))
        sections = [s for stream in bundle.streams for s in stream.sections if s.split == split]
        rows = sum(file.rows for file in files)
        whole = sum(_count(stretches, info.columns[0]) for stretches in sources.values())
        tails += sum(s.tokens for s in sections) - whole * length
        beyond += (whole - rows) * length
        splits[split] = SplitManifest(
            files=files,
            rows=rows,
            tokens=rows * length,
            documents=sum(s.documents for s in sections),
            bytes=sum(s.bytes for s in sections),
        )
    accounting = _accounting(bundle)
    dropped = Counter(bundle.tally.dropped)
    dropped.update({DUPLICATE: sum(d.documents_dropped for d in bundle.deduplication), TAIL: tails, BEYOND: beyond})
    manifest = PeriodManifest(
        period=bundle.period,
        splits=splits,
        dropped={reason: count for reason, count in sorted(dropped.items()) if count},
        read=bundle.tally.read,
        accounting=accounting,
        lineage=bundle.lineage,
    )
    attempt.publish(manifest.model_dump(mode="json"))
    return manifest


def _accounting(bundle: Bundle) -> Accounting:
    steps = bundle.tally.steps
    if found := bundle.deduplication:
        dropped = sum(split.documents_dropped for split in found)
        step = Step(
            name="deduplicate",
            read=sum(split.documents for split in found),
            dropped={DUPLICATE: dropped} if dropped else {},
            edited=sum(split.documents_edited for split in found),
        )
        steps = (*steps, step)
    train = [section for stream in bundle.streams for section in stream.sections if section.split == "train"]
    subsets: Counter[str] = Counter()
    for section in train:
        subsets.update(section.subsets)
    return Accounting(
        steps=steps,
        tokens=sum(section.tokens for section in train),
        subsets=dict(sorted(subsets.items())),
        hosts=largest_hosts([host for section in train for host in section.hosts], TOP_HOSTS),
        deduplication=bundle.deduplication,
        overlap=bundle.overlap,
    )


def largest_hosts(counted: Sequence[Host], most: int) -> tuple[Host, ...]:
    """Add up the counts of each host, and return the `most` hosts with the most tokens, largest first."""
    documents, tokens = Counter[str](), Counter[str]()
    for host in counted:
        documents[host.name] += host.documents
        tokens[host.name] += host.tokens
    largest = sorted(tokens, key=lambda name: (-tokens[name], name))[:most]
    return tuple(Host(name=name, documents=documents[name], tokens=tokens[name]) for name in largest)


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


def _count(stretches: _Stretches, column: Column) -> int:
    """Return how many whole rows the stretches hold."""
    return sum(size for *_, size in stretches) // column.width


def _write(
    store: Store,
    folder: str,
    info: CorpusInfo,
    split: Split,
    sources: dict[str, _Stretches],
    key: int,
    named: bool,
    most: int | None,
) -> Iterator[ShardFile]:
    """Write the rows of a split, shuffled over all its sources (at most `most` of them), and yield each file."""
    (column,) = info.columns
    counts = {source: _count(stretches, column) for source, stretches in sources.items()}
    ends, names = np.cumsum(list(counts.values())), list(counts)
    rows = (row for stretches in sources.values() for row in _rows(store, stretches, column.dtype, column.length))
    for number, (values, which) in enumerate(_shuffled(rows, sum(counts.values()), column.width, key, most)):
        owners = [names[i] for i in np.searchsorted(ends, which, side="right")] if named else None
        data = to_parquet({column.name: values.view(column.dtype)}, info.columns, owners)
        path = f"{split}/part-{number:05d}.parquet"
        store.write(f"{folder}/{path}", data)
        yield ShardFile(path=path, rows=len(values), bytes=len(data), sha256=hashlib.sha256(data).hexdigest())


def _rows(store: Store, stretches: _Stretches, dtype: str, length: int) -> Iterator[Tokens]:
    """Yield the whole rows of a stream, a block [n, length] at a time; the tail is left out."""
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
    blocks: Iterator[Tokens], total: int, width: int, key: int, most: int | None = None
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Yield the rows (at most `most`) in random order, a shard at a time: bytes [n, width], and each row's number.

    Rows pass through a local folder with one file per shard, so that memory holds one block and one shard.
    """
    order = np.argsort(_random(total, key), kind="stable").astype(np.int64)[:most]
    place = np.full(total, -1)
    place[order] = np.arange(len(order))
    size = max(1, SHARD_BYTES // width // ROW_GROUP) * ROW_GROUP
    with tempfile.TemporaryDirectory(prefix="ticlm-") as folder:
        at = 0
        for block in blocks:
            shards = place[at : at + len(block)] // size
            at += len(block)
            for shard in np.unique(shards[shards >= 0]):
                with open(Path(folder, str(shard)), "ab") as file:
                    file.write(block[shards == shard].tobytes())
        for shard, start in enumerate(range(0, len(order), size)):
            which = order[start : start + size]
            stored = np.fromfile(Path(folder, str(shard)), np.uint8).reshape(-1, width)  # in the order they came
            yield stored[np.argsort(np.argsort(which))], which


def _random(total: int, key: int) -> NDArray[np.uint64]:
    """Return `total` random numbers by SplitMix64 (Steele et al., 2014), which no release of NumPy changes."""
    z: Any = np.uint64(key) + np.arange(1, total + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), np.uint64)
