"""File listing: the files of paths, globs and folders, on a local disk or behind a URI."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator

from ticlm.platform.core.errors import InputError


def _strings(value: object) -> object:
    return [value] if isinstance(value, str) else value


Patterns = Annotated[tuple[str, ...], BeforeValidator(_strings)]
"""Paths, globs and folders in settings: a list, or a single string."""


class ListedFile(NamedTuple):
    """A file: its path or URI, its bytes, and a stamp that changes with it (a checksum or a time; "" if unknown)."""

    path: str
    size: int
    stamp: str


def files(patterns: Sequence[str], suffixes: tuple[str, ...], setting: str = "documents.paths") -> list[ListedFile]:
    """Return every file once, ordered by path; of a folder, those with one of the suffixes.

    Raises InputError, which names the `setting` of the patterns, for a pattern without files, and for a named file with
    another suffix.
    """
    found = {entry.path: entry for pattern in patterns for entry in _matches(pattern, suffixes, setting)}
    return [found[path] for path in sorted(found)]


def _matches(pattern: str, suffixes: tuple[str, ...], setting: str) -> list[ListedFile]:
    import fsspec

    known = ", ".join(suffixes)
    try:
        fs, path = fsspec.url_to_fs(pattern if "://" in pattern else os.path.abspath(os.path.expanduser(pattern)))
        if any(mark in path for mark in "*?["):
            files = [entry for entry in fs.glob(path, detail=True).values() if entry["type"] == "file"]
        elif fs.isfile(path):
            files = [fs.info(path)]
        else:
            files = [entry for entry in fs.find(path, detail=True).values() if entry["name"].endswith(suffixes)]
    except Exception as error:  # filesystems raise kinds of their own, for want of credentials and the like
        raise InputError(f"{setting}: {pattern} cannot be listed: {' '.join(str(error).split())}") from None
    if not files:
        raise InputError(f"{setting}: {pattern} matches no file; formats are {known}")
    for entry in files:
        if not entry["name"].endswith(suffixes):
            raise InputError(f"{setting}: {entry['name']} has no known format; these are {known}")
    local = "file" in fs.protocol
    return [
        ListedFile(
            path=entry["name"] if local else fs.unstrip_protocol(entry["name"]),
            size=int(entry["size"] or 0),
            stamp=_stamp(entry),
        )
        for entry in files
    ]


def _stamp(entry: Mapping[str, Any]) -> str:
    for key in ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "Last-Modified", "updated", "mtime"):
        if entry.get(key):
            return str(entry[key]).strip('"')
    return ""
