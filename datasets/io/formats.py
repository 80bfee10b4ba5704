"""Formats of files of documents: records, tables, mail, and texts whose date is in their path."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ticlm.core.errors import InputError
from ticlm.datasets.io import csv_rows, mail, records
from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.datasets.io.records import BadRecord, Record

TABLES: Mapping[str, str] = {".csv": ",", ".tsv": "\t"}
"""What is between the cells of a row, by the ending of a file. The first line has the names of the columns."""
TEXTS = (".txt", ".md")
"""Endings of files that are one document each."""
MAIL = ".mbox"
OTHERS = (*TABLES, *TEXTS, MAIL)
SUFFIXES = (*records.SUFFIXES, *OTHERS)
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_./]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)")
_MONTH = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_./]?(0[1-9]|1[0-2])(?!\d)")


def stretches(path: str, size: int) -> list[tuple[int, int | None]]:
    """Return ranges into which a file can be cut. Only records can: a cell of a table may have newlines."""
    return [(0, None)] if path.endswith(OTHERS) else records.stretches(path, size)


def rows(path: str, start: int, end: int | None, names: Sequence[str]) -> Iterator[tuple[int, Record | BadRecord]]:
    """Yield (line, record) of a range, or why there is no record; of mail, its messages are counted.

    Tables have their columns as keys. A text is one record with `text`, `timestamp`, `url` and `source` (see
    `of_path`), mail has `subject` and `from` besides. Raises as `records.records` does.
    """
    if not path.endswith(OTHERS):
        yield from records.records(path, start, end, names)
        return
    try:
        if path.endswith(MAIL):
            yield from mail.messages(path)
        elif path.endswith(TEXTS):
            yield 1, _text(path)
        else:
            yield from csv_rows.rows(path, next(mark for ending, mark in TABLES.items() if path.endswith(ending)))
    except Unreachable:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def of_path(path: str) -> dict[str, str]:
    """Return what a path tells of its text: the last day or else month in it, and a name that stays when the folders
    are moved: the path from the folder before the date on, which is also the source."""
    found = list(_DAY.finditer(path)) or list(_MONTH.finditer(path))
    if not found:
        return {"url": path.rpartition("/")[2], "source": ""}
    parts = found[-1].groups()
    stamp = f"{parts[0]}-{parts[-2]}-{parts[-1]}" if len(parts) == 4 else "-".join(parts)
    before = path[: path.rfind("/", 0, found[-1].start())].rstrip("/") if "/" in path[: found[-1].start()] else ""
    folder = before.rpartition("/")[2]
    inner = path[len(before) :].lstrip("/")
    return {"timestamp": stamp, "url": f"{folder}/{inner}" if folder else inner, "source": folder}


def _text(path: str) -> Record | BadRecord:
    with opened(path) as raw:
        read = raw.read(records.LINE_BYTES + 1)
    if len(read) > records.LINE_BYTES:
        return BadRecord(f"a text longer than {records.LINE_BYTES >> 20} MiB")
    try:
        return {"text": read.decode("utf-8-sig"), **of_path(path)}
    except UnicodeDecodeError:
        return BadRecord("unreadable text")
