"""CSV files with a line of column names: their columns, and their rows as mappings."""

from __future__ import annotations

import csv
import io
from collections import deque
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from ticlm.core.errors import InputError
from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.datasets.io.records import BadRecord
from ticlm.datasets.io.unpack import Damaged, unpacked_file

CELL = 64 << 20
"""Characters that a cell may have."""
MOST_LINES = 10_000
"""Lines that a row may have."""
AGAIN = 10
"""Lines that may be read again for each line of a file, on top of MOST_LINES of them. Without it, a file in which every
line opens a quote would take time that grows with the square of its length."""
BROKEN = "broken CSV row"
UNEVEN = "a row of more or fewer cells than there are columns"
SWALLOWED = "a line whose quote is never closed"
OPEN = "unexpected end of data"
"""What Python's reader says where the lines end within quotes."""
Row = Mapping[str, str]


def columns(path: str) -> tuple[str, ...]:
    """Return the names in the first line of a file. Raises OSError, InputError or csv.Error if it cannot be read."""
    with opened(path) as raw:
        return _Lines(raw).header()


def listed(names: tuple[str, ...]) -> str:
    """Return the names of columns on one line, as messages have them: a broken first line may be of any length."""
    shown = [" ".join(name.split())[:40] for name in names[:20]]
    return ", ".join(shown) + (f" and {len(names) - 20} more" if len(names) > 20 else "") if any(shown) else "no line"


def rows(path: str, delimiter: str = ",") -> Iterator[tuple[int, Row | BadRecord]]:
    """Yield (line, row) of a file, or why the line has no row. `line` is where the row ends: cells may have newlines.
    An empty `delimiter` is a comma, or a semicolon if the first line has more of these.

    A quote that is opened and never closed would take the rest of the file for one cell. So a row of several lines that
    ends as no CSV writer ends one, or has another number of cells than there are columns, costs its first line alone.
    The lines behind it are read again as rows of their own. Bytes that are no UTF-8 become lone surrogates. Raises
    InputError if the file cannot be read, Damaged if its packing breaks, and Unreachable if that is behind a URI.
    """
    try:
        with unpacked_file(path) as raw:
            lines = _Lines(raw, delimiter)
            try:
                names = lines.header()
            except csv.Error as error:
                raise InputError(f"{path} cannot be read: {error}") from None
            yield from lines.rows(names)
    except (Unreachable, Damaged):
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


class _Lines:
    """Lines of a file. Some of them can be put back, to be read again."""

    def __init__(self, raw: BinaryIO, delimiter: str = ",") -> None:
        self._delimiter = delimiter
        csv.field_size_limit(CELL)
        self._lines = iter(io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline=""))
        self._back: deque[str] = deque()
        self._taken: list[str] = []
        self._number = 0
        """Number of the last line that was taken."""
        self._credit = MOST_LINES
        """Lines that may still be read again."""

    def header(self) -> tuple[str, ...]:
        """Return the cells of the first row, none of an empty file. Raises csv.Error."""
        if not self._delimiter:
            line = next(self._lines, "")
            self._delimiter = ";" if line.count(";") > line.count(",") else ","
            self._back.extend([line] if line else [])
        row = self._row()
        return () if row is None else tuple(row)

    def rows(self, names: tuple[str, ...]) -> Iterator[tuple[int, Row | BadRecord]]:
        """Yield (line, row) of all rows that are left; a blank line is none."""
        while True:
            error = ""
            try:
                row = self._row()
            except csv.Error as why:
                row, error = [], SWALLOWED if OPEN in str(why) else BROKEN
            if row is None:
                return
            if len(self._taken) > 1 and (error or len(row) != len(names)):
                yield from self._only_first()
            elif error or len(row) != len(names):
                if error or row:
                    yield self._number, BadRecord(error or UNEVEN)
            else:
                yield self._number, dict(zip(names, row))

    def _row(self) -> list[str] | None:
        """Return the cells of the next row, none of a blank line; None at the end of the file. Raises csv.Error."""
        self._taken = []
        reader = csv.reader(self._next(), strict=True, delimiter=self._delimiter)
        try:
            return next(reader, None)
        except csv.Error as error:
            if len(self._taken) > 1 or OPEN in str(error):
                raise
        return next(
            csv.reader(self._taken, delimiter=self._delimiter)
        )  # on a line of its own a stray quote does no harm

    def _next(self) -> Iterator[str]:
        """Yield the lines of one row."""
        while len(self._taken) < MOST_LINES:
            if self._back:
                line = self._back.popleft()
            else:
                fresh = next(self._lines, None)
                if fresh is None:
                    return
                line = fresh
                self._credit += AGAIN
            self._number += 1
            self._taken.append(line)
            yield line

    def _only_first(self) -> Iterator[tuple[int, BadRecord]]:
        """Yield the first of the lines that were taken as one without a row, and put the others back."""
        first = self._number - len(self._taken) + 1
        behind = self._taken[1:]
        if len(behind) <= self._credit:
            self._credit -= len(behind)
            self._number = first
            self._back.extendleft(reversed(behind))
            behind = []
        for number in range(first, first + len(behind) + 1):
            yield number, BadRecord(SWALLOWED)
