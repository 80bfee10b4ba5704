"""Formats of files of documents: records, tables, mail, and texts whose date is in their path.

A folder `KEY=VALUE` in a path, as Hive and Spark write them, is a field of all records below it that lack it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import takewhile
from urllib.parse import unquote

from ticlm.core.errors import InputError
from ticlm.datasets.io import csv_rows, mail, records, whole_files
from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.datasets.io.records import BadRecord, Record
from ticlm.datasets.io.unpack import Damaged

TABLES: Mapping[str, str] = {".csv": "", ".csv.gz": "", ".tsv": "\t", ".tsv.gz": "\t"}
"""What is between the cells of a row, by the ending of a file; "": a comma or a semicolon, as the first line tells,
which has the names of the columns."""
TEXTS = (".txt", ".md")
"""Endings of files that are one document each."""
MAIL = (".mbox", ".mbox.gz")
OTHERS = (*TABLES, *whole_files.SUFFIXES, *TEXTS, *MAIL)
SUFFIXES = (*records.SUFFIXES, *OTHERS)
_DAY = re.compile(r"(?<!\d)((?:19|20)\d\d)([-_./]?)(0[1-9]|1[0-2])\2(0[1-9]|[12]\d|3[01])(?!\d)")
_KEY = re.compile(r"([A-Za-z_]\w*)=([^/]*)/")
_MONTH = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_./]?(0[1-9]|1[0-2])(?!\d)")


def stretches(path: str, size: int) -> list[tuple[int, int | None]]:
    """Return ranges into which a file can be cut. Only records can: a cell of a table may have newlines."""
    return [(0, None)] if path.endswith(OTHERS) else records.stretches(path, size)


def rows(
    path: str, start: int, end: int | None, names: Sequence[str], folder: str = ""
) -> Iterator[tuple[int, Record | BadRecord]]:
    """Yield (line, record) of a range, or why there is no record; of mail, its messages are counted.

    Tables have their columns as keys. A text is one record with `text`, `timestamp`, `url` and `source` (see `of_path`,
    which also takes the `folder`), mail has `subject` and `from` besides. Raises as `records.records` does.
    """
    keys = keys_of(path)
    for number, record in _rows(path, start, end, names, folder):
        yield number, {**keys, **record} if keys and not isinstance(record, BadRecord) else record


def keys_of(path: str) -> dict[str, str]:
    """Return the keys and values of the folders `KEY=VALUE` in a path; values are percent-encoded there, as by Hive."""
    return {key: unquote(value) for key, value in _KEY.findall(path)} if "=" in path else {}


def _rows(
    path: str, start: int, end: int | None, names: Sequence[str], folder: str
) -> Iterator[tuple[int, Record | BadRecord]]:
    if not path.endswith(OTHERS):
        yield from records.records(path, start, end, names)
        return
    number = 0
    try:
        for number, record in _others(path, folder):
            yield number, record
    except Damaged:
        yield number + 1, BadRecord(records.BROKEN, 0)
    except Unreachable:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None


def _others(path: str, folder: str) -> Iterator[tuple[int, Record | BadRecord]]:
    if path.endswith(MAIL):
        yield from mail.messages(path)
    elif path.endswith(whole_files.SUFFIXES):
        yield from whole_files.rows(path)
    elif path.endswith(TEXTS):
        yield 1, _text(path, folder)
    else:
        yield from csv_rows.rows(path, next(mark for ending, mark in TABLES.items() if path.endswith(ending)))


def folder_of(patterns: Sequence[str]) -> str:
    """Return the longest folder in which all files of these paths, globs and folders are, as far as it is written
    without marks of a glob; "" if they have none in common."""
    fixed = []
    for pattern in patterns:
        pattern = pattern.removeprefix("file://")
        whole = pattern if "://" in pattern else os.path.abspath(os.path.expanduser(pattern))
        parts = whole.split("/")
        if whole.endswith(SUFFIXES):
            parts.pop()
        fixed.append(list(takewhile(lambda part: not set("*?[") & set(part), parts)))
    return "/".join(level[0] for level in takewhile(lambda level: len(set(level)) == 1, zip(*fixed)))


def of_path(path: str, folder: str = "") -> dict[str, str]:
    """Return what a path tells of its text: the last day or else month in it, the folder before that as the source,
    and a name that stays when the folders are moved: all of the path below `folder`.

    What `folder` itself is called says nothing about a text: all files of a recipe are in it.
    """
    inner = path[len(folder) + 1 :] if folder and path.startswith(f"{folder}/") else path.lstrip("/")
    found = list(_DAY.finditer(inner)) or list(_MONTH.finditer(inner))
    if not found:
        return {"url": inner, "source": ""}
    parts = found[-1].groups()
    stamp = f"{parts[0]}-{parts[-2]}-{parts[-1]}" if len(parts) == 4 else "-".join(parts)
    whole = f"{folder}/{inner}" if folder else inner
    before = whole[: len(whole) - len(inner) + found[-1].start()].rpartition("/")[0]
    return {"timestamp": stamp, "url": inner, "source": before.rpartition("/")[2]}


def _text(path: str, folder: str) -> Record | BadRecord:
    with opened(path) as raw:
        read = raw.read(records.LINE_BYTES + 1)
    if len(read) > records.LINE_BYTES:
        return BadRecord(f"a text longer than {records.LINE_BYTES >> 20} MiB")
    try:
        return {"text": read.decode("utf-8-sig"), **of_path(path, folder)}
    except UnicodeDecodeError:
        return BadRecord("unreadable text")
