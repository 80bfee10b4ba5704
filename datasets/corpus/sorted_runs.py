"""Runs: files of staged documents, sorted by period and order, in row groups small enough to read separately."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from ticlm.platform.core.settings import Settings
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


class Group(Settings):
    """A row group of a staged run: documents of one period, whose places in its order are from `low` to `high`."""

    run: str
    group: int
    period: str
    documents: int
    bytes: int
    low: int
    high: int


class RunWriter:
    """Collects a run, compressed, in memory. `save` writes it and returns its row groups."""

    def __init__(self, path: str) -> None:
        self.path = path
        self._groups: list[Group] = []
        self._sink = io.BytesIO()
        self._out = pq.ParquetWriter(
            self._sink, SCHEMA, compression="zstd", compression_level=1, use_dictionary=["source", "host"]
        )

    def write(self, period: str, rows: Sequence[Row]) -> None:
        """Add documents of a period; in its order, they come after those that were added before."""
        for some in _cut(rows):
            arrays = [pa.array(values, field.type) for values, field in zip(zip(*some), SCHEMA)]
            self._out.write_table(pa.Table.from_arrays(arrays, schema=SCHEMA), row_group_size=len(some))
            self._groups.append(
                Group(
                    run=self.path,
                    group=len(self._groups),
                    period=period,
                    documents=len(some),
                    bytes=sum(len(row.text.encode()) for row in some),
                    low=some[0].order,
                    high=some[-1].order,
                )
            )

    def save(self, store: Store) -> list[Group]:
        self._out.close()
        store.write(self.path, self._sink.getvalue())
        return self._groups


def _cut(rows: Sequence[Row]) -> Iterator[Sequence[Row]]:
    begin = size = 0
    for at, row in enumerate(rows, 1):
        size += len(row.text)
        if size >= GROUP_BYTES or at == len(rows):
            yield rows[begin:at]
            begin, size = at, 0
