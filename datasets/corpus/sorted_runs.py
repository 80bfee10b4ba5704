"""Runs: files of staged documents, sorted by period and order, in row groups small enough to read separately."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ticlm.platform.core.store import Store

GROUP_BYTES = 1 << 20


class Row(NamedTuple):
    split: int
    order: int
    tie: int
    source: str
    host: str
    text: str


SCHEMA = pa.schema(
    [
        ("split", pa.int8()),
        ("order", pa.uint64()),
        ("tie", pa.uint64()),
        ("source", pa.string()),
        ("host", pa.string()),
        ("text", pa.large_string()),
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
    """Writes a run, compressed, a row group at a time. `save` ends it and returns its row groups."""

    def __init__(self, store: Store, path: str) -> None:
        self.store, self.path = store, path
        self._groups: list[Group] = []
        self._aside = store.path(path)
        if store.is_local:  # elsewhere, an object is there when it is closed
            folder, name = os.path.split(store.path(path))
            self._aside = f"{folder}/.writing-{uuid.uuid4().hex[:8]}-{name}"
            os.makedirs(folder, exist_ok=True)
        self._file = store.fs.open(self._aside, "wb")
        self._out = pq.ParquetWriter(
            self._file, SCHEMA, compression="zstd", compression_level=1, use_dictionary=["source", "host"]
        )

    def write(self, period: str, rows: Sequence[Row]) -> None:
        """Add documents of a period; in its order, they come after those that were added before."""
        for some in _cut(rows):
            arrays = [pa.array(values, field.type) for values, field in zip(zip(*some), SCHEMA)]
            self._out.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA), row_group_size=len(some))
            size = sum(len(row.text.encode()) for row in some)
            number = len(self._groups)
            self._groups.append(Group(self.path, number, period, len(some), size, some[0].order, some[-1].order))

    def save(self) -> list[Group]:
        self._out.close()
        if self.store.is_local:
            self._file.flush()
            os.fsync(self._file.fileno())
            os.replace(self._aside, self.store.path(self.path))
        self._file.close()
        return self._groups


def _cut(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    begin = size = 0
    for at, row in enumerate(rows, 1):
        size += len(row.text)
        if size >= GROUP_BYTES or at == len(rows):
            yield rows[begin:at]
            begin, size = at, 0
