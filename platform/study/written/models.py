"""The model of a packaged study, as the start of another one: `model.path: models/STUDY`."""

from __future__ import annotations

from pathlib import Path

from ticlm.core import paths
from ticlm.core.settings import packaged
from ticlm.core.store import Store
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study import plan
from ticlm.platform.study.settings import FOLDER, Study, load


def study_of(model: object) -> str | None:
    """Return the packaged study that makes a model: that of the name of its folder, where this folder does not exist.
    None for any other model."""
    if not isinstance(model, FolderModel) or "://" in model.path or Path(model.path).expanduser().exists():
        return None
    name = model.path.rstrip("/").rpartition("/")[2]
    return name if name in packaged(FOLDER) else None


def trained(name: str, root: str | Store) -> str | None:
    """Return the folder of the last model that a study's first method has in a root; None if it is not trained."""
    made = plan.make(load(name, (), root), root)
    last = list(made.tree.runs[0].rounds.values())[-1]
    if made.store is None or not made.done(last):
        return None
    return made.store.uri(paths.model(paths.round_folder(made.ids[last]), made.records[last].attempt))


def with_model(study: Study, root: str | Store) -> Study:
    """Return a study with the folder in the root of the model that another study trained for it, if it has one."""
    name = study_of(study.model)
    folder = None if name is None else trained(name, root)
    if folder is None:
        return study
    return study.model_copy(update={"model": study.model.model_copy(update={"path": folder})})
