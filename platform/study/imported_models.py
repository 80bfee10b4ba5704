"""Imported models: checks that they fit a study before anything is trained."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError, safe_open

from ticlm.platform.core.errors import InputError
from ticlm.platform.core.store import Store
from ticlm.platform.models import build
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study.plan import Plan


def check(plan: Plan) -> None:
    """Raise InputError if an imported initial model or teacher does not fit the study. Loads no weights.

    That is: it is no model folder, its weights have other shapes than its own config says, or a teacher has another
    vocabulary or tokenizer than the model.
    """
    assert plan.corpus is not None
    study, tokenizer = plan.study, plan.corpus.info.tokenizer
    tokens = tokenizer.vocab_size
    student = build.config(study.model, tokens)
    if isinstance(study.model, FolderModel):
        _check_shapes(plan, study.model)
    penalties = dict.fromkeys(p for method in study.methods for p in getattr(method, "penalties", ()))
    for penalty in penalties:
        for name, imported in penalty.imported.items():
            folder = FolderModel(**imported.model_dump())
            made = build.config(folder, tokens)
            if made.vocab_size != student.vocab_size:
                raise InputError(
                    f"{name} {imported.path} has a vocabulary of {made.vocab_size}, the model one of "
                    f"{student.vocab_size}: their predictions cannot be compared"
                )
            store = Store(imported.path)
            if store.exists("tokenizer.json") and store.sha256("tokenizer.json") != tokenizer.sha256:
                raise InputError(
                    f"{name} {imported.path} has another tokenizer than corpus {plan.corpus.info.id}: "
                    "their predictions cannot be compared"
                )
            _check_shapes(plan, folder)


def _check_shapes(plan: Plan, folder: FolderModel) -> None:
    wanted = build.shapes(build.config(folder, 0), plan.study.objective)
    with Store(folder.path).local("") as local:
        for file in sorted(local.glob("*.safetensors")):
            for name, shape in _shapes(file).items():
                if name in wanted and wanted[name] != shape:
                    raise InputError(
                        f"{folder.path}: {name} has shape {list(shape)}, but by its config.json it is "
                        f"{list(wanted[name])}; this is not a checkpoint of that model"
                    )


def _shapes(file: Path) -> dict[str, tuple[int, ...]]:
    try:
        with safe_open(file, "pt") as weights:
            return {name: tuple(weights.get_slice(name).get_shape()) for name in weights.keys()}  # noqa: SIM118
    except SafetensorError as error:
        raise InputError(f"{file}: not a safetensors file: {error}") from None
