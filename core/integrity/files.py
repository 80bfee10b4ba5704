"""Files against their records: their sizes and hashes."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import IO

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import HASHERS, StoredFile, read_record
from ticlm.core.signals import Threads
from ticlm.core.store import Store

WHOLE_BYTES = 32 << 20
"""Size up to which `checked` holds a file as a whole."""


def verify(store: Store, folder: str) -> list[str]:
    """Check the files that a record names; return one line for each that is missing or differs."""
    record = read_record(store, folder)
    if record is None:
        return [f"{folder}: no record"]

    def problem(entry: StoredFile) -> str | None:
        path = f"{paths.attempt(folder, record.attempt)}/{entry.path}"
        found = _difference(store, path, entry)
        return f"{path}: {found}" if found is not None else None

    with Threads(HASHERS) as pool:
        return [found for found in pool.map(problem, record.files) if found is not None]


def _difference(store: Store, path: str, entry: StoredFile) -> str | None:
    """Return how the file at `path` differs from what its record says, or None."""
    try:
        return _other_size(store.size(path), entry) or _other_hash(store.sha256(path), entry)
    except FileNotFoundError:
        return "missing"


def _other_size(size: int, entry: StoredFile) -> str | None:
    return f"{size} bytes, the record says {entry.size}" if size != entry.size else None


def _other_hash(sha256: str, entry: StoredFile) -> str | None:
    return "its hash differs from the record's" if sha256 != entry.sha256 else None


def read_checked(store: Store, entry: StoredFile, what: str, remedy: str) -> bytes:
    """Return the bytes of a file, with its path relative to the store. Raises InputError as `check_once` does."""
    data, found = b"", None
    try:
        data = store.read(entry.path)
        found = _other_size(len(data), entry) or _other_hash(hashlib.sha256(data).hexdigest(), entry)
    except FileNotFoundError:
        found = "missing"
    if found is not None:
        raise InputError(f"{what} {store.uri(entry.path)}: {found}; {remedy}")
    return data


_sound: set[tuple[str, str, str]] = set()
"""(URI, state, hash) of the files that this process has found sound."""


def check_once(store: Store, files: Sequence[StoredFile], what: str, remedy: str) -> None:
    """Compare files, with paths relative to the store, with their recorded hashes, `HASHERS` at the same time.

    A file is read once per process, and again only if it was written anew. Raises InputError for the first one that
    differs: it begins with `what` the file is, and ends with the `remedy`.
    """

    def problem(entry: StoredFile) -> str | None:
        try:
            known = store.uri(entry.path), store.state(entry.path), entry.sha256
        except FileNotFoundError:
            return "missing"
        found = None if known in _sound else _difference(store, entry.path, entry)
        if found is None:
            _sound.add(known)
        return found

    with Threads(HASHERS) as pool:
        for entry, found in zip(files, pool.map(problem, files)):
            if found is not None:
                raise InputError(f"{what} {store.uri(entry.path)}: {found}; {remedy}")


@contextmanager
def checked(store: Store, entry: StoredFile, what: str, remedy: str) -> Iterator[IO[bytes]]:
    """Open a file that is as its record says: in memory up to WHOLE_BYTES, else where it is. Raises InputError as
    `check_once` does."""
    # What is hashed in memory is what is read: nobody can change it in between. A larger file is hashed where it lies.
    if entry.size <= WHOLE_BYTES:
        yield io.BytesIO(read_checked(store, entry, what, remedy))
        return
    check_once(store, [entry], what, remedy)
    with store.fs.open(store.path(entry.path), "rb") as file:
        yield file
