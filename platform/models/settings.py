"""TODO"""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Tag

from ticlm.methods.seams import Imported
from ticlm.platform.core.settings import Settings


class PresetModel(Settings):
    """A shape by name, with changes to its config (`tiny`, `1b`, `3b`; see model.py)."""

    kind: Literal["preset"] = "preset"
    name: Literal["tiny", "1b", "3b"]
    changes: ConfigText = "{}"


class ConfigModel(Settings):
    """Any transformers architecture: its `model_type` and the config's fields."""

    kind: Literal["config"] = "config"
    model_type: str
    config: ConfigText = "{}"


class FolderModel(Imported):
    """Weights to start from. With `initial.budget: 0` they are the initial checkpoint, of the period `as_of`."""

    kind: Literal["folder"] = "folder"


def _json(value: object) -> object:
    """A config in YAML is a mapping; inside it is text in canonical form, which can be hashed strictly."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, dict):
        raise ValueError(f"must be a mapping of a config's fields, got {value!r}")
    return json.dumps(found, sort_keys=True)


ConfigText = Annotated[str, BeforeValidator(_json)]


def _model_kind(value: Any) -> str:
    if isinstance(value, dict):
        return str(value.get("kind", "preset"))
    return str(getattr(value, "kind", "preset"))


def named_model(value: Any) -> Any:
    return {"kind": "preset", "name": value} if isinstance(value, str) else value


Model = Annotated[
    Annotated[PresetModel, Tag("preset")]
    | Annotated[ConfigModel, Tag("config")]
    | Annotated[FolderModel, Tag("folder")],
    Discriminator(_model_kind, custom_error_type="kind", custom_error_message="kind must be preset, config or folder"),
]


class Precision(Settings):
    """Weights are kept in float32; `compute` is the dtype of activations and of the weights inside a step, `reduce`
    that of gradient reductions."""

    compute: Literal["float32", "bfloat16"] = "float32"
    reduce: Literal["float32", "bfloat16"] = "float32"
