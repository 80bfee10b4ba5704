"""Models that a study names otherwise than by a folder: that of another study (`model.path: models/STUDY`), and models
on the hub."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from ticlm.core import hub, paths
from ticlm.core.settings import packaged
from ticlm.core.store import Store
from ticlm.methods.timeline import Imported
from ticlm.platform.models.presets import known_on_hub
from ticlm.platform.models.settings import FolderModel, Model
from ticlm.platform.study.settings import FOLDER, Study, load

PREFIX = "models/"
M = TypeVar("M", bound=BaseModel)
Make = Callable[[Study, Store], Any]
"""`plan.make`, which this module stands below."""


def study_of(model: object) -> str | None:
    """Return the packaged study that makes a model: STUDY of `models/STUDY`, where there is no such folder. None for
    any other model."""
    if not isinstance(model, FolderModel) or not model.path.startswith(PREFIX) or Path(model.path).exists():
        return None
    name = model.path.removeprefix(PREFIX).rstrip("/")
    return name if name in packaged(FOLDER) else None


def known(model: Model) -> tuple[Model, str] | None:
    """Return a model of the same architecture that can be counted without the files of an imported one, and whose
    architecture it is, in words: of a known name on the hub, or of the model of another study, which it is trained
    from. None for a model that is not imported, and where only files tell it."""
    if not isinstance(model, FolderModel):
        return None
    name = study_of(model)
    if name is None:
        return None if Path(model.path).exists() else known_on_hub(model)
    first = load(name).model
    if not isinstance(first, FolderModel):
        return first, f"the model of {name}"
    found = known(first)
    return None if found is None else (found[0], f"{found[1]}, which {name} starts from")


def trained(name: str, store: Store, make: Make) -> str | None:
    """Return the folder of the last model that a study's first method has in a root; None if it is not trained."""
    made = make(load(name, (), store), store)
    last = list(made.tree.runs[0].rounds.values())[-1]
    if not made.done(last):
        return None
    return store.uri(paths.model(paths.round_folder(made.ids[last]), made.records[last].attempt))


def with_model(study: Study, store: Store, make: Make) -> Study:
    """Return a study with the folder in the root of the model that another study trained for it, if it has one, and
    with the commits of all models that it names on the hub."""
    name = study_of(study.model)
    folder = None if name is None else trained(name, store, make)
    if folder is not None:
        study = study.model_copy(update={"model": _at(study.model, folder)})
    return pinned(study)


def pinned(value: M) -> M:
    """Return settings with the commit in the name of every imported model on the hub, once its files are here."""
    if isinstance(value, Imported):
        return value if (name := hub.pinned(value.path)) == value.path else _at(value, name)
    changes: dict[str, Any] = {}
    for name in type(value).model_fields:
        item = getattr(value, name)
        if isinstance(item, BaseModel) and (new := pinned(item)) is not item:
            changes[name] = new
        elif isinstance(item, tuple):
            each = tuple(pinned(one) if isinstance(one, BaseModel) else one for one in item)
            if any(one is not old for one, old in zip(each, item, strict=True)):
                changes[name] = each
    return value.model_copy(update=changes) if changes else value


def _at(model: Any, path: str) -> Any:
    return model.model_copy(update={"path": path})
