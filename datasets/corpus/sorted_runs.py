"""Runs: files of staged documents, sorted by period and order, in row groups small enough to read separately."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ticlm.core.store import Store

GROUP_BYTES = 1 << 20
"""Characters of text in a row group, the smallest unit that can be decoded. Small, because a part decodes a group of
each run besides its own documents, and a merge holds one of each run."""


class Row(NamedTuple):
    split: int
    order: int
    tie: int
    source: str
    host: str
    text: str
    key: int = 0  # `Splits.place` of its group or id, if splits are by tokens: `split` is then decided later


SCHEMA = pa.schema(
    [
        ("split", pa.int8()),
        ("order", pa.uint64()),
        ("tie", pa.uint64()),
        ("source", pa.string()),
        ("host", pa.string()),
        ("text", pa.large_string()),
        ("key", pa.uint64()),
    ]
)


class Group(NamedTuple):
    """A row group of a staged run: documents of one period, whose places in its order are from `low` to `high`. A month
    has one for each megabyte of text, so it is a plain tuple."""

    run: str
    group: int
    period: str
    documents: int
    bytes: int
    low: int
    high: int


class RunWriter:
    """Writes a run, compressed, a row group at a time: `groups` are those that are written."""

    def __init__(self, path: str, out: pq.ParquetWriter) -> None:
        self.path, self._out = path, out
        self.groups: list[Group] = []

    def write(self, period: str, rows: Sequence[Row]) -> None:
        """Add documents of a period; in its order, they come after those that were added before."""
        for some in _cut(rows):
            arrays = [pa.array(values, field.type) for values, field in zip(zip(*some), SCHEMA)]
            self._out.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA), row_group_size=len(some))
            size = sum(len(row.text.encode()) for row in some)
            number = len(self.groups)
            self.groups.append(Group(self.path, number, period, len(some), size, some[0].order, some[-1].order))


@contextmanager
def writing_run(store: Store, path: str) -> Iterator[RunWriter]:
    """Write a run. The file exists only if the block ends without an error."""
    with (
        store.writing(path) as file,
        pq.ParquetWriter(
            file, SCHEMA, compression="zstd", compression_level=1, use_dictionary=["source", "host"]
        ) as out,
    ):
        yield RunWriter(path, out)


def _cut(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    begin = size = 0
    for at, row in enumerate(rows, 1):
        size += len(row.text)
        if size >= GROUP_BYTES or at == len(rows):
            yield rows[begin:at]
            begin, size = at, 0


class StagedRuns:
    """Collects documents until they fill a run of `run_bytes` characters, then sorts and writes it; so memory is
    bounded by one run."""

    def __init__(self, store: Store, prefix: str, run_bytes: int) -> None:
        self.store, self.prefix, self.run_bytes = store, prefix, run_bytes
        self.groups: list[Group] = []
        self.sources: set[str] = set()
        self._rows: dict[str, list[Row]] = {}
        self._size = 0
        self._runs = 0

    def add(self, label: str, row: Row) -> None:
        self._rows.setdefault(label, []).append(row)
        self.sources.add(row.source)
        self._size += len(row.text)
        if self._size >= self.run_bytes:
            self.flush()

    def flush(self) -> None:
        if not self._rows:
            return
        with writing_run(self.store, f"{self.prefix}-{self._runs:04d}.parquet") as run:
            for label in sorted(self._rows):
                run.write(label, sorted(self._rows[label], key=lambda row: (row.order, row.tie)))
        self.groups += run.groups
        self._rows, self._size, self._runs = {}, 0, self._runs + 1
