"""File listing: the files of paths, globs and folders, on a local disk or behind a URI."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pydantic import BeforeValidator, ValidatorFunctionWrapHandler, WrapValidator

from ticlm.core.errors import InputError
from ticlm.core.remote.credentials import MaskedUrl, address, whole

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


def _strings(value: object) -> object:
    return [value] if isinstance(value, str) else value


Patterns = Annotated[tuple[str, ...], BeforeValidator(_strings, json_schema_input_type=str | tuple[str, ...])]
"""Paths, globs and folders in settings: a list, or a single string."""


def _addressed(value: object, text: ValidatorFunctionWrapHandler) -> str:
    return value if isinstance(value, MaskedUrl) else address(text(value))


Location = Annotated[str, WrapValidator(_addressed)]
"""The path or URI of a file, a MaskedUrl if it holds credentials."""


class ListedFile(NamedTuple):
    """A file: its path or URI (a MaskedUrl if that holds credentials), its bytes, and a stamp that changes with it (a
    checksum or a time; "" if unknown)."""

    path: str
    size: int
    stamp: str


def files(
    patterns: Sequence[str],
    suffixes: tuple[str, ...],
    setting: str = "documents.paths",
    otherwise: tuple[str, ...] = (),
) -> list[ListedFile]:
    """Return every file once, ordered by path; of a folder, those with one of the suffixes. Links are followed; of
    several paths of one file, the one without links stays, or else the first. Of a folder that has none of them, those
    with a suffix of `otherwise` are taken: beside others, such files often just explain them. `.json` comes last.

    The suffix "" takes every file. Raises InputError, which names the `setting`, for a pattern without files, for a
    named file with another suffix, for a link to nothing, and for two URLs that differ in their credentials alone.
    """
    found: dict[str, ListedFile] = {}
    matches = [match for pattern in patterns for match in _matches(pattern, suffixes, setting, otherwise)]
    for real, entry in sorted(matches, key=lambda match: match[1].path):
        if real not in found or entry.path == real:
            found[real] = entry
    listed = sorted(found.values())
    for one, other in pairwise(listed):
        if one.path == other.path:
            raise InputError(f"{setting}: {one.path} stands there with two kinds of credentials; name each file once")
    return listed


def matches(pattern: str) -> bool:
    """Return whether a path, glob or folder leads to anything. What cannot be listed counts as there: `files` says
    why."""
    import fsspec

    here = os.path.abspath(os.path.expanduser(pattern)) if "://" not in pattern else whole(pattern)
    try:
        fs, path = fsspec.url_to_fs(here)
        return bool(fs.exists(path) or fs.glob(path))
    except Exception:  # filesystems raise kinds of their own
        return True


def _matches(
    pattern: str, suffixes: tuple[str, ...], setting: str, otherwise: tuple[str, ...]
) -> list[tuple[str, ListedFile]]:
    """Return the files of a pattern, each with the path that it has without links."""
    import fsspec

    every = (*suffixes, *otherwise)
    known = ", ".join(filter(None, every))
    try:
        here = os.path.abspath(os.path.expanduser(pattern)) if "://" not in pattern else whole(pattern)
        fs, path = fsspec.url_to_fs(here)
        if any(mark in path for mark in ("*[" if "http" in fs.protocol else "*?[")):  # there, ? begins a query
            files = [_followed(fs, entry, setting) for entry in fs.glob(path, detail=True).values()]
            files = [entry for entry in files if entry["type"] == "file"]
        elif fs.isfile(path):
            files = [fs.info(path)]
        else:
            below = list(_below(fs, path, every, set()))
            wanted = [entry for entry in below if entry["name"].endswith(suffixes)]
            # a .json often describes the files beside it
            wanted = wanted or [entry for entry in below if not entry["name"].endswith(".json")] or below
            files = [_followed(fs, entry, setting) for entry in wanted]
    except InputError:
        raise
    except Exception as error:  # filesystems raise kinds of their own, for want of credentials and the like
        raise InputError(f"{setting}: {pattern} cannot be listed: {' '.join(str(error).split())}") from None
    if not files:
        raise InputError(f"{setting}: {pattern} matches no file{f'; formats are {known}' if known else ''}")
    for entry in files:
        if not address(entry["name"]).endswith(every):
            raise InputError(f"{setting}: {entry['name']} has no known format; these are {known}")
    local = "file" in fs.protocol
    member, sign, archive = whole(pattern).partition("::")  # of zip://MEMBER::ARCHIVE
    archive = f"{sign}{archive}" if "://" in member else ""
    listed = [
        ListedFile(
            path=entry["name"] if local else address(f"{fs.unstrip_protocol(entry['name'])}{archive}"),
            size=int(entry["size"] or 0),
            stamp=_stamp(entry),
        )
        for entry in files
    ]
    if not local:
        return [(whole(file.path), file) for file in listed]
    folder_of = cache(os.path.realpath)  # of 100,000 files in one folder: a second less

    def real(path: str, is_link: bool) -> str:
        folder, name = os.path.split(path)
        return os.path.realpath(path) if is_link else os.path.join(folder_of(folder), name)

    return [(real(file.path, bool(entry.get("islink"))), file) for entry, file in zip(files, listed)]


def _below(fs: AbstractFileSystem, folder: str, suffixes: tuple[str, ...], seen: set[str]) -> Iterator[Any]:
    """Yield the files with a known suffix below a folder and below those that its links lead to, each folder once."""
    seen.add(os.path.realpath(folder))
    for name, entry in fs.find(folder, detail=True).items():
        if entry.get("islink") and os.path.isdir(name):
            if os.path.realpath(name) not in seen:
                yield from _below(fs, name, suffixes, seen)
        elif name.endswith(suffixes):
            yield entry


def _followed(fs: AbstractFileSystem, entry: Mapping[str, Any], setting: str) -> Mapping[str, Any]:
    """Return what a link leads to, under the link's name; another entry as it is."""
    if not entry.get("islink"):
        return entry
    try:
        found: Mapping[str, Any] = fs.info(entry["name"])
    except OSError:
        raise InputError(f"{setting}: {entry['name']} is a link to nothing") from None
    return found


def _stamp(entry: Mapping[str, Any]) -> str:
    for key in ("ETag", "etag", "md5Hash", "LastModified", "last_modified", "Last-Modified", "updated", "mtime", "CRC"):
        if entry.get(key):
            return str(entry[key]).strip('"')
    return ""
