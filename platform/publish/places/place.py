"""What a place promises that vintages are published to, and what all places share: labels, files and their hashes."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from ticlm.core.errors import InputError, RunError
from ticlm.core.periods import span

Layout = Literal["branches", "folders", "repositories"]
"""How vintages lie on a hub: each on a branch; each in a folder of `main`; each in a repository of its own."""
LABEL = re.compile(r"\d{6}(\d\d)?(-\d{6}(\d\d)?)?")
"""Labels as `core.periods.of_days` writes them. Other branches, folders and repositories are none of ours."""
INDEX = "vintages.json"
ABOVE = ("README.md", INDEX)
"""Files that stand above the vintages, in the order in which they are written where each is written by itself."""
INPUTS = "inputs"
HUB = "hf:"
"""What the names of places on a hub begin with."""
BLOCK = 1 << 22


@dataclass(frozen=True)
class Sent:
    """What publishing did: the commit that holds the files now ("" but on a hub), and the bytes of the files that were
    not there. A file whose sending a kill broke off counts again, though a hub may have kept its bytes."""

    revision: str
    bytes: int


class Place(Protocol):
    """Where vintages are published. A kill at any moment leaves what the next call completes, and never a vintage that
    is not whole.

    All methods raise InputError or RunError, in one line, if the place cannot be reached, read or written.
    """

    @property
    def name(self) -> str:
        """What certificates call the place: `hf:ORG/NAME`, or the folder or URI."""

    def address(self, label: str) -> str:
        """Return what names one vintage to whoever loads it: `ORG/NAME@202406`, `ORG/NAME:202406`, a path or URI."""

    def labels(self) -> list[str]:
        """Return the labels of the vintages that are whole, oldest first."""

    def index(self) -> bytes | None:
        """Return the bytes of `vintages.json` above the vintages; None if it is not there."""

    def revision(self, label: str) -> str:
        """Return the commit that holds a vintage; "" but on a hub."""

    def put(self, label: str, folder: Path, message: str) -> Sent:
        """Publish the files of a local folder as one vintage, whole or not at all. Files that are there are not sent.

        Raises InputError, which names a file, if this vintage stands with other files: it never changes.
        """

    def put_main(self, folder: Path, message: str) -> Sent:
        """Publish what stands above the vintages: the files ABOVE of a folder and, where vintages are branches, all of
        them, as the newest vintage stands there too. This may change."""

    def put_inputs(self, files: Iterable[tuple[str, Path]], message: str) -> Sent:
        """Publish files that rounds were made from: (path as in a root, local file). Nothing else there is changed. A
        call that was broken off goes on where it stopped, to within a batch."""

    def get(self, label: str) -> AbstractContextManager[Path]:
        """Give the files of a vintage as a local folder, to read only, which may be gone after the block."""

    def files(self, label: str) -> dict[str, str]:
        """Return the SHA-256 (hex) of each file of a vintage, by its path, sorted. Raises InputError if there is no
        such vintage."""


class Rivalled(RunError):
    """Somebody else published to the same place between two requests; what is there has to be looked at again."""


def check_label(label: str) -> None:
    """Raise InputError if a text is not the label of a period."""
    if not is_label(label):
        raise InputError(f"{label}: no label of a period, which are YYYYMM, YYYYMMDD and FIRST-LAST")


def is_label(text: str) -> bool:
    """Return whether a text is the label of a period."""
    if LABEL.fullmatch(text) is None:
        return False
    try:
        span(text)
    except ValueError:
        return False
    return True


def in_order(names: Iterable[str]) -> list[str]:
    """Return the labels among some names, the period that ends first before the others."""
    return sorted({name for name in names if is_label(name)}, key=lambda label: (span(label)[1], span(label)[0]))


def files_of(folder: Path) -> dict[str, Path]:
    """Return the files of a local folder by their paths in it, sorted. Raises InputError if there are none."""
    found = {file.relative_to(folder).as_posix(): file for file in folder.rglob("*") if file.is_file()}
    if not found:
        raise InputError(f"{folder}: no folder here with files to publish")
    return dict(sorted(found.items()))


def inputs_of(files: Iterable[tuple[str, Path]]) -> dict[str, Path]:
    """Return local files by the paths that they get below INPUTS, sorted. Raises InputError if a file is not there, or
    if a path leads elsewhere."""
    found = dict(sorted(files))
    for path, file in found.items():
        if not {"", ".", ".."}.isdisjoint(path.split("/")):
            raise InputError(f"{path}: the path of an input is relative, as it is in a root")
        if not file.is_file():
            raise InputError(f"{file}: no such file, which is to be published as {path}")
    return found


def above(folder: Path) -> dict[str, Path]:
    """Return those files of a folder that stand above the vintages, in the order in which they are written."""
    found = {name: folder / name for name in ABOVE if (folder / name).is_file()}
    if not found:
        raise InputError(f"{folder}: neither {' nor '.join(ABOVE)} is here to publish")
    return found


def sha256_of(file: Path) -> str:
    """Return the SHA-256 (hex) of a local file."""
    digest = hashlib.sha256()
    with file.open("rb") as opened:
        while block := opened.read(BLOCK):
            digest.update(block)
    return digest.hexdigest()


def refuse_change(address: str, wanted: Iterable[str], there: Mapping[str, bool]) -> None:
    """Raise InputError if a vintage that stands has other files than are to be published: `there` says of each of its
    files whether it is the same."""
    for path in sorted({*wanted, *there}):
        if there.get(path) and path in wanted:
            continue
        how = "is not there" if path not in there else "is not here" if path not in wanted else "differs"
        raise InputError(f"{address} stands with other files ({path} {how}), and a published vintage never changes")


def no_vintage(address: str, labels: list[str]) -> InputError:
    """Return the error for a vintage that is not there."""
    have = f"{labels[0]} … {labels[-1]} ({len(labels)})" if labels else "none"
    return InputError(f"{address}: no such vintage is published; there are {have}")
