"""The stack of adapters of a model: adding one, saving them beside the weights, and rebuilding them.

adapters.json           the settings of each adapter, bottom first, and the digest of the weights below them
adapters.safetensors    the weights of all of them
peft/<depth>/           those that the library peft knows, as it reads them
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from inspect import isabstract
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from torch import Tensor, nn

from ticlm.core.errors import InputError
from ticlm.core.extensions import METHODS, load_entry_points, subclasses
from ticlm.core.reading import json_texts
from ticlm.core.seeds import keyed
from ticlm.methods.adapters.places import is_adapter, place
from ticlm.methods.freezing import Freeze, freeze
from ticlm.methods.seams import Adapter
from ticlm.platform.models.build import MAKING
from ticlm.platform.models.folder_files import ADAPTERS

ADAPTER_WEIGHTS = "adapters.safetensors"
PEFT = "peft"
# Enough to know a model again. A hash of all numbers would read the whole model once more.
FIRST_NUMBERS = 64
"""Numbers of each weight that its digest reads."""


def prepare(module: nn.Module, adapter: Adapter | None, frozen: Freeze, seed: int) -> None:
    """Prepare a model for a round: add the round's adapter, and let gradients reach the weights that it trains alone.

    Raises InputError if the model has no place for the adapter, or if nothing is left to train.
    """
    adapt(module, adapter, seed)
    depth = len(getattr(module, "ticlm_adapters", [])) - 1
    freeze(module, frozen, depth if adapter is not None else None)


def adapt(module: nn.Module, adapter: Adapter | None, seed: int) -> None:
    """Add a round's adapter, if it has one, to a module, and to its stack in `ticlm_adapters`.

    An adapter of a whole run is not added again where the stack ends with it already. `ticlm_new_adapters` counts what
    the round added: a teacher, which is the model before the round, has none of it.
    """
    stack = list(getattr(module, "ticlm_adapters", []))
    module.ticlm_new_adapters = 0  # type: ignore[assignment]
    if adapter is not None and not (adapter.per == "run" and stack and stack[-1] == adapter):
        extend(module, adapter, len(stack), seed)
        module.ticlm_adapters = [*stack, adapter]  # type: ignore[assignment]
        module.ticlm_new_adapters = 1  # type: ignore[assignment]


def extend(module: nn.Module, adapter: Adapter, depth: int, seed: int = 0) -> None:
    """Freeze the module and add an adapter on top, whose random weights depend on `seed` and `depth` alone. Raises
    TypeError if the adapter adds no parameter, or one without its depth in its name."""
    module.requires_grad_(False)
    before = {name for name, _ in module.named_parameters()}
    with MAKING, torch.random.fork_rng(devices=[]):  # other random numbers of this process stay as they are
        torch.manual_seed(int(keyed(seed, depth).integers(1 << 62)))
        adapter.add(module, depth)
    added = [name for name, _ in module.named_parameters() if name not in before]
    if not added or any(place(depth) not in name.split(".") for name in added):
        raise TypeError(f"{type(adapter).__name__} must add parameters named {place(depth)}, got {added[:3]}")


def rebuild(module: nn.Module, folder: Path) -> list[Adapter]:
    """Add the adapters that are saved in a folder to its model, with their weights; return the stack.

    Raises InputError if they were trained on other weights, or if some of theirs are missing or unknown.
    """
    stack = read(folder)
    if not stack:
        return []
    from safetensors.torch import load_file

    expected = _read_description(folder).get("base")
    if expected is not None and expected != digest(module.state_dict()):
        raise InputError(f"{folder}/{ADAPTERS}: these adapters were trained on other weights than those beside them")
    for depth, adapter in enumerate(stack):
        extend(module, adapter, depth)
    try:
        found = module.load_state_dict(load_file(folder / ADAPTER_WEIGHTS), strict=False)
    except (FileNotFoundError, RuntimeError, SafetensorError) as error:
        raise InputError(f"{folder}/{ADAPTER_WEIGHTS}: cannot be loaded: {str(error).splitlines()[0]}") from None
    if found.unexpected_keys:
        raise InputError(f"{folder}/{ADAPTER_WEIGHTS}: unknown weights {found.unexpected_keys[0]}")
    missing = next((name for name in found.missing_keys if is_adapter(name)), None)
    if missing is not None:
        raise InputError(f"{folder}/{ADAPTER_WEIGHTS}: it has no weights {missing}")
    return stack


def renew(folder: Path, module: nn.Module) -> None:
    """Write the digest of the weights in `module` into a folder's description of adapters."""
    about = _read_description(folder) | {"base": digest(module.state_dict())}
    (folder / ADAPTERS).write_text(json.dumps(about, indent=1))


def read(folder: Path) -> list[Adapter]:
    """Return the stack of adapters saved in a folder, bottom first.

    No module is imported because a folder names it: its code would run. Raises InputError if a class is not known.
    """
    path = folder / ADAPTERS
    try:
        entries = _read_description(folder)["stack"] if path.exists() else []
        return [_adapter_class(entry, path).model_validate(entry["settings"]) for entry in entries]
    except (ValueError, TypeError, KeyError) as error:  # pydantic's error is a ValueError
        raise InputError(f"{path} is damaged: {type(error).__name__} {str(error).splitlines()[0]}") from None


def write(state: Mapping[str, Tensor], stack: list[Adapter], folder: Path) -> None:
    """Write a stack of adapters into a model folder; `state` has the weights of the model and of all adapters."""
    from safetensors.torch import save_file

    weights = {name: value.contiguous() for name, value in state.items() if is_adapter(name)}
    save_file(weights, folder / ADAPTER_WEIGHTS, metadata={"format": "pt"})
    for depth, adapter in enumerate(stack):
        found = adapter.peft(depth, weights)
        if found is not None:
            config, tensors = found
            target = folder / PEFT / str(depth)
            target.mkdir(parents=True)
            (target / "adapter_config.json").write_text(json.dumps(config, indent=1))
            save_file(tensors, target / "adapter_model.safetensors", metadata={"format": "pt"})
    about = {
        "base": digest({name: value for name, value in state.items() if not is_adapter(name)}),
        "stack": [{"type": one.identity_name, "settings": one.model_dump(mode="json")} for one in stack],
    }
    (folder / ADAPTERS).write_text(json.dumps(about, indent=1))


def digest(weights: Mapping[str, Tensor]) -> str:
    """Return a hash of the names, shapes and first numbers of a model's weights, by which its adapters know it."""
    found = hashlib.sha256()
    for name, value in sorted(weights.items()):
        first = value.detach().flatten()[:FIRST_NUMBERS].float().cpu().numpy().tobytes()
        found.update(f"{name} {list(value.shape)} ".encode() + first)
    return found.hexdigest()


def _read_description(folder: Path) -> dict[str, Any]:
    found = json_texts.read_object((folder / ADAPTERS).read_bytes())
    if "stack" not in found:
        raise ValueError("it must have base and stack, as ticlm writes it now")
    return found


def _adapter_class(entry: Mapping[str, Any], path: Path) -> type[Adapter]:
    """Return the adapter class that an entry names: one of ticlm, of the study's, or of an installed entry point."""
    known = _known()
    if entry["type"] not in known:
        load_entry_points(METHODS)
        known = _known()
    if entry["type"] not in known:
        raise InputError(
            f"{path}: no adapter is called {entry['type']}; known are {', '.join(sorted(known)) or 'none'}: import its "
            f"module (--module, or a study that names it), or install it as an entry point of {METHODS}"
        )
    return known[entry["type"]]


def _known() -> dict[str, type[Adapter]]:
    """Return the adapter classes that have been imported, by name, without abstract ones."""
    # A class of a script that reaches a process twice, pickled by value, leaves an empty class of its name behind.
    found = subclasses(Adapter)  # type: ignore[type-abstract]
    return {kind.identity_name: kind for kind in found if not isabstract(kind)}
