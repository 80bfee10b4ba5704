"""The model of a packaged study, as the start of another one: `model.path: models/STUDY`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from ticlm.core import paths
from ticlm.core.settings import packaged
from ticlm.core.store import Store
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study.settings import FOLDER, Study, load

PREFIX = "models/"
Make = Callable[[Study, Store], Any]
"""`plan.make`, which this module stands below."""


def study_of(model: object) -> str | None:
    """Return the packaged study that makes a model: STUDY of `models/STUDY`, where there is no such folder. None for
    any other model."""
    if not isinstance(model, FolderModel) or not model.path.startswith(PREFIX) or Path(model.path).exists():
        return None
    name = model.path.removeprefix(PREFIX).rstrip("/")
    return name if name in packaged(FOLDER) else None


def trained(name: str, store: Store, make: Make) -> str | None:
    """Return the folder of the last model that a study's first method has in a root; None if it is not trained."""
    made = make(load(name, (), store), store)
    last = list(made.tree.runs[0].rounds.values())[-1]
    if not made.done(last):
        return None
    return store.uri(paths.model(paths.round_folder(made.ids[last]), made.records[last].attempt))


def with_model(study: Study, store: Store, make: Make) -> Study:
    """Return a study with the folder in the root of the model that another study trained for it, if it has one."""
    name = study_of(study.model)
    folder = None if name is None else trained(name, store, make)
    if folder is None:
        return study
    return study.model_copy(update={"model": study.model.model_copy(update={"path": folder})})
