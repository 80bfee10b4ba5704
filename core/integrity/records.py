"""Records: attempts at a piece of work, and the record that is written last and says that the work is done.

Each attempt writes under a folder of its own and nothing is ever renamed. The work counts as done once its
`record.json` exists; that record is created only if absent, and names the attempt's files with their hashes.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity import own_hash, remedies
from ticlm.core.settings import Settings
from ticlm.core.signals import Threads
from ticlm.core.store import Store

FORMAT = 1
HASHERS = 8
"""Files hashed at the same time: hashing releases Python's lock, and a large checkpoint has a file per worker."""


class StoredFile(Settings):
    """A file that a record names; `path` is relative to the attempt, `size` in bytes."""

    path: str
    size: int
    sha256: str


class Record(Settings):
    """Says that work is done: the files of the attempt that finished it, and facts `about` it."""

    format: int
    attempt: str
    created: str
    files: tuple[StoredFile, ...]
    about: Any
    sha256: str | None = None
    """Hash of all the rest of the record; None in records of earlier versions."""

    def file(self, path: str) -> StoredFile:
        """Return the entry of the file `path`."""
        return next(f for f in self.files if f.path == path)


class Attempt:
    """One attempt at the work in `folder`: files under `folder/<attempt>/`, and last of all a record in `folder`."""

    def __init__(self, store: Store, folder: str, name: str | None = None) -> None:
        self.store, self.folder = store, folder
        self.name = name or f"{time.strftime('%Y%m%dT%H%M%S')}-{uuid.uuid4().hex[:8]}"

    @property
    def path(self) -> str:
        return paths.attempt(self.folder, self.name)

    def publish(self, about: Mapping[str, Any], names: list[str] | None = None) -> Record:
        """Write the record, and return the record that now stands: this one, or a rival's who was first.

        The record names every file of this attempt, or just those in `names`, relative to the attempt's folder.
        """
        names = self.store.walk(self.path) if names is None else names

        def entry(name: str) -> StoredFile:
            path = f"{self.path}/{name}"
            self.store.sync(path)  # a record must not outlive the files it names when the power goes
            return StoredFile(path=name, size=self.store.size(path), sha256=self.store.sha256(path))

        with Threads(HASHERS) as pool:
            entries = list(pool.map(entry, names))
        created = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        record = Record(format=FORMAT, attempt=self.name, created=created, files=tuple(entries), about=dict(about))
        content = record.model_dump(mode="json", exclude={own_hash.KEY})
        record = record.model_copy(update={own_hash.KEY: own_hash.content_hash(content)})
        if not self.store.create(paths.record(self.folder), own_hash.with_hash(content)):
            standing = read_record(self.store, self.folder)
            assert standing is not None
            return standing
        return record


def read_record(store: Store, folder: str) -> Record | None:
    """Return the record of the work in `folder`, or None if it was never finished. Raises InputError if damaged."""
    try:
        data = store.read(paths.record(folder))
    except (FileNotFoundError, NotADirectoryError):
        return None
    return _parsed(store, folder, data)


def read_records(store: Store, folders: Sequence[str]) -> Iterator[Record | None]:
    """Yield the record of the work in each of these folders, None where there is none, in their order.

    A remote root is asked for many of them at once. Raises InputError at a damaged one.
    """
    for folder, data in zip(folders, store.read_all(map(paths.record, folders))):
        yield None if data is None else _parsed(store, folder, data)


def _parsed(store: Store, folder: str, data: bytes) -> Record:
    """Return the record whose file has these bytes."""
    try:
        record = Record.model_validate_json(data)
    except ValidationError as error:
        what = error.errors()[0]["msg"]
    else:
        content = {name: value for name, value in json.loads(data).items() if name != own_hash.KEY}
        if record.sha256 in (None, own_hash.content_hash(content)):
            return record
        what = own_hash.DIFFERS
    where = store.uri(paths.record(folder))
    raise InputError(f"{where} is damaged ({what}); {remedies.redone(store.uri(folder))}")
