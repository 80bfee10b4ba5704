"""The files of a model folder from anywhere: what to know of them before a library opens them."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ticlm.core.errors import InputError
from ticlm.core.reading import json_texts
from ticlm.core.store import Store
from ticlm.methods.objectives import AnyObjective
from ticlm.platform.models import config_bounds
from ticlm.platform.models.settings import folder_objective

CONFIG, OBJECTIVE, ADAPTERS = "config.json", "objective.json", "adapters.json"
INDEX = (".safetensors.index.json", ".bin.index.json")
LONGEST_HEADER = 100_000_000
"""Bytes of a header at most; safetensors has the same limit."""


def check(store: Store) -> None:
    """Raise InputError if a model folder is not to be opened: its config.json is none, or asks for more than can be
    built or than its weights hold, or an index names weights that lie elsewhere."""
    found, names = config(store), _names(store)
    for name in names:
        if name.endswith(INDEX):
            _check_index(store, name, names)
    weights = [name for name in names if name.endswith(".safetensors")]
    tensors = sum(len(header(store, name)[1]) for name in weights)
    try:
        config_bounds.check(found)
        if weights:
            config_bounds.check_layers(found, tensors)
    except ValueError as error:
        raise InputError(f"{store.uri(CONFIG)}: {error}") from None


def config(store: Store) -> dict[str, Any]:
    """Return the configuration of a model folder. Raises InputError if there is none."""
    where = store.uri(CONFIG)
    try:
        found = json_texts.read(store.read(CONFIG))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise InputError(f"{store.root}: no config.json there, so no model folder") from None
    except ValueError as error:
        raise InputError(f"{where}: not JSON: {error}") from None
    if not isinstance(found, dict):
        raise InputError(f"{where}: not the configuration of a model: it must be an object, got {_type(found)}")
    return found


def objective(store: Store) -> AnyObjective:
    """Return the objective that a folder was published with, or the one that suits its architecture. Raises InputError
    if its files do not tell."""
    saved = None
    if store.exists(OBJECTIVE):
        try:
            saved = json_texts.read_object(store.read(OBJECTIVE))
        except ValueError as error:
            raise InputError(f"{store.uri(OBJECTIVE)} is damaged: {error}") from None
    return folder_objective(config(store), saved, store.uri())


def header(store: Store, path: str) -> tuple[bytes, dict[str, dict[str, Any]]]:
    """Return the first bytes of a safetensors file, up to its first tensor, and their entries of tensors by name.

    Raises InputError if it is no safetensors file.
    """
    whole = store.path(path)
    try:
        length = int.from_bytes(store.fs.cat_file(whole, start=0, end=8), "little")
        if length > LONGEST_HEADER:
            raise ValueError(f"its header has {length:,} bytes")
        head = bytes(store.fs.cat_file(whole, start=0, end=8 + length))
        if len(head) < 8 + length:
            raise ValueError("it ends inside its header")
        entries = json_texts.read_object(head[8:])
    except (ValueError, FileNotFoundError, IsADirectoryError) as error:
        raise InputError(f"{store.uri(path)} is no safetensors file: {error}") from None
    return head, {name: entry for name, entry in entries.items() if name != "__metadata__"}


def _names(store: Store) -> list[str]:
    """Return the names of what lies directly in a folder, with links, as caches of models have."""
    return sorted(str(name).rstrip("/").rpartition("/")[2] for name in store.fs.ls(store.path(), detail=False))


def _check_index(store: Store, name: str, names: Collection[str]) -> None:
    """Raise InputError unless an index names weight files of its own folder: others are in no hash of the folder."""
    where = store.uri(name)
    try:
        named = json_texts.read_object(store.read(name)).get("weight_map")
    except ValueError as error:
        raise InputError(f"{where}: not the index of weights: {error}") from None
    if not isinstance(named, dict):
        raise InputError(f"{where}: not the index of weights: it has no weight_map of names to files")
    others = [file for file in named.values() if not isinstance(file, str) or file not in names]
    if others:
        raise InputError(f"{where}: its weight_map names {str(others[0])[:200]!r}, which is no file of this folder")


def _type(value: object) -> str:
    return "null" if value is None else type(value).__name__
