"""A root in a notebook: `ticlm.open("runs")`."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ticlm.core.errors import InputError
from ticlm.core.reading import own_faults
from ticlm.core.reading.near import hint
from ticlm.core.settings import packaged
from ticlm.core.store import Store
from ticlm.platform.notebook.open_study import OpenStudy
from ticlm.platform.results.begun import begun_studies
from ticlm.platform.results.setup import StudyRequest
from ticlm.platform.study import plan
from ticlm.platform.study import settings as studies


@dataclass(frozen=True)
class OpenRoot:
    """A folder, `s3://…` or `gs://…` that `ticlm run` keeps its files in. It is only read."""

    root: str

    def studies(self) -> list[str]:
        """Return the names of the studies that were run here, the newest run first."""
        return [one.name for one in begun_studies(Store(self.root))]

    def study(self, name: str, *sets: str) -> OpenStudy:
        """Return a study as this root has it now; call again for what a run has added since.

        `name` is a YAML file, a URI, a name that `studies` lists, or a packaged name; `sets` are changes of its
        settings, as of `--set`. Raises InputError if there is no such study.
        """
        store = Store(self.root)
        with own_faults.faults_as(InputError):
            place = name if "://" in name else os.path.expanduser(name)
            known = {one.name: one for one in begun_studies(store)}
            one = known.get(name)
            # A run here comes before a packaged study: one of the user's own may have its name.
            as_packaged = name in packaged(studies.FOLDER) and (one is None or (sets and one.named == name))
            if "://" in name or Path(place).is_file() or as_packaged:
                request = StudyRequest(place, sets, self.root)
                return OpenStudy(plan.make(studies.load(place, sets, store), store), request)
            if one is None:
                have = ", ".join(known) or "none"
                meant = hint(name, [*known, *packaged(studies.FOLDER)])
                raise InputError(f"{name}: no file, no packaged study, none that was run here{meant}; those: {have}")
            if sets:
                raise InputError(f"{name}: settings are changed in its file; name that, as in study('{name}.yaml', …)")
            # its file may lie elsewhere than this notebook
            is_there = Path(one.named).is_file() or one.named in packaged(studies.FOLDER)
            as_run = StudyRequest(one.named, one.sets, self.root) if is_there else None
            return OpenStudy(plan.make(one.study(), store), as_run)


def open_root(root: str | os.PathLike[str] | None = None) -> OpenRoot:
    """Open a root to read it: a folder or a URI; by default TICLM_ROOT, else `runs`. Raises InputError if there is
    none."""
    named = str(root if root is not None else os.environ.get("TICLM_ROOT") or "runs")
    place = named if "://" in named else str(Path(named).expanduser().resolve())
    if not Store(place).exists():
        raise InputError(f"root {named}: there is nothing; ticlm run makes it")
    return OpenRoot(place)
