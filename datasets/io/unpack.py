"""Decompression: the bytes of the files inside an archive, as streams, for .gz, .bz2, .zst and .7z."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import shutil
import sys
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from ticlm.core.extras import require
from ticlm.datasets.io.fetching import Unreachable, opened

BLOCK = 1 << 20
_ZSTD_BLOCK = 1 << 12  # a block of zstd can be 30,000 times as large once unpacked
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst", b"7z\xbc\xaf\x27\x1c": ".7z"}


class Damaged(OSError):
    """An archive that is cut off or damaged; the message names it, in one line."""


def unpacked(path: str, member: Callable[[str], bool] | None = None) -> Iterator[tuple[str, BinaryIO]]:
    """Yield (name, stream) of each file inside the archive at a local path or URI.

    A `.7z` gives its members for which `member(name)` is true, in their order; `.gz`, `.bz2` (also of several streams)
    and `.zst` give the one file in them; any other file gives itself. The first bytes say what a file is.

    Read a stream in order, before the next one is asked for; it holds a few MiB. Reading raises Damaged if the archive
    is cut off or damaged; what came before was right as far as the format can tell. Errors of the disk and of the
    network (Unreachable) are raised as they are.
    """
    with _as_damaged(path), opened(path) as raw:
        packing = _packing(path, raw)
        raw.seek(0)
        if packing == ".7z":
            with _on_disk(path, raw) as local:
                yield from _members(path, local, member or (lambda name: True))
            return
        name = os.path.basename(path)
        yield name.removesuffix(packing) if packing else name, _stream(path, _blocks(raw, packing))


@contextmanager
def unpacked_file(path: str) -> Iterator[BinaryIO]:
    """Open the file at a local path or URI, unpacked if it ends in `.gz`. Raises as `opened` and `unpacked` do."""
    if not path.endswith(".gz"):
        with opened(path) as raw:
            yield raw
        return
    for _, stream in unpacked(path):
        yield stream


def _packing(path: str, raw: BinaryIO) -> str:
    """Return the usual suffix of the file's compression, whatever its own suffix is; "" if it has none."""
    head = raw.read(6)
    for magic, packing in _MAGIC.items():
        if head.startswith(magic):
            return packing
    suffix = os.path.splitext(path)[1]
    if suffix in _MAGIC.values():
        raise Damaged(f"{path} is named {suffix} and does not begin like one")
    return ""


def _blocks(raw: BinaryIO, packing: str) -> Iterator[bytes]:
    if packing == ".zst":
        yield from _frames(raw)
        return
    file: Any = {".gz": lambda: gzip.GzipFile(fileobj=raw), ".bz2": lambda: bz2.BZ2File(raw)}.get(
        packing, lambda: raw
    )()
    while block := file.read1(BLOCK):  # read would lose what it has where an archive breaks off
        yield block


def _frames(raw: BinaryIO) -> Iterator[bytes]:
    """Yield the bytes of all frames of a zstd file; the library's own reader does not notice one that is cut off."""
    import zstandard

    unpacker = zstandard.ZstdDecompressor(max_window_size=1 << 31)
    frame = unpacker.decompressobj()
    begun = False
    while packed := raw.read(_ZSTD_BLOCK):
        while packed:
            begun = True
            yield frame.decompress(packed)
            packed = frame.unused_data if frame.eof else b""
            if frame.eof:
                frame, begun = unpacker.decompressobj(), False
    if begun:
        raise EOFError("its last frame has no end")


@contextmanager
def _on_disk(path: str, raw: BinaryIO) -> Iterator[str]:
    """Give a local path of the file. A remote 7z is copied first, as its table of contents is at its end."""
    if "://" not in path:
        yield os.path.expanduser(path)
        return
    with tempfile.NamedTemporaryFile(prefix="ticlm-", suffix=".7z") as local:
        shutil.copyfileobj(raw, local, BLOCK)
        local.flush()
        yield local.name


def _members(path: str, local: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, BinaryIO]]:
    require(f"{path}: an archive of 7z", "wiki", "py7zr")
    from ticlm.datasets.io.sevenzip import Extraction

    with Extraction(local, wanted) as extraction:
        while (name := extraction.following()) is not None:
            yield name, _stream(path, extraction.blocks())


def _stream(path: str, blocks: Iterator[bytes]) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_UnpackedBlocks(path, blocks), 1 << 16))


class _UnpackedBlocks(io.RawIOBase):
    """A stream of blocks of bytes, whose errors name the path."""

    def __init__(self, path: str, blocks: Iterator[bytes]) -> None:
        self._path, self._blocks = path, blocks
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        into = memoryview(buffer).cast("B")
        with _as_damaged(self._path):
            while not self._held:
                block = next(self._blocks, None)
                if block is None:
                    return 0
                self._held = memoryview(block)
        count = min(len(into), len(self._held))
        into[:count] = self._held[:count]
        self._held = self._held[count:]
        return count


@contextmanager
def _as_damaged(path: str) -> Iterator[None]:
    """Turn errors of the decompressors into Damaged, with the path."""
    import lzma

    import zstandard

    try:
        yield
    except (Damaged, Unreachable):
        raise
    except _of_7z("PasswordRequired") as error:  # whose own words are the archive's coders
        raise Damaged(f"{path} is packed with a password; unpack it first") from error
    except (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError) as error:
        raise Damaged(f"{path} is damaged: {_one_line(error)}") from error
    except _of_7z("ArchiveError") as error:
        raise Damaged(f"{path} is damaged: {_one_line(error)}") from error
    except OSError as error:
        if error.errno is not None:  # the disk's, not the unpacker's
            raise
        raise Damaged(f"{path} is damaged: {_one_line(error)}") from error


def _of_7z(name: str) -> tuple[type[Exception], ...]:
    """Return an error of py7zr, which is loaded once a .7z is read; before that nothing raises it."""
    found = sys.modules.get("py7zr.exceptions")
    return () if found is None else (getattr(found, name),)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
