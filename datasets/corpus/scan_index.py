"""The index of a build's scans: what the driver needs of them, in files that tasks write and that it reads in turn.

A scan's summary holds what was counted in one piece of input and a row group for each megabyte of its text. A crawl has
a million of them, so a build never holds more of them than one chunk:

<staging>/index/<chunk>.jsonl             summaries of CHUNK scans, in the order of inputs, without their row groups
<staging>/index/<chunk>.groups.parquet    their row groups, a file's row group for each period
<staging>/index/<chunk>.json              Chunk, written last
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.corpus import staging
from ticlm.datasets.corpus.ledger.counts import Known
from ticlm.datasets.corpus.parts import count_of
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.sorted_runs import Group
from ticlm.datasets.corpus.staging import Scan
from ticlm.datasets.io.documents import Piece

CHUNK = 256
"""Scans of a chunk."""
GROUPS_OF_A_PART = 128
"""Row groups that take as much of the driver's memory as a part."""
GROUPS = pa.schema(
    [
        ("run", pa.string()),
        ("group", pa.int64()),
        ("period", pa.string()),
        ("documents", pa.int64()),
        ("bytes", pa.int64()),
        ("low", pa.uint64()),
        ("high", pa.uint64()),
    ]
)


class Failed(NamedTuple):
    """The path of an input that could not be read to its end, and why."""

    path: str
    why: str


class Chunk(Settings):
    """A chunk of an index: how many row groups of staged text its scans have of each period, and of what size."""

    number: int
    bytes: dict[str, int]
    groups: dict[str, int]


def read_piece(store: Store, folder: str, recipe: CorpusRecipe, known: Known, piece: Piece) -> Failed | None:
    """Read and stage a piece; only what could not be read comes back, the rest is in the scan's summary."""
    found = staging.scan(store, folder, recipe, piece, known)
    return Failed(piece.input.path, found.unread) if found.unread is not None else None


def index_chunk(store: Store, folder: str, task: tuple[int, Sequence[str]]) -> Chunk:
    """Write a chunk of the index, given its number and the names of its scans, unless it exists, and return it."""
    number, keys = task
    path = f"{folder}/index/{number:05d}"
    if store.exists(f"{path}.json"):
        return Chunk.model_validate(store.read_json(f"{path}.json"))
    lines: list[str] = []
    groups: dict[str, list[Group]] = {}
    for key in keys:
        scan = Scan.model_validate(store.read_json(f"{folder}/scans/{key}.json"))
        for group in scan.groups:
            groups.setdefault(group.period, []).append(group)
        lines.append(scan.model_copy(update={"groups": ()}).model_dump_json())
    store.write(f"{path}.jsonl", "\n".join(lines).encode())
    _write(store, f"{path}.groups.parquet", groups)
    chunk = Chunk(
        number=number,
        bytes={label: sum(group.bytes for group in groups[label]) for label in sorted(groups)},
        groups={label: len(groups[label]) for label in sorted(groups)},
    )
    store.write(f"{path}.json", chunk.model_dump_json().encode())
    return chunk


class ScanIndex(Iterable[Scan]):
    """The index of all scans of a build; iterating it gives their summaries, in the order of inputs, without groups."""

    def __init__(self, store: Store, folder: str, chunks: Iterable[Chunk]) -> None:
        self.store, self.folder = store, folder
        self.chunks = sorted(chunks, key=lambda chunk: chunk.number)

    def __iter__(self) -> Iterator[Scan]:
        for chunk in self.chunks:
            for line in self.store.read(f"{self.folder}/index/{chunk.number:05d}.jsonl").splitlines():
                yield Scan.model_validate_json(line)

    def parts(self, label: str) -> int:
        """Return the number of parts of a period, or as many as its row groups weigh if most are small."""
        size = sum(chunk.bytes.get(label, 0) for chunk in self.chunks)
        return max(count_of(size), sum(chunk.groups.get(label, 0) for chunk in self.chunks) // GROUPS_OF_A_PART)

    def groups(self, labels: Sequence[str]) -> list[Group]:
        """Return the row groups of these periods, in the order of inputs."""
        found: list[Group] = []
        for chunk in self.chunks:
            if mine := [label for label in labels if label in chunk.bytes]:
                path = f"{self.folder}/index/{chunk.number:05d}.groups.parquet"
                found += (Group(*row) for row in _rows(self.store, path, mine))
        return found


def chunks_of(keys: Sequence[str]) -> list[tuple[int, tuple[str, ...]]]:
    """Return the chunks to index, for the names of all scans."""
    return [(at // CHUNK, tuple(keys[at : at + CHUNK])) for at in range(0, len(keys), CHUNK)]


def _write(store: Store, path: str, rows: Mapping[str, Sequence[Group]]) -> None:
    """Write the rows of each period as a row group; its statistics say which."""
    sink = io.BytesIO()
    with pq.ParquetWriter(sink, GROUPS, compression="zstd") as out:
        for label in sorted(rows):
            arrays = [pa.array(values, field.type) for values, field in zip(zip(*rows[label]), GROUPS)]
            out.write_table(pa.Table.from_arrays(arrays, schema=GROUPS))
    store.write(path, sink.getvalue())


def _rows(store: Store, path: str, labels: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    with store.fs.open(store.path(path), "rb") as raw:
        table = pq.read_table(raw, filters=[("period", "in", list(labels))], use_threads=False)
    yield from zip(*(column.to_pylist() for column in table.columns))
