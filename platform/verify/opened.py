"""Checked the vintage that a user names: on a hub, in a folder or bucket, or by the file of its certificate."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from ticlm.core import hub
from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.platform.publish.certificate import PREDICATE, VintageCertificate
from ticlm.platform.publish.forms.documents import read_object
from ticlm.platform.publish.forms.statement import InTotoStatement, parsed
from ticlm.platform.publish.places.opened import place_of
from ticlm.platform.publish.places.place import INDEX, LABEL, Place, is_label
from ticlm.platform.publish.vintage_files import CERTIFICATE

AT_END = re.compile(rf"-({LABEL.pattern})$")
"""A label at the end of a repository's name, the longest one."""


@dataclass(frozen=True)
class OpenedVintage:
    """A vintage as it lies on this machine. `place` is where its siblings are; None if it lies alone."""

    name: str
    label: str
    folder: Path
    place: Place | None
    statement: InTotoStatement
    certificate: VintageCertificate

    @property
    def told(self) -> str:
        """What it is, for a reader who sees nothing else: study, method, period, and the hash of its certificate."""
        about = self.certificate
        sha256 = hashlib.sha256((self.folder / CERTIFICATE).read_bytes()).hexdigest()
        return f"{about.study}/{about.method} {about.vintage} (certificate {sha256[:16]})"

    @cached_property
    def index(self) -> dict[str, Any]:
        """What stands above the vintages of its place; empty if there is nothing. Raises InputError if damaged."""
        data = None if self.place is None else self.place.index()
        return {} if data is None or self.place is None else read_object(data, f"{self.place.name}/{INDEX}")


@contextmanager
def opened(address: str, label: str = "") -> Iterator[OpenedVintage]:
    """Give the vintage that is named: `ORG/NAME@202406`, a folder or URI of one or of several, or a certificate's file.
    Of several, `label` chooses; the newest by default.

    Raises InputError if there is none, or if its certificate cannot be read.
    """
    place, found = _located(address.rstrip("/") if "://" not in address else address, label)
    with ExitStack() as stack:
        if place is not None:
            labels = place.labels()
            if not labels:
                raise InputError(f"{address}: no vintage is published there")
            wanted = found or labels[-1]
            folder, name = stack.enter_context(place.get(wanted)), place.address(wanted)
        else:
            folder, name, wanted = stack.enter_context(_local(address)), address, found
        statement, certificate = read_certificate(folder, name)
        yield OpenedVintage(name, wanted or certificate.vintage, folder, place, statement, certificate)


def read_certificate(folder: Path, name: str) -> tuple[InTotoStatement, VintageCertificate]:
    """Return the statement and the certificate of a vintage's folder. Raises InputError if it has none."""
    try:
        data = (folder / CERTIFICATE).read_bytes()
    except OSError:
        raise InputError(f"{name}: no {CERTIFICATE} there, so nothing is stated that could be checked") from None
    statement = parsed(data, f"{name}/{CERTIFICATE}", PREDICATE)
    return statement, parse(VintageCertificate, statement.predicate, f"{name}/{CERTIFICATE}")


def _located(address: str, label: str) -> tuple[Place | None, str]:
    """Return the place that holds the vintage, and its label ("": the newest); None for a folder that lies alone."""
    name = hub.parse(address)
    if name is not None and not Path(address).exists():
        if name.subfolder:
            return place_of(name.repository, "folders"), name.subfolder
        if name.revision:
            return place_of(name.repository), name.revision
        there = _by_layout(name.repository)
        if there.labels():
            return there, label
        found = AT_END.search(name.repository)
        if found is not None and is_label(found[1]):
            return place_of(name.repository[: found.start()], "repositories"), found[1]
        return there, label
    if not _is_vintage(address):
        store = Store(address)
        if not store.exists(INDEX):
            raise InputError(f"{address}: neither {INDEX} nor {CERTIFICATE} there, so no vintage")
        return place_of(address if "://" in address else str(Path(address).absolute())), label
    folder = _folder_of(address)
    parent, _, own = folder.rpartition("/")
    if parent and is_label(own) and Store(parent).exists(INDEX):
        return place_of(parent), own
    return None, own if is_label(own) else ""  # a folder that is called as another vintage is, is no such vintage


def _by_layout(repository: str) -> Place:
    """Return the place of a repository, by the layout that has vintages there."""
    for layout in ("branches", "folders", "repositories"):
        place = place_of(repository, layout)
        if place.labels():
            return place
    return place_of(repository)


def _is_vintage(address: str) -> bool:
    return Store(_folder_of(address)).exists(CERTIFICATE)


def _folder_of(address: str) -> str:
    """Return the folder of a vintage that is named by its folder or by the file of its certificate."""
    own = address.removesuffix(f"/{CERTIFICATE}")
    return own if "://" in own else str(Path(own).absolute())


@contextmanager
def _local(address: str) -> Iterator[Path]:
    with Store(_folder_of(address)).local("") as folder:
        yield folder
