"""Buckets: keyed records that do not fit into memory, split by a hash of the key into files that do.

    <folder>/<writer>/00042.parquet     records of one writer whose keys belong to bucket 42
    <folder>/<writer>.json              their number, written last: without it, the writer did not finish

Records with the same key are in the same bucket, whichever writer wrote them, and each bucket can be processed by a
task of its own: a join without sorting, in bounded memory (the Grace hash join: DeWitt et al. 1984, Implementation
Techniques for Main Memory Database Systems).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import orjson

from ticlm.core.fingerprint import hash64
from ticlm.core.store import Store

HELD_BYTES = 64 << 20
"""Bytes of records that a writer holds before it writes them as a row group."""
Value = Mapping[str, Any]


class Buckets:
    """A set of `count` buckets in a folder of a store."""

    def __init__(self, store: Store, folder: str, count: int) -> None:
        if count < 1:
            raise ValueError(f"count must be at least 1, got {count}")
        self.store, self.folder, self.count = store, folder, count

    def of(self, key: str) -> int:
        """Return the bucket of a key."""
        return hash64(key) % self.count

    def is_written(self, writer: str) -> bool:
        return self.store.exists(f"{self.folder}/{writer}.json")

    def about(self, writer: str) -> dict[str, Any]:
        """Return what a finished writer kept with its records (`BucketWriter.about`)."""
        return dict(self.store.read_json(f"{self.folder}/{writer}.json"))

    @contextmanager
    def writing(self, writer: str, group_bytes: int | None = None) -> Iterator[BucketWriter]:
        """Give a writer for the time of a block, which holds `group_bytes` of records, by default HELD_BYTES, before it
        writes them as a row group. Its records count once the block has ended without an error."""
        self.store.remove(f"{self.folder}/{writer}")  # of one that was interrupted
        into = BucketWriter(self, writer, group_bytes)
        try:
            yield into
            into.close()
        finally:
            into.abandon()

    @contextmanager
    def local(self) -> Iterator[Buckets]:
        """Give these buckets on a local disk: themselves, or a copy that is deleted after the block."""
        if self.store.is_local:
            yield self
            return
        with self.store.local(self.folder) as folder:
            yield Buckets(Store(folder.parent), folder.name, self.count)

    def read(self, number: int, writers: Sequence[str]) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield (key, value) of every record of a bucket: writer by writer, in the order they were added."""
        import pyarrow.parquet as pq

        for writer in writers:
            path = f"{self.folder}/{writer}/{number:05d}.parquet"
            if not self.store.exists(path):
                continue
            with self.store.fs.open(self.store.path(path), "rb") as file:
                for batch in pq.ParquetFile(file).iter_batches(256):  # values may be whole articles
                    for key, value in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()):
                        yield key, orjson.loads(value)

    def read_groups(self, number: int, writer: str) -> Iterator[dict[str, Any]]:
        """Yield the values of one writer's records of a bucket in the order they were added. Of a row group only the
        records are held, as they are written."""
        import pyarrow.parquet as pq

        path = f"{self.folder}/{writer}/{number:05d}.parquet"
        if not self.store.exists(path):
            return
        with self.store.fs.open(self.store.path(path), "rb") as file:
            table = pq.ParquetFile(file)
            for group in range(table.num_row_groups):
                for value in table.read_row_group(group, ["value"]).column(0):
                    yield orjson.loads(value.as_py())


class BucketWriter:
    """Adds records to buckets. It holds at most `group_bytes` before it writes them."""

    def __init__(self, buckets: Buckets, name: str, group_bytes: int | None = None) -> None:
        self._buckets, self._name = buckets, name
        self._most_bytes = HELD_BYTES if group_bytes is None else group_bytes
        self._held: dict[int, tuple[list[str], list[bytes]]] = {}
        self._bytes = 0
        self._files: dict[int, tuple[Any, Any]] = {}
        self.records = 0
        self.about: dict[str, Any] = {}
        """JSON that is kept with the number of records, such as what was left out and why."""

    def add(self, key: str, value: Value) -> None:
        """Add a record. `value` is written as JSON; integers have at most 64 bits."""
        text = bytes(memoryview(orjson.dumps(value)))  # a copy: orjson's own keep the room they were written in
        keys, values = self._held.setdefault(self._buckets.of(key), ([], []))
        keys.append(key)
        values.append(text)
        self.records += 1
        self._bytes += len(text) + len(key)
        if self._bytes > self._most_bytes:
            self._flush()

    def close(self) -> None:
        self._flush()
        for writer, sink in self._files.values():
            writer.close()
            sink.close()
        self._files = {}
        about = {**self.about, "records": self.records}
        store, folder = self._buckets.store, self._buckets.folder
        store.write(f"{folder}/{self._name}.json", json.dumps(about).encode())

    def abandon(self) -> None:
        """Close open files; their records never count."""
        for writer, sink in self._files.values():
            with suppress(Exception):
                writer.close()
            with suppress(Exception):
                sink.close()
        self._files = {}

    def _flush(self) -> None:
        import pyarrow as pa

        for number, (keys, values) in sorted(self._held.items()):
            table = pa.table({"key": pa.array(keys, pa.string()), "value": pa.array(values, pa.binary())})
            self._writer(number, table.schema).write_table(table)
        self._held, self._bytes = {}, 0

    def _writer(self, number: int, schema: Any) -> Any:
        import pyarrow.parquet as pq

        if number not in self._files:
            store = self._buckets.store
            path = store.path(f"{self._buckets.folder}/{self._name}/{number:05d}.parquet")
            store.fs.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            sink = store.fs.open(path, "wb")
            self._files[number] = (pq.ParquetWriter(sink, schema, compression="zstd"), sink)
        return self._files[number][0]
