"""Files of records: JSON lines (plain, gzip or zstd) and Parquet."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from ticlm.datasets.io.apart import reached
from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.platform.core.errors import InputError

SUFFIXES = (".jsonl", ".jsonl.gz", ".jsonl.zst", ".parquet")
STRETCH = 256 << 20
BLOCK = 1 << 20
PACKED_BLOCK = 1 << 14  # small, as what a damaged block held before the damage is lost
BROKEN = "broken file"
Record = Mapping[str, Any]


def known(path: str) -> bool:
    return path.endswith(SUFFIXES)


def stretches(path: str, size: int) -> list[tuple[int, int | None]]:
    """Return ranges into which a file can be cut, in bytes or row groups; [(0, None)] if it is small or compressed."""
    if size <= STRETCH or path.endswith((".gz", ".zst")):
        return [(0, None)]
    if not path.endswith(".parquet"):
        return [(start, min(start + STRETCH, size)) for start in range(0, size, STRETCH)]
    try:
        with _parquet(path) as file:
            groups = file.num_row_groups
    except _damage():
        return [(0, None)]  # reading it says what is wrong
    step = -(-groups * STRETCH // size)
    return [(start, min(start + step, groups)) for start in range(0, groups, step)]


def records(path: str, start: int, end: int | None, names: Sequence[str]) -> Iterator[tuple[int, Record | str]]:
    """Yield (line, record) of a range, with lines counted from 1 at its start. A text instead of a record says why the
    line has none.

    A range has the lines that begin in it. A broken file ends with a line `broken file`. Raises InputError if a file
    cannot be read, and Unreachable if that is behind a URI, as this says nothing about its contents.
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
        with _parquet(path) as file:
            return sum(file.metadata.row_group(group).num_rows for group in range(start))
    with opened(path) as raw:
        lines, left, last = 0, start, b"\n"
        while left and (block := raw.read(min(BLOCK, left))):
            lines, left, last = lines + block.count(b"\n"), left - len(block), block[-1:]
    return lines + (last != b"\n")


class _Broken(Exception):
    """A compressed stream is damaged or cut off."""


def _json_lines(path: str, start: int, end: int | None) -> Iterator[tuple[int, Record | str]]:
    number = 0
    try:
        for number, line in enumerate(_stretch(path, start, end), 1):
            if line.strip():
                yield number, _parsed(line)
    except _Broken:
        yield number + 1, BROKEN


def _parsed(line: bytes) -> Record | str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return "broken JSON line"
    return record if isinstance(record, dict) else "not a JSON object"


def _stretch(path: str, start: int, end: int | None) -> Iterator[bytes]:
    """Yield the lines that begin in [start, end); the byte before `start` tells whether a line begins there."""
    at = max(start - 1, 0)
    with opened(path) as raw:
        if path.endswith(".gz"):
            blocks = _unpacked(raw, lambda: zlib.decompressobj(wbits=31))
        elif path.endswith(".zst"):
            blocks = _unpacked(raw, _zstd)
        else:
            raw.seek(at)
            blocks = _blocks(raw, BLOCK)
        for line in _lines(blocks):
            begins, at = at, at + len(line) + 1
            if end is not None and begins >= end:
                return
            if begins >= start:
                reached(begins)
                yield line


def _blocks(raw: Any, size: int) -> Iterator[bytes]:
    while block := raw.read(size):
        yield block


def _lines(blocks: Iterator[bytes]) -> Iterator[bytes]:
    parts: list[bytes] = []
    for block in blocks:
        head, *rest = block.split(b"\n")
        parts.append(head)
        if rest:
            yield b"".join(parts)
            yield from rest[:-1]
            parts = [rest[-1]]
    if last := b"".join(parts):
        yield last


def _unpacked(raw: Any, begin: Callable[[], Any]) -> Iterator[bytes]:
    """Yield the bytes of all members of a compressed file. Raises _Broken if one is damaged or the last is cut off."""
    import zstandard

    member = begin()
    fresh = False  # an empty file has no end either
    for packed in _blocks(raw, PACKED_BLOCK):
        while packed:
            if fresh and not (packed := packed.lstrip(b"\0")):  # gzip allows zeros after a member
                break
            try:
                unpacked = member.decompress(packed)
            except (zlib.error, zstandard.ZstdError) as error:
                raise _Broken from error
            yield unpacked
            fresh, packed = member.eof, member.unused_data if member.eof else b""
            if fresh:
                member = begin()
    if not fresh:
        raise _Broken


def _zstd() -> Any:
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()


def _rows(path: str, start: int, end: int | None, names: Sequence[str]) -> Iterator[tuple[int, Record | str]]:
    number = 0
    try:
        with _parquet(path) as file:
            top = {name if name in file.schema_arrow.names else name.partition(".")[0] for name in names}
            columns = [name for name in file.schema_arrow.names if name in top]
            groups = range(start, file.num_row_groups if end is None else end)
            for batch in file.iter_batches(1024, row_groups=groups, columns=columns, use_threads=False):
                for record in _microseconds(batch).to_pylist():
                    number += 1
                    yield number, record
    except _damage() as error:
        if isinstance(error, Unreachable) or (isinstance(error, OSError) and error.errno is not None):
            raise
        yield number + 1, BROKEN


@contextmanager
def _parquet(path: str) -> Iterator[Any]:
    import pyarrow.parquet as pq

    with opened(path) as raw:
        yield pq.ParquetFile(raw)


def _damage() -> tuple[type[Exception], ...]:
    """Return what pyarrow raises for damaged files. Its own OSErrors have no errno; those of a disk or network do."""
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
