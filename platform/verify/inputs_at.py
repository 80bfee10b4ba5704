"""The inputs of a vintage, wherever they lie, as a root on this machine that holds what is asked of it and no more."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

from ticlm.core.errors import InputError, TiclmError, in_one_line
from ticlm.core.store import Store
from ticlm.platform.publish.certificate import is_inside
from ticlm.platform.publish.places.hub_repository import MAIN, HubRepository
from ticlm.platform.publish.places.place import HUB, INPUTS, Place

REMOTE = (HUB, "s3://", "gs://", "https://")
"""What inputs that a certificate names may begin with; any other place has to be named by the user."""


class InputsGone(InputError):
    """Inputs, or a file of them, are not where they are said to be."""


class PublishedInputs:
    """Inputs at a folder, at a URI, or in a repository of a data set (`hf:ORG/NAME`), as they are when they are first
    asked for. `folder` is where files are put that do not lie on this machine."""

    def __init__(self, where: str, folder: Path) -> None:
        self.where, self.folder = where, folder
        self._store = None if where.startswith(HUB) else Store(where)
        self._repository = HubRepository(where.removeprefix(HUB), "dataset")

    @property
    def is_local(self) -> bool:
        """Whether they lie on a disk of this machine."""
        return self._store is not None and self._store.is_local

    @cached_property
    def _commit(self) -> str:
        heads = self._repository.heads()
        if heads is None:
            raise InputsGone(f"{self.where}: no such data set, or none that may be read")
        return heads[MAIN]

    @cached_property
    def _names(self) -> list[str]:
        """The paths of all files, from one listing."""
        try:
            found = self._store.walk() if self._store is not None else [*self._repository.listed(self._commit)]
        except InputsGone:
            raise
        except (OSError, TiclmError) as error:
            raise InputsGone(f"{self.where}: {in_one_line(error)}") from None
        return [name for name in found if is_inside(name)]  # others would be written outside the folder

    def has(self, name: str) -> bool:
        """Return whether there is such a file."""
        return name in self._names

    def fetch(self, patterns: Iterable[str]) -> Path:
        """Return the local root that holds all files that match these patterns, after fetching those it lacks.

        Raises InputsGone if there is no such place, or if a pattern matches nothing there.
        """
        wanted: list[str] = []
        for pattern in dict.fromkeys(patterns):
            matching = fnmatch.filter(self._names, pattern)
            if not matching:
                raise InputsGone(f"{self.where} has no {pattern}")
            wanted += matching
        if self._store is None:
            return self._repository.fetched(self._commit, wanted)
        for name in () if self._store.is_local else wanted:
            target = self.folder / name
            if not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(self._store.read(name))
        return Path(self._store.path()) if self._store.is_local else self.folder


def inputs_at(named: str, stated: Sequence[str], place: Place | None, folder: Path) -> PublishedInputs:
    """Return the inputs that the user names; else those beside the place of the vintage; else the first that is
    `stated` by its certificate or above it. Raises InputsGone if none of them is there."""
    if named:
        return PublishedInputs(named, folder)
    if place is not None and not place.name.startswith(HUB):
        beside = f"{place.name.rstrip('/')}/{INPUTS}"
        with suppress(OSError):
            if Store(beside).exists():
                return PublishedInputs(beside, folder)
    where = next(filter(None, stated), "")
    if not where:
        raise InputsGone("its inputs were not published; name those that you have: --inputs FOLDER")
    if not where.startswith(REMOTE):  # what a stranger's certificate names on this machine is none of its business
        told = f"its inputs lay at {where} when it was published, which is opened only if you name it"
        raise InputsGone(f"{told}: --inputs FOLDER")
    return PublishedInputs(where, folder)
