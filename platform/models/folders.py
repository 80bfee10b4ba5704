"""Model folders: publishing a round's weights in Hugging Face's format, and loading any such folder.

Beside the weights lie the objective (objective.json), and the stack of adapters with their own weights.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from pickle import PickleError
from typing import Any

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, PretrainedConfig

from ticlm.methods.objectives import AnyObjective
from ticlm.methods.seams import Adapter
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.extensions import METHODS, load_entry_points, subclasses
from ticlm.platform.core.seeds import keyed
from ticlm.platform.models.build import MAKING, from_config
from ticlm.platform.models.settings import folder_objective

ADAPTERS = "adapters.json"
ADAPTER_WEIGHTS = "adapters.safetensors"
OBJECTIVE = "objective.json"


def load(folder: Path, objective: AnyObjective | None = None) -> nn.Module:
    """Load a published (or any Hugging Face) folder as a module in float32 on the CPU. Its stack of adapters is rebuilt
    and stands in `ticlm_adapters`. Without an objective, it is the one that `objective_of` finds.

    Raises InputError if the folder holds no model, or lacks some of its weights.
    """
    own = objective or objective_of(folder)
    family = AutoModelForSeq2SeqLM if own.encoder_decoder else AutoModelForCausalLM
    try:
        how = {"dtype": torch.float32, "attn_implementation": "sdpa", "local_files_only": True}
        with MAKING:
            module, found = family.from_pretrained(folder, output_loading_info=True, trust_remote_code=False, **how)
    except PickleError:
        raise InputError(
            f"{folder}: no model could be loaded: torch refuses its pickled weights, which may run code; save them as "
            "safetensors"
        ) from None
    except (OSError, ValueError, RuntimeError, SafetensorError, EOFError, KeyError) as error:
        if getattr(error, "errno", None) is not None or isinstance(error, torch.OutOfMemoryError):
            raise  # the disk's or the device's, not the folder's
        what = [*str(error).splitlines(), type(error).__name__][0]
        raise InputError(f"{folder}: no model could be loaded: {what}") from None
    if found["missing_keys"]:
        raise InputError(f"{folder}: no model could be loaded: it has no weights {min(found['missing_keys'])}")
    stack = adapters(folder)
    if stack:
        from safetensors.torch import load_file

        for depth, adapter in enumerate(stack):
            extend(module, adapter, depth)
        try:
            missing = module.load_state_dict(load_file(folder / ADAPTER_WEIGHTS), strict=False)
        except (FileNotFoundError, RuntimeError, SafetensorError) as error:
            raise InputError(f"{folder}/{ADAPTER_WEIGHTS}: cannot be loaded: {str(error).splitlines()[0]}") from None
        if missing.unexpected_keys:
            raise InputError(f"{folder}/{ADAPTER_WEIGHTS}: unknown weights {missing.unexpected_keys[0]}")
    module.ticlm_adapters = stack
    return module  # type: ignore[no-any-return]


def objective_of(folder: Path) -> AnyObjective:
    """Return the objective that a folder was published with, or the one that suits its architecture."""
    config, saved = ({}, None)
    with suppress(OSError, ValueError):  # what is wrong with a configuration is said when the model is loaded
        config = dict(json.loads((folder / "config.json").read_text()))
    path = folder / OBJECTIVE
    try:
        if path.exists():
            saved = json.loads(path.read_text())
        return folder_objective(config, saved)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InputError(f"{path} is damaged: {type(error).__name__} {str(error).splitlines()[0]}") from None


def adapters(folder: Path) -> list[Adapter]:
    """Return the stack of adapters saved in a folder, bottom first.

    No module is imported because a folder names it: its code would run. Raises InputError if a class is not known.
    """
    path = folder / ADAPTERS
    try:
        entries = json.loads(path.read_text()) if path.exists() else []
        return [_adapter_class(entry, path).model_validate(entry["settings"]) for entry in entries]
    except (ValueError, TypeError, KeyError) as error:  # pydantic's error is a ValueError
        raise InputError(f"{path} is damaged: {type(error).__name__} {str(error).splitlines()[0]}") from None


def extend(module: nn.Module, adapter: Adapter, depth: int, seed: int = 0) -> None:
    """Freeze the module and add an adapter on top, whose random weights depend on `seed` and `depth` alone. Raises
    TypeError if the adapter adds no parameter, or one without its depth in its name."""
    module.requires_grad_(False)
    before = {name for name, _ in module.named_parameters()}
    with MAKING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(int(keyed(seed, depth).integers(1 << 62)))
        adapter.add(module, depth)
    added = [name for name, _ in module.named_parameters() if name not in before]
    if not added or any(f"adapter_{depth}" not in name.split(".") for name in added):
        raise TypeError(f"{type(adapter).__name__} must add parameters named adapter_{depth}, got {added[:3]}")


def publish(
    state: Mapping[str, torch.Tensor],
    made: PretrainedConfig,
    objective: AnyObjective,
    stack: list[Adapter],
    folder: Path,
) -> None:
    """Write a folder that `from_pretrained` loads: configuration, safetensors, objective and adapters."""
    base = {name: value for name, value in state.items() if not _is_adapter(name)}
    with torch.device("meta"):
        module = from_config(made, objective)
    module.load_state_dict(base, strict=False, assign=True)
    module.tie_weights()
    folder.mkdir(parents=True, exist_ok=True)
    with disk_errors(folder):
        module.save_pretrained(folder)
    settings = objective.model_dump(mode="json")
    saved = {"name": objective.identity_name, "encoder_decoder": objective.encoder_decoder, "settings": settings}
    (folder / OBJECTIVE).write_text(json.dumps(saved))
    if stack:
        from safetensors.torch import save_file

        own = {name: value.contiguous() for name, value in state.items() if _is_adapter(name)}
        with disk_errors(folder):
            save_file(own, folder / ADAPTER_WEIGHTS, metadata={"format": "pt"})
        entries = [{"type": a.identity_name, "settings": a.model_dump(mode="json")} for a in stack]
        (folder / ADAPTERS).write_text(json.dumps(entries, indent=1))


@contextmanager
def disk_errors(folder: Path) -> Iterator[None]:
    """Raise OSError for a full disk, which safetensors reports only in the text of an error of its own."""
    try:
        yield
    except SafetensorError as error:
        number = re.search(r"os error (\d+)", str(error))
        if number is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1])), str(folder)) from None


def _is_adapter(name: str) -> bool:
    return any(part.startswith("adapter_") and part[8:].isdigit() for part in name.split("."))


def _adapter_class(entry: Mapping[str, Any], path: Path) -> type[Adapter]:
    """Return the adapter class that an entry names: one of ticlm, of the study's, or of an installed entry point."""
    known = {kind.identity_name: kind for kind in subclasses(Adapter)}  # type: ignore[type-abstract]
    if entry["type"] not in known:
        load_entry_points(METHODS)
        known = {kind.identity_name: kind for kind in subclasses(Adapter)}  # type: ignore[type-abstract]
    if entry["type"] not in known:
        raise InputError(
            f"{path}: no adapter is called {entry['type']}; known are {', '.join(sorted(known)) or 'none'}: import its "
            f"module (--module, or a study that names it), or install it as an entry point of {METHODS}"
        )
    return known[entry["type"]]
