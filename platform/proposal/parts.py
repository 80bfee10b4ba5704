"""Parts of a large file that stand for all of it: spread evenly, as text is often in the order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from ticlm.datasets.io import listing, records

BLOCK, REMOTE_BLOCK = 1 << 20, 8 << 20
"""Bytes of a part of lines, on a disk and behind a URI: what reading a single line of it costs anyway."""
LEAST = 2
"""Parts of a large file at least: its beginning and its end."""
PACKING = 3.0
"""Bytes of text in a byte of a packed file, roughly: gzip and zstd pack English to a third."""
T = TypeVar("T")


@dataclass(frozen=True)
class Parts:
    """Ranges of a file, as `formats.rows` takes them, that hold about as much text as may be read."""

    file: listing.ListedFile
    ranges: Sequence[tuple[int, int | None]] = ((0, None),)
    bytes: int = 0
    """Bytes of lines in the ranges, if they are not the whole file."""
    rows: int = 0
    """Rows of the whole file, if it says how many."""

    @property
    def are_spread(self) -> bool:
        return bool(self.bytes or self.rows)

    def times(self, rows: int, size: int, is_cut: bool) -> float:
        """Return how often the whole file holds what was read: so many rows, with `size` bytes of text."""
        if self.rows:
            return max(1.0, self.rows / max(1, rows))
        if self.bytes:
            return self.file.size / self.bytes
        if not is_cut:
            return 1.0
        packed = PACKING if self.file.path.endswith((".gz", ".zst")) else 1.0
        return max(1.0, self.file.size * packed / max(1, size))


def of(file: listing.ListedFile, quota: int) -> Parts:
    """Return the parts of a file from which about `quota` bytes are to be read.

    Lines and row groups can be found from the middle. All else is read from its beginning.
    """
    if file.path.endswith(".jsonl") and file.size > quota:
        block = REMOTE_BLOCK if "://" in file.path else BLOCK
        count = max(LEAST, quota // block)
        block = quota // count
        ranges = [(start, start + block) for start in evenly(range(file.size - block + 1), count)]
        return Parts(file, ranges, bytes=block * count)
    if file.path.endswith(".parquet") and file.size * PACKING > quota:
        return _row_groups(file, quota)
    return Parts(file)


def evenly(every: Sequence[T], most: int) -> list[T]:
    """Return at most so many of these: the first, the last, and those that lie evenly between them."""
    if len(every) <= most:
        return list(every)
    return [every[round(at * (len(every) - 1) / (most - 1))] for at in range(most)]


def _row_groups(file: listing.ListedFile, quota: int) -> Parts:
    try:
        with records.parquet(file.path) as opened:
            about = opened.metadata
            sizes = [about.row_group(at).total_byte_size for at in range(about.num_row_groups)]
            rows = about.num_rows
    except Exception:  # reading the file says what is wrong with it
        return Parts(file)
    if sum(sizes) <= quota:
        return Parts(file)
    chosen = evenly(range(len(sizes)), max(LEAST, quota * len(sizes) // sum(sizes)))
    return Parts(file, [(at, at + 1) for at in chosen], rows=rows)
