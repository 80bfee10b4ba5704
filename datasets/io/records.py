"""Files of records: JSON lines (plain, gzip or zstd) and Parquet."""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

from ticlm.core.errors import InputError
from ticlm.datasets.io.apart import reached
from ticlm.datasets.io.fetching import Unreachable, opened

SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
STRETCH = 256 << 20
"""Bytes of a file that one task reads. A packed file has one reader, because it can be read from its beginning only."""
BLOCK = 1 << 20
PACKED_BLOCK = 1 << 14  # small, as what a damaged block held before the damage is lost
ZSTD_BLOCK = 1 << 12  # smaller, as zstd can pack 30,000 bytes into one
LINE_BYTES = 64 << 20
"""Longest line in bytes. A file of a few megabytes can unpack to a line of many gigabytes."""
BROKEN = "broken file"
BROKEN_GROUP = "broken row group"
BREAKS = (BROKEN, BROKEN_GROUP)
"""Reasons that stand for a part of a file, and not for a record."""
TOO_LONG = f"a line longer than {LINE_BYTES >> 20} MiB"
Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class BadRecord:
    """Why a line has no record. A break stands for all `rows` from there on to the end of the damaged part, 0 if their
    number is not known, and for `lost` bytes of the file that could not be read."""

    reason: str
    rows: int = 1
    lost: int = 0


def known(path: str) -> bool:
    return path.endswith(SUFFIXES)


def stretches(path: str, size: int) -> list[tuple[int, int | None]]:
    """Return ranges into which a file can be cut, in bytes or row groups; [(0, None)] if it is small or compressed."""
    if size <= STRETCH or path.endswith((".gz", ".zst")):
        return [(0, None)]
    if not path.endswith(".parquet"):
        return [(start, min(start + STRETCH, size)) for start in range(0, size, STRETCH)]
    try:
        with parquet(path) as file:
            groups = file.num_row_groups
    except _damage():
        return [(0, None)]  # reading it says what is wrong
    step = -(-groups * STRETCH // size)
    return [(start, min(start + step, groups)) for start in range(0, groups, step)]


def records(path: str, start: int, end: int | None, names: Sequence[str]) -> Iterator[tuple[int, Record | BadRecord]]:
    """Yield (line, record) of a range, with lines counted from 1 at its start, or why the line has no record.

    A range has the lines that begin in it. JSON lines that are packed end where their packing breaks. Of Parquet, a
    damaged row group ends at the damage, and the next one is read. Raises InputError if a file cannot be read, and
    Unreachable if that is behind a URI, as this says nothing about its contents.
    """
    try:
        if path.endswith(".parquet"):
            yield from _rows(path, start, end, names)
        else:
            yield from _json_lines(path, start, end)
    except Unreachable:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def lines_before(path: str, start: int) -> int:
    """Return how many lines (rows of Parquet) are before the range that begins at `start`."""
    if not start:
        return 0
    if path.endswith(".parquet"):
        with parquet(path) as file:
            return sum(file.metadata.row_group(group).num_rows for group in range(start))
    with opened(path) as raw:
        lines, left, last = 0, start, b"\n"
        while left and (block := raw.read(min(BLOCK, left))):
            lines, left, last = lines + block.count(b"\n"), left - len(block), block[-1:]
    return lines + (last != b"\n")


class _Broken(Exception):
    """A compressed stream is damaged or cut off; `lost` bytes of it were not unpacked."""

    def __init__(self, lost: int) -> None:
        super().__init__(lost)
        self.lost = lost


def _json_lines(path: str, start: int, end: int | None) -> Iterator[tuple[int, Record | BadRecord]]:
    number = 0
    try:
        for number, line in enumerate(_stretch(path, start, end), 1):
            if line is None:
                yield number, BadRecord(TOO_LONG)
            elif line.strip():
                yield number, parsed(line)
    except _Broken as error:
        yield number + 1, BadRecord(BROKEN, 0, error.lost)


def parsed(line: bytes) -> Record | BadRecord:
    """Return the JSON object of a line, or why it has none."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return BadRecord("broken JSON line")
    return record if isinstance(record, dict) else BadRecord("not a JSON object")


def _stretch(path: str, start: int, end: int | None) -> Iterator[bytes | None]:
    """Yield the lines that begin in [start, end), None for one that is too long. The byte before `start` tells
    whether a line begins there."""
    at = max(start - 1, 0)
    with opened(path) as raw:
        if path.endswith(".gz"):
            blocks = _unpacked(raw, lambda: zlib.decompressobj(wbits=31), PACKED_BLOCK)  # 31: with gzip's header
        elif path.endswith(".zst"):
            blocks = _unpacked(raw, _zstd, ZSTD_BLOCK)
        else:
            raw.seek(at)
            blocks = _blocks(raw, BLOCK)
        for line, size in _lines(blocks):
            begins, at = at, at + size + 1
            if end is not None and begins >= end:
                return
            if begins >= start:
                reached(begins)
                yield line


def _blocks(raw: Any, size: int) -> Iterator[bytes]:
    while block := raw.read(size):
        yield block


def _lines(blocks: Iterator[bytes]) -> Iterator[tuple[bytes | None, int]]:
    """Yield each line with its size in bytes; None in the place of a line of more than LINE_BYTES, whose bytes are
    dropped while they are read."""
    parts: list[bytes] = []
    size = 0
    for block in blocks:
        head, *rest = block.split(b"\n")
        size += len(head)
        parts.append(head)
        if size > LINE_BYTES:
            parts.clear()
        if rest:
            yield _joined(parts, size), size
            yield from ((_joined([line], len(line)), len(line)) for line in rest[:-1])
            parts, size = [rest[-1]], len(rest[-1])
    if size:
        yield _joined(parts, size), size


def _joined(parts: Sequence[bytes], size: int) -> bytes | None:
    return None if size > LINE_BYTES else b"".join(parts)


def _unpacked(raw: Any, begin: Callable[[], Any], size: int) -> Iterator[bytes]:
    """Yield the bytes of all members of a compressed file. Raises _Broken if one is damaged or the last is cut off."""
    import zstandard

    member = begin()
    fresh = False  # an empty file has no end either
    at = 0
    for packed in _blocks(raw, size):
        begins, at = at, at + len(packed)
        while packed:
            if fresh and not (packed := packed.lstrip(b"\0")):  # gzip allows zeros after a member
                break
            try:
                unpacked = member.decompress(packed)
            except (zlib.error, zstandard.ZstdError) as error:
                raise _Broken(_size(raw) - begins) from error
            yield unpacked
            fresh, packed = member.eof, member.unused_data if member.eof else b""
            if fresh:
                member = begin()
    if not fresh:
        raise _Broken(0)


def _size(raw: Any) -> int:
    return int(raw.seek(0, os.SEEK_END))


def _zstd() -> Any:
    import zstandard

    # as `zstd --long=31` packs; the library refuses windows of more than 128 MiB by itself
    return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()


def _rows(path: str, start: int, end: int | None, names: Sequence[str]) -> Iterator[tuple[int, Record | BadRecord]]:
    before = 0
    try:
        with parquet(path) as file:
            for group in range(start, file.num_row_groups if end is None else end):
                yield from group_rows(file, group, names, before)
                before += file.metadata.row_group(group).num_rows
    except _damage() as error:
        _raise_of_storage(error)
        yield before + 1, BadRecord(BROKEN, 0)


def group_rows(file: Any, group: int, names: Sequence[str], before: int) -> Iterator[tuple[int, Record | BadRecord]]:
    """Yield (row, record) of a row group of an open Parquet file, of the columns of these names; rows are counted from
    `before` on. A damaged group ends at the damage."""
    every = file.schema_arrow.names
    top = {name if name in every else name.partition(".")[0] for name in names}
    return _group(file, group, [name for name in every if name in top] if names else None, before)


def _group(file: Any, group: int, read: Sequence[str] | None, before: int) -> Iterator[tuple[int, Record | BadRecord]]:
    """Yield the rows of a row group; of a damaged one, those before the damage, as far as whole batches go."""
    about = file.metadata.row_group(group)
    done = 0
    try:
        for batch in file.iter_batches(1024, row_groups=[group], columns=read, use_threads=False):
            for record in plain_rows(batch):
                done += 1
                yield before + done, record
    except _damage() as error:
        _raise_of_storage(error)
        packed = sum(about.column(at).total_compressed_size for at in range(about.num_columns))
        left = about.num_rows - done
        yield before + done + 1, BadRecord(BROKEN_GROUP, left, packed * left // max(about.num_rows, 1))


def _raise_of_storage(error: Exception) -> None:
    """Raise the error again if it is one of a disk or network, which says nothing about a file."""
    if isinstance(error, Unreachable) or (isinstance(error, OSError) and error.errno is not None):
        raise error


def plain_rows(batch: Any) -> list[Record]:
    """Return the rows of a batch. A value that Python has no type for, as a time after the year 9999, is a text."""
    batch = _microseconds(batch)
    try:
        return cast(list[Record], batch.to_pylist())
    except (ValueError, OverflowError, LookupError):  # LookupError: a time zone that nobody knows
        return [
            {name: _plain(batch.column(at)[row]) for at, name in enumerate(batch.schema.names)}
            for row in range(batch.num_rows)
        ]


def _plain(value: Any) -> Any:
    import pyarrow as pa

    try:
        return value.as_py()
    except (ValueError, OverflowError, LookupError):
        return {key: _plain(inner) for key, inner in value.items()} if isinstance(value, pa.StructScalar) else "?"


@contextmanager
def parquet(path: str) -> Iterator[Any]:
    """Open a Parquet file, whose pages are held against their checksums as they are read."""
    import pyarrow.parquet as pq

    with opened(path) as raw:
        yield pq.ParquetFile(raw, page_checksum_verification=True)


def _damage() -> tuple[type[Exception], ...]:
    """Return the errors that pyarrow raises for damaged files. Its own OSErrors have no errno; errors of a disk or a
    network have one."""
    import pyarrow as pa

    return pa.ArrowException, OSError


def _microseconds(batch: Any) -> Any:
    """Return the batch with times in microseconds, as Python's datetime has no nanoseconds."""
    import pyarrow as pa

    for index, column in enumerate(batch.schema):
        if pa.types.is_timestamp(column.type) and column.type.unit == "ns":
            times = batch.column(index).cast(pa.timestamp("us", column.type.tz), safe=False)
            batch = batch.set_column(index, column.name, times)
    return batch
