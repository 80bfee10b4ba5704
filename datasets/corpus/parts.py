"""Parts: ranges of the order of a period, small enough for one task, and the staged documents in them."""

from __future__ import annotations

import io
import itertools
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ticlm.core import paths
from ticlm.core.mixture import Split
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.corpus.ledger.decided import Decided
from ticlm.datasets.corpus.sorted_runs import SCHEMA, Group
from ticlm.datasets.corpus.splits import SPLITS

PART_BYTES = 64 << 20
"""Text of a part. A task holds the documents and the tokens of one part in memory."""
LEAST_PART_BYTES, PARTS_OF_A_PERIOD = 4 << 20, 16
"""A period of less than PARTS_OF_A_PERIOD parts is cut into smaller ones, so that several tasks share it. A part also
decodes a row group of each run."""
END_OF_ORDER = 1 << 64  # places are 64-bit hashes


def period_folder(folder: str, period: str) -> str:
    """Return the folder, below that of the staged files, of all that is made for one period until it is packed."""
    return f"{folder}/{paths.period(period)}"


class GroupRange(NamedTuple):
    """Consecutive row groups of a run, `first` to `last` (inclusive)."""

    run: str
    first: int
    last: int


class DocumentSpan(Settings):
    """A part of a period: its documents whose place in the order is in [low, high), and where they are staged. If
    splits are by tokens, `decided` is the file of the period's."""

    period: str
    number: int
    low: int
    high: int
    bytes: int
    spans: tuple[GroupRange, ...]
    decided: str = ""


class Staged(NamedTuple):
    """Documents of one split in order: lists of their texts, sources and hosts."""

    texts: list[str]
    sources: list[str]
    hosts: list[str]

    def of(self, source: str) -> Staged:
        """Return the documents of one source."""
        mine = [i for i, name in enumerate(self.sources) if name == source]
        return Staged(*([column[i] for i in mine] for column in self))


def parts_of(labels: Sequence[str], groups: Sequence[Group]) -> dict[str, list[DocumentSpan]]:
    """Cut the documents of each period into parts (see `count_of`)."""
    found: dict[str, list[Group]] = {label: [] for label in labels}
    for group in groups:
        if group.period in found:
            found[group.period].append(group)
    return {label: list(_cut(label, mine)) for label, mine in found.items()}


def count_of(size: int) -> int:
    """Return the number of parts of so many bytes: it follows from the size alone, as parts count hosts apart."""
    part = min(PART_BYTES, max(LEAST_PART_BYTES, size // PARTS_OF_A_PERIOD))
    return max(1, -(-size // part))


def _cut(label: str, groups: Sequence[Group]) -> Iterator[DocumentSpan]:
    size = sum(group.bytes for group in groups)
    count = count_of(size)
    held: list[list[Group]] = [[] for _ in range(count)]
    bounds = [END_OF_ORDER * i // count for i in range(count + 1)]
    for group in groups:
        for number in range(bisect_right(bounds, group.low) - 1, bisect_right(bounds, group.high)):
            held[number].append(group)
    for number, (low, high) in enumerate(itertools.pairwise(bounds)):
        yield DocumentSpan(
            period=label, number=number, low=low, high=high, bytes=size // count, spans=_spans(held[number])
        )


def staged(store: Store, part: DocumentSpan) -> Iterator[tuple[Split, Staged]]:
    """Yield the documents of the part by split; a split without documents is left out."""
    table = collect(store, part.spans, part.low, part.high)
    splits = table["split"]
    if part.decided:
        splits = pa.array(Decided.of_bytes(store.read(part.decided)).of(table["key"].to_numpy()))
    for index, split in enumerate(SPLITS):
        mine = table.filter(pc.equal(splits, index))
        if len(mine):
            yield split, Staged(*(mine[name].to_pylist() for name in ("text", "source", "host")))


def weigh(store: Store, folder: str, part: DocumentSpan) -> None:
    """Write the keys and the bytes of the documents of a part into its period's folder, unless they are there."""
    path = _weights(folder, part)
    if store.exists(path):
        return
    table = collect(store, part.spans, part.low, part.high)
    sink = io.BytesIO()
    np.savez(sink, keys=table["key"].to_numpy(), bytes=pc.binary_length(table["text"]).to_numpy().astype(np.int64))
    store.write(path, sink.getvalue())


def weights(store: Store, folder: str, part: DocumentSpan) -> tuple[NDArray[np.uint64], NDArray[np.int64]]:
    """Return what `weigh` wrote: uint64[documents] keys and int64[documents] bytes."""
    with np.load(io.BytesIO(store.read(_weights(folder, part)))) as held:
        return held["keys"], held["bytes"]


def _weights(folder: str, part: DocumentSpan) -> str:
    return f"{period_folder(folder, part.period)}/weights/{part.number:05d}.npz"


def _spans(groups: Sequence[Group]) -> tuple[GroupRange, ...]:
    """Return the places of these row groups. Groups of one range of the order follow one another in a run."""
    numbers: dict[str, list[int]] = {}
    for group in groups:
        numbers.setdefault(group.run, []).append(group.group)
    return tuple(GroupRange(run, min(found), max(found)) for run, found in sorted(numbers.items()))


def collect(store: Store, where: Sequence[GroupRange], low: int, high: int) -> pa.Table:
    """Return the documents of these row groups whose place is in [low, high), in order."""
    tables = []
    for run, first, last in where:
        with store.fs.open(store.path(run), "rb") as raw:
            table = pq.ParquetFile(raw).read_row_groups(list(range(first, last + 1)), use_threads=False)
        within = pc.greater_equal(table["order"], pa.scalar(low, pa.uint64()))
        if high < END_OF_ORDER:
            within = pc.and_(within, pc.less(table["order"], pa.scalar(high, pa.uint64())))
        tables.append(table.filter(within))
    whole = pa.concat_tables(tables) if tables else SCHEMA.empty_table()
    return whole.take(np.lexsort(tuple(whole[name].to_numpy() for name in ("split", "tie", "order"))))
