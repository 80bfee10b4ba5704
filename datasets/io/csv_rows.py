"""CSV files with a line of column names: their columns, and their rows as mappings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping
from typing import BinaryIO

from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.datasets.io.records import Unusable
from ticlm.platform.core.errors import InputError

CELL = 64 << 20
"""Characters that a cell may have."""
Row = Mapping[str, str]


def columns(path: str) -> tuple[str, ...]:
    """Return the names in the first line of a file. Raises OSError, InputError or csv.Error if it cannot be read."""
    with opened(path) as raw:
        return tuple(_reader(raw).fieldnames or ())


def rows(path: str) -> Iterator[tuple[int, Row | Unusable]]:
    """Yield (line, row) of a file, or why the line has no row. `line` is where the row ends: cells may have newlines.

    Bytes that are no UTF-8 become lone surrogates. Raises InputError if the file cannot be read, and Unreachable if
    that is behind a URI.
    """
    try:
        with opened(path) as raw:
            reader = _reader(raw)
            while True:
                try:
                    row = next(reader)
                except StopIteration:
                    return
                except csv.Error:
                    yield reader.line_num, Unusable("broken CSV row")
                    continue
                whole = None not in row and None not in row.values()
                yield reader.line_num, row if whole else Unusable("a row of more or fewer cells than there are columns")
    except Unreachable:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def _reader(raw: BinaryIO) -> csv.DictReader[str]:
    csv.field_size_limit(CELL)
    lines = io.TextIOWrapper(raw, encoding="utf-8-sig", errors="surrogateescape", newline="")
    return csv.DictReader(lines)
