"""Roots, local or remote: reading, writing, creating and listing files.

A root is any filesystem of fsspec that shows a file to every reader once its write has returned, lists what was
written, writes a file whole or not at all, and can create one only if it is absent (on s3:// and gs:// by a
conditional put). A call to a remote root is repeated while its server is out of reach (`remote.patient`).

`core/integrity/records.py` says how the files of a piece of work become valid together.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

import fsspec
from fsspec.implementations.local import LocalFileSystem

from ticlm.core.errors import InputError
from ticlm.core.remote.patient import Patient
from ticlm.core.signals import Threads
from ticlm.core.writers import lease_files
from ticlm.core.writers.aside import WRITING, aside

READERS = 32
"""Small files read or written at the same time on a remote root, where one alone waits 20 ms or more for an answer."""
SMALL = 1 << 22
"""Bytes of a file that is small. A larger one is sent in parts side by side, each of up to 50 MB in memory."""


class Store:
    """A folder on any filesystem that fsspec knows; paths are relative to it, with forward slashes.

    If it has the number of a `lease`, then `write`, `create` and `remove` raise TakenOver, and change nothing, once a
    later writer has taken the root over. A copy in another process keeps the number.
    """

    def __init__(self, root: str | os.PathLike[str], lease: int | None = None) -> None:
        self.root, self.lease = str(root).rstrip("/") or "/", lease
        try:
            # Other processes write here too: a cached listing would hide their files.
            fs, base = fsspec.url_to_fs(self.root, use_listings_cache=False, **_connections(self.root))
        except (ImportError, ValueError) as error:
            raise InputError(f"root {self.root}: {error}") from None
        self.base = base.rstrip("/")
        self.is_local = isinstance(fs, LocalFileSystem)
        # s3fs asks for a file's size before it reads it, unless it is to read it by one request.
        self._at_once = {"max_concurrency": 1} if "s3" in fs.protocol else {}
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
        if self.is_local:  # not by fsspec, which takes four times as long for a small file
            with open(self.path(path), "rb") as file:
                return file.read()
        return cast(bytes, self.fs.cat_file(self.path(path), **self._at_once))

    def read_all(self, paths: Iterable[str]) -> Iterator[bytes | None]:
        """Yield the bytes of each file in the order of `paths`, None where there is none. READERS of them are read side
        by side from a remote root."""
        if self.is_local:  # a thread costs more than what it would wait for
            yield from map(self._read_or_none, paths)
            return
        with Threads(READERS) as pool:
            yield from pool.map(self._read_or_none, paths)

    def _read_or_none(self, path: str) -> bytes | None:
        try:
            return self.read(path)
        except (FileNotFoundError, NotADirectoryError):
            return None

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

    def states(self, path: str = "") -> dict[str, str]:
        """Return the files below the folder `path`, from one listing: path relative to it -> a text that changes when
        the file is written anew (its size, and its time or tag). In the order of the paths; without files being
        written."""
        if self.is_local:
            found = dict(_local_states(self.path(path)))
        else:
            entries = self.fs.find(self.path(path), detail=True)
            start = len(self.path(path))
            found = {str(name)[start:].lstrip("/"): _state(entry) for name, entry in entries.items()}
        return {name: found[name] for name in sorted(found) if not name.rsplit("/", 1)[-1].startswith(WRITING)}

    def upload(self, folder: Path, path: str) -> None:
        """Copy the files of a local folder to `path`; the small ones side by side to a remote root."""

        def put(file: Path) -> None:
            target = f"{self.path(path)}/{file.relative_to(folder).as_posix()}"
            if self.is_local:
                Path(target).parent.mkdir(parents=True, exist_ok=True)
            self.fs.put_file(str(file), target)

        files = sorted(p for p in folder.rglob("*") if p.is_file())
        small = {file for file in files if not self.is_local and file.stat().st_size <= SMALL}
        with Threads(READERS) as pool:
            deque(pool.map(put, small), maxlen=0)
        for file in files:
            if file not in small:
                put(file)

    @contextmanager
    def local(self, path: str) -> Iterator[Path]:
        """Give the folder `path` as a local one: itself on a local root, else a copy that is deleted afterwards."""
        if self.is_local:
            yield Path(self.path(path))
            return
        with tempfile.TemporaryDirectory(prefix="ticlm-") as folder:
            for name in self.walk(path):
                if ".." in name.split("/"):  # a bucket may be a stranger's, and its keys any text
                    raise InputError(f"{self.uri(path)}: {name!r} leads out of the folder that it would be copied to")
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


def _connections(root: str) -> dict[str, Any]:
    """Return the options by which the client of a bucket holds as many connections as there are readers."""
    if not root.startswith(("s3://", "s3a://")):
        return {}
    own = fsspec.config.conf.get("s3", {}).get("config_kwargs", {})
    return {"config_kwargs": {"max_pool_connections": READERS} | own}  # botocore's own number is 10


def _state(entry: Mapping[str, Any]) -> str:
    """Return the state of a file as a listing of a bucket tells it: its size, and its tag or else its time."""
    tag = next((entry[name] for name in ("ETag", "etag", "md5Hash") if entry.get(name)), None)
    changed = tag or entry.get("LastModified") or entry.get("updated") or entry.get("created")
    return f"{entry['size']} {changed}"


def _local_states(folder: str, below: str = "") -> Iterator[tuple[str, str]]:
    """Yield (path relative to the first folder, size and time in nanoseconds) of all files in a folder of a disk."""
    # By hand: fsspec makes a dict of twelve entries of each file, which takes ten times as long.
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                yield from _local_states(entry.path, f"{below}{entry.name}/")
            else:
                with suppress(FileNotFoundError):  # removed since it was listed
                    stat = entry.stat()
                    yield f"{below}{entry.name}", f"{stat.st_size} {stat.st_mtime_ns}"
