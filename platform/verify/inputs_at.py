"""The inputs of a vintage, wherever they lie, as a root on this machine that holds what is asked of it and no more."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from ticlm.core.errors import InputError, in_one_line
from ticlm.core.store import Store
from ticlm.platform.publish.places.place import HUB, INPUTS, Place


class InputsGone(InputError):
    """Inputs, or a file of them, are not where they are said to be."""


class PublishedInputs:
    """Inputs at a folder, at a URI, or in a repository of a data set (`hf:ORG/NAME`). `folder` is where files are put
    that do not lie on this machine."""

    def __init__(self, where: str, folder: Path) -> None:
        self.where, self.folder = where, folder
        self._store = None if where.startswith(HUB) else Store(where)

    @property
    def is_local(self) -> bool:
        """Whether they lie on a disk of this machine."""
        return self._store is not None and self._store.is_local

    def fetch(self, patterns: Iterable[str]) -> Path:
        """Return the local root that holds all files that match these patterns, after fetching those it lacks.

        Raises InputsGone if there is no such place, or if a pattern matches nothing there.
        """
        wanted = list(dict.fromkeys(patterns))
        if self._store is None:
            return self._of_hub(wanted)
        try:
            names = self._store.walk()
        except (OSError, FileNotFoundError) as error:
            raise InputsGone(f"{self.where}: {in_one_line(error)}") from None
        for pattern in wanted:
            matching = fnmatch.filter(names, pattern)
            if not matching:
                raise InputsGone(f"{self.where} has no {pattern}")
            for name in () if self._store.is_local else matching:
                target = self.folder / name
                if not target.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    target.write_bytes(self._store.read(name))
        return Path(self._store.path()) if self._store.is_local else self.folder

    def _of_hub(self, wanted: list[str]) -> Path:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import HfHubHTTPError

        name = self.where.removeprefix(HUB)
        how: dict[str, Any] = {"repo_type": "dataset", "allow_patterns": wanted}
        try:
            found = Path(snapshot_download(name, **how))
        except (HfHubHTTPError, OSError, ValueError) as error:
            raise InputsGone(f"{self.where}: {in_one_line(error)}") from None
        names = [file.relative_to(found).as_posix() for file in found.rglob("*") if file.is_file()]
        for pattern in wanted:
            if not fnmatch.filter(names, pattern):
                raise InputsGone(f"{self.where} has no {pattern}")
        return found


def inputs_at(named: str, stated: str, place: Place | None, folder: Path) -> PublishedInputs:
    """Return the inputs that the user names; else those beside the place of the vintage; else those that its
    certificate states. Raises InputsGone if none of them is there."""
    if named:
        return PublishedInputs(named, folder)
    if place is not None and not place.name.startswith(HUB):
        beside = f"{place.name.rstrip('/')}/{INPUTS}"
        with suppress(OSError):
            if Store(beside).exists():
                return PublishedInputs(beside, folder)
    if not stated:
        raise InputsGone("its inputs were not published; name those that you have: --inputs FOLDER")
    if not stated.startswith(HUB) and not Store(stated).exists():
        raise InputsGone(f"its inputs are no longer at {stated}; name a copy: --inputs FOLDER")
    return PublishedInputs(stated, folder)
