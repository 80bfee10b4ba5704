"""Trees of files: a folder, or an archive (zip, wheel, tar) that is read file by file and never unpacked to disk."""

from __future__ import annotations

import errno
import hashlib
import lzma
import os
import re
import struct
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

from ticlm.core.errors import InputError, RunError
from ticlm.core.remote.credentials import whole
from ticlm.datasets.io import listing
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.fetching import opened

ARCHIVES = (".zip", ".whl", ".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
MOST_BYTES = 64 << 20
"""Larger files in a tree are left out."""
UNPACKED_BYTES = 32 << 30
"""Archives that unpack to more are refused."""
BLOCK = 1 << 20
OUTSIDE = "outside of its archive"
LINK = "a link"
TOO_LARGE = "too large"
ENCRYPTED = "encrypted"
_VERSIONED = re.compile(r"^v?\d|-v?\d|-[0-9a-f]{7,40}$|-(main|master|trunk)$")
_DAMAGE = (
    EOFError,
    zlib.error,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    RuntimeError,
    ValueError,
    struct.error,
)


def describe(path: str) -> Input:
    """Return a folder or archive as one input, whose stamp changes when a file in it changes.

    Raises InputError if there is no such folder or archive.
    """
    if "://" not in path:
        path = os.path.abspath(os.path.expanduser(path))
    try:
        files = listing.files((path,), ARCHIVES if path.endswith(ARCHIVES) else ("",))
    except InputError as error:
        reason = str(error).removeprefix("documents.paths: ").split("; formats", 1)[0]
        raise InputError(f"{reason}; it takes a folder, or an archive: {', '.join(ARCHIVES)}") from None
    if path.endswith(ARCHIVES):
        return Input(path=files[0].path, size=files[0].size, stamp=files[0].stamp)
    stamp = hashlib.sha256("\n".join(map(repr, files)).encode()).hexdigest()
    return Input(path=path, size=sum(file.size for file in files), stamp=stamp)


def files(path: str, refused: Callable[[str], str], sha256: str = "") -> Iterator[tuple[str, bytes | str]]:
    """Yield (path within the tree, bytes) for every file in a folder or archive, or (path, reason) for files left out.

    Left out are links, files that are too large, paths that lead out of the tree, and files for whose path `refused`
    returns a reason. If all files of an archive lie in one folder named after the release, paths begin below that
    folder. The format of an archive is read from its bytes, not from its name. Raises InputError if the archive is cut
    off or damaged, and RunError if its bytes do not have the given `sha256`.
    """
    if not path.endswith(ARCHIVES):
        yield from _in_folder(path, refused)
        return
    with _at_hand(path, sha256) as file:
        try:
            if zipfile.is_zipfile(file):
                yield from _in_zip(path, file, refused)
            else:
                file.seek(0)
                yield from _in_tar(path, file, refused)
        except (*_DAMAGE, OSError) as error:
            # EINVAL comes from a seek to an offset that a damaged archive gives; other numbers are errors of the disk
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise
            reason = " ".join(str(error).split()) or type(error).__name__
            raise InputError(f"{path}: cut off, damaged, or no archive: {reason}") from None


@contextmanager
def _at_hand(path: str, sha256: str) -> Iterator[BinaryIO]:
    """Open the archive as a local file with random access; a remote archive is copied to a temporary file."""
    with opened(path) as source, tempfile.TemporaryFile() as copy:
        file: Any = source if "://" not in path else copy
        digest = hashlib.sha256()
        while "://" in path or sha256:
            block = source.read(BLOCK)
            if not block:
                break
            digest.update(block)
            if file is copy:
                copy.write(block)
        if sha256 and digest.hexdigest() != sha256:
            raise RunError(f"{path}: its sha256 is {digest.hexdigest()}, not {sha256}, as its index says")
        file.seek(0)
        yield file


def _in_zip(path: str, file: BinaryIO, refused: Callable[[str], str]) -> Iterator[tuple[str, bytes | str]]:
    unpacked = 0
    with zipfile.ZipFile(file) as archive:
        entries = [entry for entry in archive.infolist() if not entry.is_dir()]
        top = _top([entry.filename for entry in entries])
        for entry in entries:
            name = entry.filename.removeprefix("./").removeprefix(top)
            link = entry.external_attr >> 28 == 0xA  # the upper half holds Unix's mode; S_IFLNK begins with 0xA
            reason = (
                _outside(name) or (LINK if link else "") or refused(name) or (ENCRYPTED if entry.flag_bits & 1 else "")
            )
            if reason:
                yield name, reason
                continue
            with archive.open(entry) as packed:
                data = packed.read(MOST_BYTES + 1)
            unpacked = _counted(path, unpacked + len(data))
            yield name, _bounded(data)


def _in_tar(path: str, file: BinaryIO, refused: Callable[[str], str]) -> Iterator[tuple[str, bytes | str]]:
    with tarfile.open(fileobj=file) as archive:
        entries = _entries(path, archive)
        top = _top([entry.name for entry in entries])
        for entry in entries:
            name = entry.name.removeprefix("./").removeprefix(top)
            reason = _outside(name) or ("" if entry.isreg() else LINK) or refused(name)
            if not reason and entry.size > MOST_BYTES:
                reason = TOO_LARGE
            member = None if reason else archive.extractfile(entry)
            if member is None:
                yield name, reason or LINK
                continue
            yield name, member.read()


def _entries(path: str, archive: tarfile.TarFile) -> list[tarfile.TarInfo]:
    """Return all entries except folders, after reading the archive once to its end to make sure that it is whole."""
    unpacked = 0
    for entry in archive:
        unpacked = _counted(path, unpacked + max(entry.size, 0))
    _check_end(archive)
    return [entry for entry in archive if not entry.isdir()]


def _check_end(archive: tarfile.TarFile) -> None:
    """Check that the archive has its end mark, and read the rest, which checks the compression's checksum.

    tarfile itself takes a damaged or missing header for the end.
    """
    rest: Any = archive.fileobj
    rest.seek(archive.offset)
    if rest.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise EOFError("its end is missing")
    while rest.read(BLOCK):
        pass


def _top(names: Sequence[str]) -> str:
    """Return the folder that holds all files of an archive if its name looks like that of a release (`numpy-1.13.0/`).

    That name changes with every release, so it must not be part of the files' names. Return "" if there is none.
    """
    tops = {top if slash else "" for top, slash, _ in (name.removeprefix("./").partition("/") for name in names)}
    top = tops.pop() if len(tops) == 1 else ""
    return f"{top}/" if _VERSIONED.search(top) else ""


def _in_folder(path: str, refused: Callable[[str], str]) -> Iterator[tuple[str, bytes | str]]:
    import fsspec

    fs, root = fsspec.url_to_fs(whole(path))
    for place, entry in sorted(fs.find(root, detail=True).items()):
        name = place.removeprefix(root.rstrip("/")).lstrip("/")
        reason = (LINK if entry.get("islink") else "") or refused(name)
        if not reason and int(entry.get("size") or 0) > MOST_BYTES:
            reason = TOO_LARGE
        if reason:
            yield name, reason
            continue
        with opened(place if "file" in fs.protocol else fs.unstrip_protocol(place)) as file:
            yield name, _bounded(file.read(MOST_BYTES + 1))


def _counted(path: str, unpacked: int) -> int:
    if unpacked > UNPACKED_BYTES:
        raise InputError(f"{path}: unpacks to more than {UNPACKED_BYTES:,} bytes")
    return unpacked


def _outside(name: str) -> str:
    return OUTSIDE if name.startswith(("/", "\\")) or ".." in name.replace("\\", "/").split("/") or ":" in name else ""


def _bounded(data: bytes) -> bytes | str:
    return TOO_LARGE if len(data) > MOST_BYTES else data
