"""Roots, local or remote: files, attempts, and records that are written last.

A root is any filesystem of fsspec that shows a file to every reader once its write has returned, lists what was
written, writes a file whole or not at all, and can create one only if it is absent (on s3:// and gs:// by a
conditional put). A call to a remote root is repeated while its server is out of reach (`remote.patient`).

Each attempt at a piece of work writes under a folder of its own and nothing is ever renamed. The work counts as done
once its `record.json` exists; that record is created only if absent, and names the attempt's files with their hashes.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import time
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem
from pydantic import ValidationError

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity import own_hash, remedies
from ticlm.core.remote.patient import Patient
from ticlm.core.settings import Settings
from ticlm.core.signals import Threads
from ticlm.core.writers import lease_files
from ticlm.core.writers.aside import WRITING, aside

FORMAT = 1
HASHERS = 8
"""Files hashed at the same time: hashing releases Python's lock, and a large checkpoint has a file per worker."""


class Store:
    """A folder on any filesystem that fsspec knows; paths are relative to it, with forward slashes.

    If it has the number of a `lease`, then `write`, `create` and `remove` raise TakenOver, and change nothing, once a
    later writer has taken the root over. A copy in another process keeps the number.
    """

    def __init__(self, root: str | os.PathLike[str], lease: int | None = None) -> None:
        self.root, self.lease = str(root).rstrip("/") or "/", lease
        try:
            # Other processes write here too: a cached listing would hide their files.
            fs, base = fsspec.url_to_fs(self.root, use_listings_cache=False)
        except (ImportError, ValueError) as error:
            raise InputError(f"root {self.root}: {error}") from None
        self.base = base.rstrip("/")
        self.is_local = isinstance(fs, LocalFileSystem)
        self.fs: Any = fs if self.is_local else Patient(fs)

    def __reduce__(self) -> tuple[type[Store], tuple[str, int | None]]:
        return Store, (self.root, self.lease)

    def __repr__(self) -> str:
        return f"Store({self.root!r})"

    def path(self, path: str = "") -> str:
        """Return the full path for `self.fs`, without the protocol."""
        return f"{self.base}/{path}" if path else self.base

    def uri(self, path: str = "") -> str:
        """Return the URI of a path, or its full path on a local disk."""
        return str(self.fs.unstrip_protocol(self.path(path))) if not self.is_local else self.path(path)

    def exists(self, path: str = "") -> bool:
        """Return whether there is a file or a folder."""
        return bool(self.fs.exists(self.path(path)))

    def size(self, path: str) -> int:
        """Return the size of a file in bytes."""
        return int(self.fs.size(self.path(path)))

    def read(self, path: str) -> bytes:
        """Return the bytes of a file."""
        return cast(bytes, self.fs.cat_file(self.path(path)))

    def read_json(self, path: str) -> dict[str, Any]:
        """Return the object in a JSON file."""
        return cast(dict[str, Any], json.loads(self.read(path)))

    def write(self, path: str, data: bytes) -> None:
        """Write or overwrite a file. On a local disk a reader sees the old bytes or the new ones, never a mixture."""
        self._check_lease()
        if not self.is_local:
            self.fs.pipe_file(self.path(path), data)
            return
        with aside(self.path(path)) as (temporary, file):
            file.write(data)
        os.replace(temporary, self.path(path))

    @contextmanager
    def writing(self, path: str) -> Iterator[IO[bytes]]:
        """Open a file to write or overwrite, a large one bit by bit; it is there when the block has ended well. If it
        ends badly, nothing is left on a local disk; in a bucket, the first part of the file may be there."""
        if not self.is_local:
            self._check_lease()
            with self.fs.open(self.path(path), "wb") as file:
                yield file
            return
        with aside(self.path(path)) as (temporary, file):
            yield file
            self._check_lease()
        os.replace(temporary, self.path(path))

    def create(self, path: str, data: bytes) -> bool:
        """Write a file atomically and only if absent; return False if something else is there already.

        Where the answer of a server is lost, a second try meets the file that the first one made: what is there is
        compared with what was to be written.
        """
        self._check_lease()
        if not self.is_local:
            try:
                self.fs.pipe_file(self.path(path), data, mode="create")  # a conditional put on s3:// and gs://
                return True
            except FileExistsError:
                with suppress(FileNotFoundError):  # removed since
                    return self.read(path) == data
                return False
        with aside(self.path(path)) as (temporary, file):
            file.write(data)
        try:
            # A link fails where a file is already; a rename would replace that file.
            os.link(temporary, self.path(path))
            return True
        except FileExistsError:
            # NFS may do the link, lose the answer and try again: two links mean that it was done.
            return os.stat(temporary).st_nlink == 2
        finally:
            os.unlink(temporary)

    def _check_lease(self) -> None:
        if self.lease is not None:
            lease_files.check(self, self.lease)

    def folders(self, path: str = "") -> list[str]:
        """Return the names of the folders directly below `path`, sorted; empty if `path` does not exist."""
        return self._names(path, "directory")

    def files(self, path: str = "") -> list[str]:
        """Return the names of the files directly below `path`, sorted, without those being written."""
        return [name for name in self._names(path, "file") if not name.startswith(WRITING)]

    def _names(self, path: str, kind: str) -> list[str]:
        try:
            entries = self.fs.ls(self.path(path), detail=True)
        except (FileNotFoundError, NotADirectoryError):
            return []
        return sorted(e["name"].rstrip("/").rsplit("/", 1)[-1] for e in entries if e["type"] == kind)

    def walk(self, path: str = "") -> list[str]:
        """Return the paths of all files below `path`, relative to it, sorted."""
        start = self.path(path)
        return sorted(str(name)[len(start) :].lstrip("/") for name in self.fs.find(start))

    def remove(self, path: str) -> None:
        """Remove a file, or a folder with all that it holds. It is no error if there is none."""
        self._check_lease()
        with suppress(FileNotFoundError):
            self.fs.rm(self.path(path), recursive=True)

    def sync(self, path: str) -> None:
        """Force a local file onto the disk itself."""
        if self.is_local:
            handle = os.open(self.path(path), os.O_RDONLY)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)

    def sha256(self, path: str) -> str:
        """Return the SHA-256 (hex) of a file."""
        digest = hashlib.sha256()
        with self.fs.open(self.path(path), "rb") as file:
            while block := file.read(1 << 22):
                digest.update(block)
        return digest.hexdigest()

    def state(self, path: str) -> str:
        """Return a text that changes when the file is written anew: of its size, and its time or tag."""
        return str(self.fs.ukey(self.path(path)))

    def upload(self, folder: Path, path: str) -> None:
        """Copy the files of a local folder to `path`."""
        for file in sorted(p for p in folder.rglob("*") if p.is_file()):
            target = f"{self.path(path)}/{file.relative_to(folder).as_posix()}"
            if self.is_local:
                Path(target).parent.mkdir(parents=True, exist_ok=True)
            self.fs.put_file(str(file), target)

    @contextmanager
    def local(self, path: str) -> Iterator[Path]:
        """Give the folder `path` as a local one: itself on a local root, else a copy that is deleted afterwards."""
        if self.is_local:
            yield Path(self.path(path))
            return
        with tempfile.TemporaryDirectory(prefix="ticlm-") as folder:
            for name in self.walk(path):
                target = Path(folder, name)
                target.parent.mkdir(parents=True, exist_ok=True)
                self.fs.get_file(f"{self.path(path)}/{name}", str(target))
            yield Path(folder)

    def check_writable(self) -> None:
        """Raise InputError if nothing can be written here."""
        probe = f".probe-{uuid.uuid4().hex}"
        try:
            self.write(probe, b"")
            self.remove(probe)
        except OSError as error:
            raise InputError(f"root {self.root} is not writable: {error.strerror or error}") from None


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
        record = Record.model_validate_json(data)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except ValidationError as error:
        what = error.errors()[0]["msg"]
    else:
        content = {name: value for name, value in json.loads(data).items() if name != own_hash.KEY}
        if record.sha256 in (None, own_hash.content_hash(content)):
            return record
        what = own_hash.DIFFERS
    where = store.uri(paths.record(folder))
    raise InputError(f"{where} is damaged ({what}); {remedies.redone(store.uri(folder))}")
