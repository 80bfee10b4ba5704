"""Imported models: checks that they fit a study before anything is trained."""

from __future__ import annotations

from pathlib import Path

from safetensors import SafetensorError, safe_open

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.methods.method import OracleSeries
from ticlm.platform.models import build
from ticlm.platform.models.settings import FolderModel
from ticlm.platform.study.plan import Plan


def check(plan: Plan) -> None:
    """Raise InputError if an imported initial model or teacher does not fit the study. Loads no weights.

    That is: it is no model folder, its weights have other shapes than its own config says, its window is shorter than
    the rows, a teacher has another
    vocabulary than the model, or a teacher or an imported Oracle has another tokenizer than the corpus.
    """
    assert plan.corpus is not None
    study, tokens = plan.study, plan.corpus.info.tokenizer.vocab_size
    student = build.config(study.model, tokens)
    if isinstance(study.model, FolderModel):
        _check_shapes(plan, study.model)
        window = getattr(student, "max_position_embeddings", None)  # of an encoder–decoder, positions are relative
        if window and study.length > window and not study.objective.encoder_decoder:
            raise InputError(
                f"model {study.model.path} reads {window:,} tokens at most, and rows have {study.length:,}; build the "
                f"corpus with length: {window} or less, and give the study the same length"
            )
    for series in (method for method in study.methods if isinstance(method, OracleSeries)):
        for model in series.models:
            folder = FolderModel(**model.model_dump())
            _check_tokenizer(plan, series.name, folder)
            build.config(folder, tokens)
            _check_shapes(plan, folder)
    penalties = dict.fromkeys(p for method in study.methods for p in getattr(method, "penalties", ()))
    for penalty in penalties:
        for name, imported in penalty.imported.items():
            folder = FolderModel(**imported.model_dump())
            made = build.config(folder, 0)  # a smaller vocabulary than the tokenizer's is told below, with its name
            if made.vocab_size != student.vocab_size:
                raise InputError(
                    f"{name} {imported.path} has a vocabulary of {made.vocab_size}, the model one of "
                    f"{student.vocab_size}: their predictions cannot be compared"
                )
            _check_tokenizer(plan, name, folder)
            _check_shapes(plan, folder)


def _check_tokenizer(plan: Plan, name: str, folder: FolderModel) -> None:
    assert plan.corpus is not None
    info, store = plan.corpus.info, Store(folder.folder)
    if store.exists("tokenizer.json") and store.sha256("tokenizer.json") != info.tokenizer.sha256:
        raise InputError(
            f"{name} {folder.path} has another tokenizer than corpus {info.id}: their predictions cannot be compared"
        )


def _check_shapes(plan: Plan, folder: FolderModel) -> None:
    wanted = build.shapes(build.config(folder, 0), plan.study.objective)
    with Store(folder.folder).local("") as local:
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
