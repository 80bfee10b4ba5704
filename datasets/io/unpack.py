"""Unpacked: the bytes inside a file, read in order, whatever it is packed with."""

from __future__ import annotations

import bz2
import gzip
import io
import os
import shutil
import tempfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO, cast

from ticlm.datasets.io.fetching import Unreachable, opened

BLOCK = 1 << 20
_ZSTD_BLOCK = 1 << 12  # a block of zstd can be 30,000 times as large once unpacked
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\x28\xb5\x2f\xfd": ".zst", b"7z\xbc\xaf\x27\x1c": ".7z"}


class Damaged(OSError):
    """A packed file that breaks off or does not hold what it says; the message names it, in one line."""


def unpacked(path: str, member: Callable[[str], bool] | None = None) -> Iterator[tuple[str, BinaryIO]]:
    """(name, bytes) of each file inside the one at a local path or URI: of a `.7z` its members for whose names `member`
    holds, in their order; of `.gz`, `.bz2` (of several streams, too) and `.zst` the one that is in it; else the file
    itself. How it begins says what it is.

    A stream can be read in order while the iterator lives and until its next is asked for, and holds a few MiB. Reading
    raises Damaged where an archive is cut off or broken: what came before it was right as far as its format can tell.
    Errors of the disk and of the network (Unreachable) pass through.
    """
    with _told(path), opened(path) as raw:
        packing = _packing(path, raw)
        raw.seek(0)
        if packing == ".7z":
            with _on_disk(path, raw) as local:
                yield from _members(path, local, member or (lambda name: True))
            return
        name = os.path.basename(path)
        yield name.removesuffix(packing) if packing else name, _stream(path, _blocks(raw, packing))


def _packing(path: str, raw: BinaryIO) -> str:
    """The suffix of what the file is packed with, whatever its own is; "" where it is not packed."""
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
    """All frames of a zstd file; its own reader takes one that is cut off for one that ended."""
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
    """A local path of the file: 7z has its table of contents at the end, so that one from afar is fetched first."""
    if "://" not in path:
        yield os.path.expanduser(path)
        return
    with tempfile.NamedTemporaryFile(prefix="ticlm-", suffix=".7z") as local:
        shutil.copyfileobj(raw, local, BLOCK)
        local.flush()
        yield local.name


def _members(path: str, local: str, wanted: Callable[[str], bool]) -> Iterator[tuple[str, BinaryIO]]:
    from ticlm.datasets.io.sevenzip import Extraction

    with Extraction(local, wanted) as extraction:
        while (name := extraction.following()) is not None:
            yield name, _stream(path, extraction.blocks())


def _stream(path: str, blocks: Iterator[bytes]) -> BinaryIO:
    return cast(BinaryIO, io.BufferedReader(_Blocks(path, blocks), 1 << 16))


class _Blocks(io.RawIOBase):
    """Blocks of bytes as one stream, whose errors tell the path."""

    def __init__(self, path: str, blocks: Iterator[bytes]) -> None:
        self._path, self._blocks = path, blocks
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        into = memoryview(buffer).cast("B")
        with _told(self._path):
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
def _told(path: str) -> Iterator[None]:
    """What the unpackers raise becomes Damaged, with the path."""
    import lzma

    import py7zr.exceptions as sevenzip
    import zstandard

    breaks = (EOFError, zlib.error, lzma.LZMAError, zstandard.ZstdError, sevenzip.ArchiveError)
    try:
        yield
    except (Damaged, Unreachable):
        raise
    except sevenzip.PasswordRequired as error:  # whose own words are the archive's coders
        raise Damaged(f"{path} is packed with a password; unpack it first") from error
    except breaks as error:
        raise Damaged(f"{path} is damaged: {_said(error)}") from error
    except OSError as error:
        if error.errno is not None:  # the disk's, not the unpacker's
            raise
        raise Damaged(f"{path} is damaged: {_said(error)}") from error


def _said(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
