"""What is packaged under a name, with a line each: studies, recipes, methods, tasks, spaces, models, presets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from importlib.resources import files
from typing import Any

from ticlm.core import settings
from ticlm.core.reading.kinds import Kinds
from ticlm.core.reading.packaged import holders
from ticlm.core.settings import Settings
from ticlm.methods.catalog import CATALOG
from ticlm.methods.seams import Penalty
from ticlm.platform.analysis import conventions
from ticlm.platform.cli.reference.files import FILES
from ticlm.platform.cli.reference.meanings import summary
from ticlm.platform.models.presets import PARAMETERS, SHAPES, preset_size
from ticlm.platform.models.settings import PresetModel
from ticlm.platform.tasks import union
from ticlm.tune_spaces import space

Names = dict[str, str]
LAYERS = ("num_hidden_layers", "num_layers", "n_layer")
WIDTHS = ("hidden_size", "d_model", "n_embd")


def studies() -> Names:
    """Return the packaged studies."""
    return _files(FILES["study"].folder)


def recipes() -> Names:
    """Return the packaged recipes of corpora."""
    return {name: line for name, line in _files(FILES["recipe"].folder).items() if not _of_examples(name)}


def examples() -> Names:
    """Return the packaged recipes of example sets."""
    return {name: line for name, line in _files(FILES["recipe"].folder).items() if _of_examples(name)}


def methods() -> Names:
    """Return the methods of the catalogue, each with its parts."""
    return {name: _parts(method) for name, method in CATALOG.items()}


def task_kinds() -> dict[str, type[Settings]]:
    """Return the built-in kinds of tasks, each with its class."""
    kinds = {one: kind for kind in settings_in(union.AnyTask) if (one := kind.model_fields["kind"].default)}
    return {name: kinds[name] for name in union.KINDS}


def tasks() -> Names:
    """Return the kinds of tasks, and the packaged lists of tasks."""
    return {name: _sentence(summary(kind)) for name, kind in task_kinds().items()} | _files(FILES["tasks"].folder)


def spaces() -> Names:
    """Return the packaged search spaces."""
    return {name: space.load(name).says for name in space.packaged()}


def models() -> Names:
    """Return the presets of models."""
    lines = {}
    for name in SHAPES:
        fields = SHAPES[name]
        size = preset_size(PresetModel.model_validate({"name": name}), 1024 if "vocab_size" not in fields else 1)
        parameters = PARAMETERS[name] if size is None else size.parameters
        layers, width = (next(fields[key] for key in keys if key in fields) for keys in (LAYERS, WIDTHS))
        vocabulary = "" if "vocab_size" in fields else " with a vocabulary of 1,024"
        shape = f"{fields['model_type']}, {layers} layers of width {width:,}"
        lines[name] = f"{shape}: {parameters:,} parameters{vocabulary}"
    return lines


def presets() -> Names:
    """Return the presets of reports."""
    return _files(conventions.FOLDER)


LISTS: Mapping[str, Callable[[], Names]] = {
    "studies": studies,
    "recipes": recipes,
    "examples": examples,
    "methods": methods,
    "tasks": tasks,
    "spaces": spaces,
    "models": models,
    "presets": presets,
}


def settings_in(annotation: Any) -> list[type[Settings]]:
    """Return the classes of settings that an annotation names, in order."""
    for one in getattr(annotation, "__metadata__", ()):
        if isinstance(one, Kinds):
            return list(one.classes().values())
    if isinstance(annotation, type):
        return [annotation] if issubclass(annotation, Settings) else []
    return [kind for part in getattr(annotation, "__args__", ()) for kind in settings_in(part)]


def _of_examples(file: str) -> bool:
    folder = FILES["recipe"].folder
    return settings.names(_held(folder)[file][0], folder, "examples")


def _files(folder: str) -> Names:
    """Return the packaged files of a folder, each with the first sentence of the comment at its beginning, and with the
    names of its variants."""
    lines = {}
    for file, held in _held(folder).items():
        line = _first_line(files("ticlm").joinpath(folder, f"{file}.yaml").read_text())
        lines[file] = line if held == [file] else f"{line} ({', '.join(held)})"
    return lines


def _held(folder: str) -> dict[str, list[str]]:
    """Return the packaged files of a folder with the names that each holds: its own, or those of its variants."""
    found: dict[str, list[str]] = {}
    for name, file in holders(folder).items():
        found.setdefault(file, []).append(name)
    return dict(sorted(found.items()))


def _first_line(text: str) -> str:
    lines: list[str] = []
    for line in text.splitlines():
        said = line.removeprefix("#")
        if said == line or not said.strip() or said.startswith("   "):  # the settings, a new paragraph, or an example
            break
        lines.append(said)
    return _sentence(" ".join(" ".join(lines).split()))


def _sentence(text: str) -> str:
    """Return the first sentence of a text, without its end."""
    return re.split(r"(?<!App)[.](?= [A-Z`]|$)", text)[0].rstrip(":")


def _parts(method: Settings) -> str:
    """Return what a method is made of: its kinds of parts, with the settings that are not their defaults."""
    if getattr(method, "kind", "") != "continual":
        return _sentence(summary(type(method)))
    parts = [getattr(method, name) for name in ("schedule", "replay", "optimizer")]
    penalties: tuple[Penalty, ...] = getattr(method, "penalties", ())
    return ", ".join(_part(part) for part in (*parts, *penalties) if part.kind not in ("none", "adamw"))


def _part(part: Any) -> str:
    own = {name: getattr(part, name) for name in type(part).model_fields if name != "kind"}
    usual = {name: field.default for name, field in type(part).model_fields.items() if name != "alpha"}
    changed = [f"{name} {value}" for name, value in own.items() if name not in usual or value != usual[name]]
    return f"{part.kind} ({', '.join(changed)})" if changed else str(part.kind)
