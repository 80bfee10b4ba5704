"""Which studies were run on a root: a small file of each, which is written when a run begins."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Mapping
from typing import Any

from ticlm.core import paths, settings
from ticlm.core.errors import TiclmWarning
from ticlm.core.reading.packaged import holders
from ticlm.core.remote.credentials import plain_without_credentials
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.platform.results.setup import StudyRequest, identity_of
from ticlm.platform.study import settings as studies
from ticlm.platform.study.settings import Study


class BegunStudy(Settings):
    """A study that was run on a root."""

    name: str
    named: str
    """The study as it was typed: a packaged name, a file or a URI."""
    sets: tuple[str, ...] = ()
    """The changes of its settings, as they were typed."""
    began: float
    """When its newest run began, in seconds since 1970."""
    settings: dict[str, Any]
    """Its file as one mapping, with all that it extends and the changes."""

    def study(self) -> Study:
        """Return the study as it was run. Raises InputError where its own classes cannot be imported here."""
        return settings.parse(Study, self.settings, f"study {self.name}")


def note_begun(store: Store, study: Study, request: StudyRequest) -> None:
    """Write into a root that a run of this study begins now."""
    told, data = request.without_credentials(), _resolved(request, store)
    noted = BegunStudy(name=study.name, named=told.named, sets=told.sets, began=time.time(), settings=data)
    store.write(paths.begun(study.name, identity_of(study)), noted.model_dump_json(indent=1).encode())


def begun_studies(store: Store) -> list[BegunStudy]:
    """Return the newest run of each study that was run on a root, by its name, the newest first. Of a root that was
    written before it kept such files, these are the packaged studies that it has pages of. A file that is damaged is
    one warning."""
    files = [f"{paths.BEGUN}/{name}" for name in store.files(paths.BEGUN)]
    there = [(store.uri(path), data) for path, data in zip(files, store.read_all(files)) if data is not None]
    found = [one for where, data in there if (one := _parsed(where, data)) is not None]
    known = {one.name for one in found}
    pages = {name for folder in store.folders(paths.REPORTS) for name in folder.rpartition("-")[0].split("+")}
    for name in sorted(pages & holders(studies.FOLDER).keys() - known):
        found.append(BegunStudy(name=name, named=name, began=0.0, settings=_resolved(StudyRequest(name), store)))
    oldest_first = sorted(found, key=lambda one: one.began)
    return sorted({one.name: one for one in oldest_first}.values(), key=lambda one: -one.began)


def _resolved(request: StudyRequest, store: Store) -> dict[str, Any]:
    data = studies.resolved(request.named, request.sets, store)[0]
    plain: Mapping[str, Any] = json.loads(json.dumps(plain_without_credentials(data), default=str))  # dates of YAML
    return dict(plain)


def _parsed(where: str, data: bytes) -> BegunStudy | None:
    try:
        return BegunStudy.model_validate_json(data)
    except ValueError:
        line = f"{where} is damaged; remove it: the next run of the study writes it again"
        warnings.warn(line, TiclmWarning, stacklevel=3)
        return None
