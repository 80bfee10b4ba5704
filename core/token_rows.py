"""Rows of tokens in Parquet: writes shard files, and reads rows by position.

Every column is `fixed_size_binary`: `length` token ids, little-endian. A reader gets a row group as one buffer, without
decoding: one core reads 323 million tokens a second so, and 64 million from a column of lists (both with zstd). Damage
is found where rows are read: by the checksum of each page, or, in shards without page checksums, by the hash of the
whole file when a process first opens it.

Rows that mask spans have a second file beside each shard: its column `spans` lists their texts and labels, row by row.
"""

from __future__ import annotations

import io
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray
from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.integrity.files import check_once
from ticlm.core.integrity.records import StoredFile
from ticlm.core.settings import Settings
from ticlm.core.store import Store

# Rows that are read and held together. A loader holds the two newest groups of each source: at the paper's size, 114
# months of rows of 2,049 tokens, 2 x 114 x 128 x 4,098 bytes are 120 MB.
ROW_GROUP = 128
DAMAGE = (OSError, ValueError, KeyError, pa.ArrowException)
"""Errors that reading a damaged Parquet file raises."""
SPANS = "spans"
"""The column of a file of spans."""
Tokens = NDArray[np.integer[Any]]


class Column(Settings):
    """A column of `length` tokens per row. A causal corpus has one, `tokens`, of length L+1: inputs and labels overlap
    by L."""

    name: str
    length: int = Field(gt=0)
    dtype: Literal["uint16", "uint32"] = "uint16"
    pad: int | None = None
    """The token id that fills short rows up to `length`; None if every row is full, or if this is not known."""

    @property
    def width(self) -> int:
        """Bytes of one value."""
        return self.length * np.dtype(self.dtype).itemsize


class ShardFile(Settings):
    """A shard file; `path` is relative to the period's attempt folder."""

    path: str
    rows: int
    bytes: int
    sha256: str


def dtype_for(vocab_size: int) -> Literal["uint16", "uint32"]:
    """Return the narrowest type that holds all token ids of a vocabulary."""
    return "uint16" if vocab_size <= 1 << 16 else "uint32"


def to_parquet(
    rows: Mapping[str, Tokens],
    columns: Sequence[Column],
    sources: Sequence[str] | None = None,
    page_checksums: bool = False,
) -> bytes:
    """Return the bytes of a shard file; the same arrays give the same bytes.

    `rows` has an array [rows, length] of token ids for each column, and `sources`, if given, the source of each row.
    Raises ValueError if an array does not fit its column.
    """
    arrays: dict[str, pa.Array] = {}
    for column in columns:
        given = rows[column.name]
        if given.ndim != 2 or given.shape[1] != column.length:
            raise ValueError(f"column {column.name} must be [rows, {column.length}], got {list(given.shape)}")
        if given.size and not 0 <= int(given.min()) <= int(given.max()) <= np.iinfo(column.dtype).max:
            raise ValueError(
                f"column {column.name} has tokens {given.min()} to {given.max()}, too wide for {column.dtype}"
            )
        values = np.ascontiguousarray(given, dtype=np.dtype(column.dtype).newbyteorder("<"))
        arrays[column.name] = pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(column.width), len(values), [None, pa.py_buffer(values.tobytes())]
        )
    if sources is not None:
        arrays["source"] = pa.array(sources, pa.string())
    sink = io.BytesIO()
    pq.write_table(
        pa.table(arrays),
        sink,
        row_group_size=ROW_GROUP,
        compression="zstd",
        compression_level=1,
        use_dictionary=False,
        write_page_checksum=page_checksums,
    )
    return sink.getvalue()


class RowSpan(NamedTuple):
    """A span that a row masks: its text, and what kind of thing it names; "" if that is not known."""

    text: str
    label: str


def spans_to_parquet(spans: pa.Array) -> bytes:
    """Return the bytes of a file of spans; `spans` is a list array of structs (text, label), an entry for each row."""
    sink = io.BytesIO()
    pq.write_table(pa.table({SPANS: spans}), sink, compression="zstd", compression_level=1)
    return sink.getvalue()


def spans_of(data: bytes) -> Iterator[list[RowSpan]]:
    """Yield the spans of each row of a file of spans."""
    for batch in pq.ParquetFile(io.BytesIO(data)).iter_batches(1024):
        for spans in batch.column(0).to_pylist():
            yield [RowSpan(span["text"], span["label"]) for span in spans]


class RowReader:
    """Reads rows of one split by position, one row group at a time, and keeps the last `keep` groups.

    `files` are the shards as their record states them, with paths relative to the store. `starts[g]` is the position of
    the first row of group g; `starts[-1]` is the number of rows. Raises InputError, now or when rows are read, if a
    shard is damaged; the message ends with the `remedy`.
    """

    def __init__(
        self,
        store: Store,
        files: Sequence[ShardFile],
        columns: Sequence[Column],
        vocab_size: int,
        page_checksums: bool,
        remedy: str,
        keep: int = 2,
    ) -> None:
        self.store, self.columns, self.vocab_size, self.keep = store, columns, vocab_size, keep
        self._files, self._page_checksums, self._remedy = list(files), page_checksums, remedy
        if not page_checksums:
            self._check_hashes()
        self._open: dict[int, pq.ParquetFile] = {}
        self._groups: list[tuple[int, int]] = []
        counts = []
        for number in range(len(self._files)):
            meta = self._file(number).metadata
            for group in range(meta.num_row_groups):
                self._groups.append((number, group))
                counts.append(meta.row_group(group).num_rows)
        self.starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)
        self._cache: OrderedDict[int, dict[str, Tokens]] = OrderedDict()

    def __len__(self) -> int:
        return int(self.starts[-1])

    def take(self, positions: NDArray[np.int64]) -> dict[str, Tokens]:
        """Return the rows at `positions` (int64[n]), in this order: uint16 or uint32 [n, length] per column."""
        out = {c.name: np.empty((len(positions), c.length), c.dtype) for c in self.columns}
        self.take_into(out, np.arange(len(positions)), positions)
        return out

    def take_into(self, out: Mapping[str, Tokens], places: NDArray[np.int64], positions: NDArray[np.int64]) -> None:
        """Copy the rows at `positions` (int64[n]) to the rows at `places` (int64[n]) of [rows, length] per column."""
        groups = np.searchsorted(self.starts, positions, side="right") - 1
        for group in np.unique(groups):
            where = np.flatnonzero(groups == group)
            rows, at = self.group(int(group)), positions[where] - self.starts[group]
            for name, values in out.items():
                values[places[where]] = rows[name][at]

    def all(self, size: int, most: int | None = None) -> Iterator[dict[str, Tokens]]:
        """Yield all rows in order (or the first `most`), in blocks of at most `size` rows, as `take` returns them."""
        end = len(self) if most is None else min(most, len(self))
        for start in range(0, end, size):
            yield self.take(np.arange(start, min(start + size, end)))

    def group(self, group: int) -> dict[str, Tokens]:
        """Return all rows of one row group, an array [rows, length] per column. Raises InputError if its file is
        damaged, or has a token beyond the vocabulary."""
        if group in self._cache:
            self._cache.move_to_end(group)
            return self._cache[group]
        number, index = self._groups[group]
        names = [c.name for c in self.columns]
        try:
            table = self._file(number).read_row_group(index, columns=names, use_threads=False)
            expected = int(self.starts[group + 1] - self.starts[group])
            if table.num_rows != expected or any(column.null_count for column in table.columns):
                raise ValueError(f"row group {index} has {table.num_rows} whole rows, not {expected}")
        except DAMAGE as error:
            raise self._unreadable(number, error) from None
        rows = {c.name: _tokens(table.column(c.name), c) for c in self.columns}
        for name, values in rows.items():
            if int(values.max(initial=0)) >= self.vocab_size:
                raise InputError(
                    f"shard {self._uri(number)}: column {name} has token {values.max()} in row group {index}, and the "
                    f"vocabulary has {self.vocab_size}: 0 to {self.vocab_size - 1}"
                )
        self._cache[group] = rows
        while len(self._cache) > self.keep:
            self._cache.popitem(last=False)
        return rows

    def sources(self) -> list[str] | None:
        """Return the source of every row, or None if the split does not carry them."""
        # No checksum of a page covers a column of texts: neither where it is said to be, nor its levels.
        self._check_hashes()
        found: list[str] = []
        for number in range(len(self._files)):
            file = self._file(number)
            if "source" not in file.schema_arrow.names:
                return None
            found += file.read(columns=["source"]).column("source").to_pylist()
        return found

    def _file(self, number: int) -> pq.ParquetFile:
        if number not in self._open:
            path = self.store.path(self._files[number].path)
            how = {"page_checksum_verification": True}
            try:
                if self.store.is_local:
                    file = pq.ParquetFile(path, memory_map=True, **how)
                else:
                    file = pq.ParquetFile(self.store.fs.open(path, "rb"), **how)
                self._check_layout(file, self._files[number].rows)
            except FileNotFoundError:
                raise InputError(f"shard {self._uri(number)}: missing; {self._remedy}") from None
            except DAMAGE as error:
                raise self._unreadable(number, error) from None
            self._open[number] = file
        return self._open[number]

    def _check_layout(self, file: pq.ParquetFile, rows: int) -> None:
        """Raise ValueError if the footer, which has no checksum, does not describe the shard of the record."""
        full, rest = divmod(rows, ROW_GROUP)
        expected = [ROW_GROUP] * full + ([rest] if rest else [])
        groups = [file.metadata.row_group(g).num_rows for g in range(file.metadata.num_row_groups)]
        types = {c.name: pa.binary(c.width) for c in self.columns}
        if self._page_checksums and groups != expected:
            raise ValueError(f"row groups of {groups} rows, the record says {rows} rows")
        if {name: file.schema_arrow.field(name).type for name in types} != types:
            raise ValueError(f"the columns are not {types}")

    def _check_hashes(self) -> None:
        stated = [StoredFile(path=f.path, size=f.bytes, sha256=f.sha256) for f in self._files]
        check_once(self.store, stated, "shard", self._remedy)

    def _uri(self, number: int) -> str:
        return self.store.uri(self._files[number].path)

    def _unreadable(self, number: int, error: Exception) -> Exception:
        if getattr(error, "errno", None) is not None:
            return error  # the disk's or the network's, not the shard's
        return InputError(f"shard {self._uri(number)}: {' '.join(str(error).split())}; {self._remedy}")


def _tokens(column: pa.ChunkedArray, spec: Column) -> Tokens:
    """Return the token ids of a column, [rows, length], as a view of its buffer."""
    array = column.combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0)
    buffer = array.buffers()[1]
    return np.frombuffer(buffer, spec.dtype, len(array) * spec.length, array.offset * spec.width).reshape(
        len(array), spec.length
    )
