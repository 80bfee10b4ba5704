"""Packing: a period's token streams into shuffled rows of equal length.

The recipe's row maker makes rows of one stream per set (or per source of a split, if the recipe says `by_source`). The
tokens and the place of a row follow from the documents and the seed alone: a stream may be made in any number of parts,
by any worker.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticlm.datasets.corpus.row_makers import PackedTokens, PrefixLM, RowCount, RowMaker, TokenStream
from ticlm.datasets.corpus.splits import HeldOut
from ticlm.datasets.corpus.staging import SPLITS, DocumentCounts
from ticlm.datasets.corpus.tokenize import Stream
from ticlm.datasets.dedup.settings import DUPLICATE
from ticlm.platform.core import paths
from ticlm.platform.core.accounting import Accounting, Deduplication, Host, Lineage, Overlap, Step
from ticlm.platform.core.corpus import CorpusInfo, PeriodManifest, SplitManifest
from ticlm.platform.core.fingerprint import hash64
from ticlm.platform.core.mixture import Split
from ticlm.platform.core.periods import Period
from ticlm.platform.core.seeds import random_numbers
from ticlm.platform.core.settings import Settings
from ticlm.platform.core.store import Attempt, Store
from ticlm.platform.core.token_rows import ROW_GROUP, ShardFile, Tokens, to_parquet

SHARD_BYTES = 64 << 20
BLOCK_TOKENS = 1 << 22
TAIL, SHORT = PackedTokens.left_out, PrefixLM.left_out
"""Tokens after the last whole row of a stream, and of pieces that cannot be split in two."""
BEYOND = "tokens beyond the held-out rows"
"""Tokens of held-out rows that were not chosen, if the rows of a set are limited."""
TOKEN_REASONS = (TAIL, SHORT, BEYOND)
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


def pack(
    store: Store,
    info: CorpusInfo,
    seed: int,
    held_out: HeldOut,
    maker: RowMaker,
    bundle: Bundle,
) -> PeriodManifest:
    """Write the shards of a period and then its record, and return the manifest in it."""
    attempt = Attempt(store, paths.period(bundle.period.label))
    splits: dict[Split, SplitManifest] = {}
    left = beyond = 0
    for split in (name for first in SPLITS for name in held_out.sets(first)):
        name = f"{seed}\0{bundle.period.label}\0{split}"
        sources = _streams(store, bundle.streams, split, info, name)
        counts = {source: maker.count(stream, info.columns) for source, stream in sources.items()}
        named = info.sources is not None and split != "train"
        most = None if split == "train" else held_out.rows
        written = list(_write(store, attempt.path, info, split, maker, sources, counts, hash64(name), named, most))
        files, tokens = tuple(file for file, _ in written), sum(held for _, held in written)
        sections = [s for stream in bundle.streams for s in stream.sections if s.split == split]
        left += sum(count.left for count in counts.values())
        beyond += sum(count.tokens for count in counts.values()) - tokens
        splits[split] = SplitManifest(
            files=files,
            rows=sum(file.rows for file in files),
            tokens=tokens,
            documents=sum(s.documents for s in sections),
            bytes=sum(s.bytes for s in sections),
        )
    accounting = _accounting(bundle)
    dropped = Counter(bundle.tally.dropped)
    dropped.update({DUPLICATE: sum(d.documents_dropped for d in bundle.deduplication)})
    dropped.update({maker.left_out: left, BEYOND: beyond})
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


def _streams(
    store: Store, streams: Sequence[Stream], split: Split, info: CorpusInfo, name: str
) -> dict[str, TokenStream]:
    """A split's documents of each source as one stream; `name` seeds what is drawn in it."""
    dtype = np.dtype(info.columns[0].dtype)
    found: dict[str, _Stretches] = {}
    for stream in streams:
        at = 0
        for section in stream.sections:
            size = section.tokens * dtype.itemsize
            if section.split == split:
                found.setdefault(section.source, []).append((stream.path, at, size))
            at += size
    return {
        source: TokenStream(
            tokens=sum(size for *_, size in stretches) // dtype.itemsize,
            blocks=partial(_blocks, store, stretches, dtype.newbyteorder("<")),
            end_of_text=info.tokenizer.end_of_text,
            key=hash64(f"{name}\0{source}\0rows"),
        )
        for source, stretches in sorted(found.items())
    }


def _blocks(store: Store, stretches: _Stretches, little: np.dtype[Any]) -> Iterator[Tokens]:
    """The tokens of a stream, a block at a time."""
    for path, start, size in stretches:
        with store.fs.open(store.path(path), "rb") as raw:
            raw.seek(start)
            while size:
                data = raw.read(min(size, BLOCK_TOKENS * little.itemsize))
                size -= len(data)
                yield np.frombuffer(data, little)


def _write(
    store: Store,
    folder: str,
    info: CorpusInfo,
    split: Split,
    maker: RowMaker,
    sources: Mapping[str, TokenStream],
    counts: Mapping[str, RowCount],
    key: int,
    named: bool,
    most: int | None,
) -> Iterator[tuple[ShardFile, int]]:
    """Write the split's rows, shuffled over all its sources, or `most` of them; yield each file and its tokens."""
    columns = info.columns
    blocks = (
        np.concatenate([block[column.name] for column in columns], 1)
        for stream in sources.values()
        for block in maker.rows(stream, columns)
    )
    ends, names = np.cumsum([count.rows for count in counts.values()]), list(counts)
    borders = np.cumsum([column.length for column in columns])[:-1]
    total, width = sum(count.rows for count in counts.values()), sum(column.width for column in columns)
    for number, (values, which) in enumerate(_shuffled(blocks, total, width, key, most)):
        owners = [names[i] for i in np.searchsorted(ends, which, side="right")] if named else None
        parts = np.split(values.view(columns[0].dtype), borders, 1)
        rows = {column.name: part for column, part in zip(columns, parts)}
        data = to_parquet(rows, columns, owners, info.page_checksums)
        path = f"{split}/part-{number:05d}.parquet"
        store.write(f"{folder}/{path}", data)
        held = sum(part.size if c.pad is None else int((part != c.pad).sum()) for c, part in zip(columns, parts))
        yield ShardFile(path=path, rows=len(values), bytes=len(data), sha256=hashlib.sha256(data).hexdigest()), held


def _shuffled(
    blocks: Iterator[Tokens], total: int, width: int, key: int, most: int | None = None
) -> Iterator[tuple[NDArray[np.uint8], NDArray[np.int64]]]:
    """Yield the rows (at most `most`) in random order, a shard at a time: bytes [n, width], and each row's number.

    Rows pass through a local folder with one file per shard, so that memory holds one block and one shard.
    """
    order = np.argsort(random_numbers(total, key), kind="stable").astype(np.int64)[:most]
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
