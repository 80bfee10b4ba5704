"""Model folders: publishing a round's weights in Hugging Face's format, and loading any such folder.

Beside the weights lie the objective (objective.json), and the stack of adapters with their own weights.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from pickle import PickleError

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, PretrainedConfig, PreTrainedModel

from ticlm.core import hub
from ticlm.core.errors import InputError, in_one_line
from ticlm.core.store import Store
from ticlm.methods.adapters.places import is_adapter
from ticlm.methods.objectives import AnyObjective
from ticlm.methods.seams import Adapter
from ticlm.platform.models import adapter_stack, folder_files
from ticlm.platform.models.build import MAKING, from_config

CODE = (
    "its architecture is code that lies beside its weights, which is not run; if it is on the hub, read that code, and "
    "give --trust-remote-code COMMIT to ticlm eval or generate"
)


def load(folder: Path, objective: AnyObjective | None = None) -> nn.Module:
    """Load a published (or any Hugging Face) folder as a module in float32 on the CPU, with its adapters, which stand
    in `ticlm_adapters`. Without an objective, `folder_files.objective` finds it.

    Raises InputError if the folder holds no model, or lacks some of its weights.
    """
    module = without_adapters(folder, objective)
    module.ticlm_adapters = adapter_stack.rebuild(module, folder)  # type: ignore[assignment]
    return module


def without_adapters(folder: Path, objective: AnyObjective | None = None) -> nn.Module:
    """Load the model of a folder as `load` does, without the adapters that lie beside it."""
    folder_files.check(Store(folder))
    own = objective or folder_files.objective(Store(folder))
    family = AutoModelForSeq2SeqLM if own.encoder_decoder else AutoModelForCausalLM
    try:
        how = {"dtype": torch.float32, "attn_implementation": "sdpa", "local_files_only": True}
        with MAKING:
            module, found = family.from_pretrained(
                folder, output_loading_info=True, trust_remote_code=hub.trusted(folder), **how
            )
    except PickleError:
        raise InputError(
            f"{folder}: no model could be loaded: torch refuses its pickled weights, which may run code; save them as "
            "safetensors"
        ) from None
    except Exception as error:  # of a damaged folder, transformers and torch raise all kinds
        if getattr(error, "errno", None) is not None or isinstance(error, torch.OutOfMemoryError | MemoryError):
            raise  # the disk's or the device's, not the folder's
        why = in_one_line(error) if "trust_remote_code" not in str(error) else CODE
        raise InputError(f"{hub.shown(str(folder))}: no model could be loaded: {why}") from None
    if found["missing_keys"]:
        raise InputError(f"{folder}: no model could be loaded: it has no weights {min(found['missing_keys'])}")
    return module  # type: ignore[no-any-return]


def publish(
    state: Mapping[str, torch.Tensor],
    made: PretrainedConfig,
    objective: AnyObjective,
    stack: list[Adapter],
    folder: Path,
) -> None:
    """Write a folder that `from_pretrained` loads: configuration, safetensors, objective and adapters."""
    write(filled(state, made, objective), state, objective, stack, folder)


def filled(state: Mapping[str, torch.Tensor], made: PretrainedConfig, objective: AnyObjective) -> PreTrainedModel:
    """Return a module that holds these weights themselves, without adapters, to be written."""
    base = {name: value for name, value in state.items() if not is_adapter(name)}
    with torch.device("meta"):
        module = from_config(made, objective)
    # `assign` copies nothing, but gives tied weights tensors of their own, until they are tied again.
    module.load_state_dict(base, strict=False, assign=True)
    module.tie_weights()
    return module


def write(
    module: PreTrainedModel,
    state: Mapping[str, torch.Tensor],
    objective: AnyObjective,
    stack: list[Adapter],
    folder: Path,
) -> None:
    """Write the folder of a module that is `filled` with the weights of `state`. A thread may do so while another one
    makes a module or trains: no function of a library is replaced here, and no random number drawn."""
    folder.mkdir(parents=True, exist_ok=True)
    with disk_errors(folder):
        module.save_pretrained(folder)
    settings = objective.model_dump(mode="json")
    saved = {"name": objective.identity_name, "encoder_decoder": objective.encoder_decoder, "settings": settings}
    (folder / folder_files.OBJECTIVE).write_text(json.dumps(saved))
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
