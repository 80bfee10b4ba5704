"""Vintages in a folder of a disk: each a folder, which gets its name when it is whole."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from ticlm.core.errors import InputError, RunError, of_storage
from ticlm.core.integrity.own_hash import content_hash
from ticlm.core.store import Store
from ticlm.core.writers.aside import aside
from ticlm.platform.publish.places import place
from ticlm.platform.publish.places.place import INPUTS, Sent

PUBLISHING = ".publishing-"
"""How the names of folders begin that are not whole yet."""


class FolderPlace:
    """A folder with a folder for each vintage.

    Files are copied into a folder beside, whose name has a hash of what they are to be: a run after a kill goes on in
    it, another run with the same files shares it, and one with other files has another. It is then renamed to the
    label, which fails where a vintage stands.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder

    def address(self, label: str) -> str:
        return str(self.folder / label)

    def labels(self) -> list[str]:
        with _writing(self.folder):
            return place.in_order(Store(self.folder).folders())

    def index(self) -> bytes | None:
        file = self.folder / place.INDEX
        return file.read_bytes() if file.is_file() else None

    def revision(self, label: str) -> str:
        return ""

    def put(self, label: str, folder: Path, message: str) -> Sent:
        place.check_label(label)
        wanted = place.files_of(folder)
        with _writing(self.folder):
            digests = {path: place.sha256_of(file) for path, file in wanted.items()}
            sent = 0
            if not (self.folder / label).is_dir():
                sent = self._publish(label, wanted, digests)
            self._compare(label, digests)
            for left in self.folder.glob(f"{PUBLISHING}{label}.*"):  # a vintage stands: no run can finish these
                shutil.rmtree(left, ignore_errors=True)
        return Sent("", sent)

    def _publish(self, label: str, wanted: dict[str, Path], digests: dict[str, str]) -> int:
        """Make the folder of a vintage, unless another run is faster; return the bytes that were copied."""
        attempt = self.folder / f"{PUBLISHING}{label}.{content_hash(digests)[:12]}"
        try:
            sent = sum(_copied(file, attempt / path, digests[path]) for path, file in wanted.items())
            for path, file in place.files_of(attempt).items():
                if path not in wanted:
                    file.unlink()  # half a file, of a run that was killed
            for below in (attempt, *(path for path in attempt.rglob("*") if path.is_dir())):
                _sync(below)
            attempt.rename(self.folder / label)
        except OSError:
            if not (self.folder / label).is_dir():
                raise
            return 0  # by another run, which renamed the folder that both wrote to, or had one of its own
        _sync(self.folder)
        return sent

    def _compare(self, label: str, digests: dict[str, str]) -> None:
        there = place.files_of(self.folder / label)
        same = {path: digests.get(path) == place.sha256_of(file) for path, file in there.items()}
        place.refuse_change(self.address(label), digests, same)

    def put_main(self, folder: Path, message: str) -> Sent:
        with _writing(self.folder):
            return self._copy_all(place.above(folder), self.folder)

    def put_inputs(self, files: Iterable[tuple[str, Path]], message: str) -> Sent:
        with _writing(self.folder):
            return self._copy_all(place.inputs_of(files), self.folder / INPUTS)

    @staticmethod
    def _copy_all(files: dict[str, Path], to: Path) -> Sent:
        return Sent("", sum(_copied(file, to / path, place.sha256_of(file)) for path, file in files.items()))

    @contextmanager
    def get(self, label: str) -> Iterator[Path]:
        if label not in self.labels():
            raise place.no_vintage(self.address(label), self.labels())
        yield self.folder / label

    def files(self, label: str) -> dict[str, str]:
        with self.get(label) as folder, _writing(self.folder):
            return {path: place.sha256_of(file) for path, file in place.files_of(folder).items()}


def _copied(file: Path, to: Path, digest: str) -> int:
    """Copy a file to where it is not; return the bytes that were copied. Nobody sees half of it."""
    size = file.stat().st_size
    if to.is_file() and to.stat().st_size == size and place.sha256_of(to) == digest:
        return 0
    with aside(str(to)) as (temporary, opened), file.open("rb") as source:
        shutil.copyfileobj(source, opened, place.BLOCK)
    try:
        if place.sha256_of(temporary) != digest:
            raise RunError(f"{file}: changed while it was published; run the same command again")
        os.replace(temporary, to)
    finally:
        temporary.unlink(missing_ok=True)
    return size


def _sync(folder: Path) -> None:
    """Force the names in a folder onto the disk itself."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


@contextmanager
def _writing(folder: Path) -> Iterator[None]:
    """Raise InputError, in one line, for what the disk says in the block."""
    try:
        yield
    except OSError as error:
        what = f"{error.filename or folder}: {error.strerror or error}"
        remedy = "publish to another folder"
        if of_storage(error) is not None:
            remedy = "free some space or publish to another folder, then run the same command again"
        raise InputError(f"{what}; {remedy}") from None
