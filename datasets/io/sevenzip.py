"""Members of a 7z archive as streams: py7zr pushes what it decompresses; here it waits until it is read."""

from __future__ import annotations

import io
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from types import TracebackType
from typing import Any

from py7zr import SevenZipFile
from py7zr.io import Py7zIO, WriterFactory

from ticlm.core.signals import join, next_of

PIECE = 1 << 18  # bytes that are passed to the reader at once
PIECES = 16
"""Pieces that are decompressed ahead of the reader."""
SIP = 1 << 14  # packed bytes that py7zr gets for a read, instead of the 32 MiB that it asks for


class Extraction:
    """Decompresses in a thread, at most PIECES ahead of the reader. `following` returns the name of the next member
    (None at the end) and skips the unread rest of the one before; `blocks` yields its bytes."""

    def __init__(self, path: str, wanted: Callable[[str], bool]) -> None:
        self._path, self._wanted = path, wanted
        self._pipe = _Pipe()
        self._thread = threading.Thread(target=self._run, name="unpack 7z", daemon=True)
        self._within = False

    def __enter__(self) -> Extraction:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._pipe.left.set()
        join(self._thread)

    def following(self) -> str | None:
        for _ in self.blocks():
            pass
        name = self._pipe.pull()
        self._within = name is not None
        return None if name is None else str(name)

    def blocks(self) -> Iterator[bytes]:
        while self._within:
            block = self._pipe.pull()
            if block is None:
                self._within = False
            else:
                yield block

    def _run(self) -> None:
        try:
            with _Sips(self._path) as file, SevenZipFile(file) as archive:
                names = [one.filename for one in archive.files if not one.is_directory and self._wanted(one.filename)]
                file.sips = True
                if names:
                    archive.extract(targets=names, factory=_Factory(self._pipe))
                self._pipe.push(None)
        except _Left:
            pass
        except BaseException as error:
            self._pipe.fail(error)


class _Left(Exception):
    """The reader has left."""


class _Pipe:
    """Passes names, blocks, and None (the end of a member, and of all) from one thread to another."""

    def __init__(self) -> None:
        self.left = threading.Event()
        self._queue: queue.Queue[Any] = queue.Queue(PIECES)

    def push(self, item: object) -> None:
        while not self.left.is_set():
            try:
                self._queue.put(item, timeout=0.1)
                return
            except queue.Full:
                continue
        raise _Left

    def fail(self, error: BaseException) -> None:
        with suppress(_Left):
            self.push(error)

    def pull(self) -> Any:
        """Return the next item. An error of the other side is raised, each time."""
        item = next_of(self._queue)
        if isinstance(item, BaseException):
            self._queue.put(item)
            raise item
        return item


class _Sips(io.FileIO):
    """A file that reads a little at a time: py7zr reads 32 MiB for every block that it decompresses, and keeps them."""

    sips = False

    def read(self, size: int | None = -1, /) -> bytes:
        if self.sips and size is not None and size > SIP:
            size = SIP
        return super().read(-1 if size is None else size)


class _Factory(WriterFactory):  # type: ignore[misc]
    def __init__(self, pipe: _Pipe) -> None:
        self._pipe = pipe

    def create(self, filename: str) -> Py7zIO:
        self._pipe.push(filename)
        return _Writer(self._pipe)


class _Writer(Py7zIO):  # type: ignore[misc]
    """The target of one member for py7zr, which closes it if the checksum is right."""

    def __init__(self, pipe: _Pipe) -> None:
        self._pipe = pipe

    def write(self, s: bytes | bytearray) -> int:
        for start in range(0, len(s), PIECE):
            self._pipe.push(bytes(s[start : start + PIECE]))
        return len(s)

    def close(self) -> None:
        self._pipe.push(None)

    def read(self, size: int | None = None) -> bytes:
        return b""

    def seek(self, offset: int, whence: int = 0) -> int:
        return 0

    def flush(self) -> None:
        pass

    def size(self) -> int:
        return 0
