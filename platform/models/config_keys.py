"""Keys of a model's configuration that transformers does not know: it would keep them and never read them."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from transformers import GenerationConfig, PretrainedConfig
from transformers.modeling_rope_utils import RopeParameters

from ticlm.core.errors import InputError
from ticlm.core.reading.near import hint

ROPE = "rope_parameters"
GENERATION = frozenset(GenerationConfig().to_dict())
"""Keys of generation, which models read from their configuration too, such as `decoder_start_token_id` of T5."""
OLDER_ROPE_KEYS = ("type", "mrope_section", "mrope_interleaved")
"""Keys that models read there beside those of RopeParameters."""


def check(given: Mapping[str, Any], made: PretrainedConfig, bare: PretrainedConfig, where: str) -> None:
    """Raise InputError for the first key that the configuration does not know, with the nearest one that it knows.

    `made` is the configuration with these keys, `bare` the one without them, `where` the setting that holds them.
    """
    for path, key, known in _unknown(given, made, bare):
        meant = hint(key, known)
        rest = meant or f"; it has {', '.join(sorted(known))}"
        raise InputError(f"{'.'.join((where, *path, key))}: unknown key of a {made.model_type}{rest}")


def _unknown(
    given: Mapping[str, Any], made: PretrainedConfig, bare: PretrainedConfig
) -> Iterator[tuple[tuple[str, ...], str, set[str]]]:
    """Yield (path, key, known keys) for the keys that were only kept: what transformers reads is a field of the class,
    another name of one, a property, or is replaced by something else when the configuration is made."""
    fields = {field.name for field in dataclasses.fields(made) if not field.name.startswith("_")}
    known = {*fields, *made.attribute_map}
    for key, value in given.items():
        is_kept = key in vars(made) and key not in vars(bare)
        is_property = hasattr(type(made), key) and not callable(getattr(type(made), key))
        if is_kept and key not in known | GENERATION and not is_property and not _is_read(key, made):
            yield (), key, known
        part = getattr(made, key, None)
        if key in type(made).sub_configs and isinstance(value, Mapping) and isinstance(part, PretrainedConfig):
            for path, name, names in _unknown(value, part, type(part)()):
                yield (key, *path), name, names
        if key == ROPE and isinstance(value, Mapping):
            own = getattr(bare, ROPE, None) or {}
            yield from _unknown_rope(value, {*own, *(getattr(made, "layer_types", None) or ())})


def _is_read(key: str, made: PretrainedConfig) -> bool:
    """Return whether the files of an architecture read a key that is no field, such as `head_dim` of a qwen3_moe."""
    if not key.isidentifier():
        return False
    given = rf"""(?:getattr\([\w.]*config, |kwargs\.(?:get|pop)\()["']{key}["']"""
    reads = re.compile(rf"{given}|\bconfig\.{key}\b(?! *(=[^=]|\())")
    folder = Path(inspect.getfile(type(made))).parent
    files = (*folder.glob("configuration_*.py"), *folder.glob("modeling_*.py"))
    return any(reads.search(file.read_text(encoding="utf-8")) for file in files)


def _unknown_rope(value: Mapping[str, Any], own: set[str]) -> Iterator[tuple[tuple[str, ...], str, set[str]]]:
    """Yield the unknown keys of rotary embeddings, which may be given for each type of layer. `own` are keys and types
    of layers of the architecture's own."""
    known = {*RopeParameters.__annotations__, *OLDER_ROPE_KEYS, *own}
    for key, inner in value.items():
        if isinstance(inner, Mapping):
            yield from (((ROPE, key), name, known) for name in inner if name not in known)
        elif key not in known:
            yield (ROPE,), key, known
