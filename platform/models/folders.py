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

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, PretrainedConfig

from ticlm.methods.adapters.places import is_adapter
from ticlm.methods.objectives import AnyObjective
from ticlm.methods.seams import Adapter
from ticlm.platform.core.errors import InputError
from ticlm.platform.models import adapter_stack
from ticlm.platform.models.build import MAKING, from_config
from ticlm.platform.models.settings import folder_objective

OBJECTIVE = "objective.json"


def load(folder: Path, objective: AnyObjective | None = None) -> nn.Module:
    """Load a published (or any Hugging Face) folder as a module in float32 on the CPU. Its stack of adapters is rebuilt
    and stands in `ticlm_adapters`. Without an objective, it is the one that `objective_of` finds.

    Raises InputError if the folder holds no model, or lacks some of its weights.
    """
    module = without_adapters(folder, objective)
    module.ticlm_adapters = adapter_stack.rebuild(module, folder)  # type: ignore[assignment]
    return module


def without_adapters(folder: Path, objective: AnyObjective | None = None) -> nn.Module:
    """Load the model of a folder as `load` does, without the adapters that lie beside it."""
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


def publish(
    state: Mapping[str, torch.Tensor],
    made: PretrainedConfig,
    objective: AnyObjective,
    stack: list[Adapter],
    folder: Path,
) -> None:
    """Write a folder that `from_pretrained` loads: configuration, safetensors, objective and adapters."""
    base = {name: value for name, value in state.items() if not is_adapter(name)}
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
        with disk_errors(folder):
            adapter_stack.write(state, stack, folder)


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
