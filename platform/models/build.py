"""Building models: from a study's settings to a transformers configuration, and from that to a module."""

from __future__ import annotations

import json
import tempfile
import threading
from pathlib import Path
from typing import Any

import torch
from torch import nn
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, PretrainedConfig, PreTrainedModel

from ticlm.core.errors import InputError, in_one_line
from ticlm.core.store import Store
from ticlm.methods.objectives import AnyObjective
from ticlm.platform.models import config_keys, folder_files, initialisation
from ticlm.platform.models.presets import SHAPES, ModelSize, check_vocabulary
from ticlm.platform.models.settings import ConfigModel, FolderModel, Initialisation, Model, PresetModel

MAKING = threading.RLock()
"""Held while a module is made: transformers replaces functions of torch and its own for that time, and two threads
that do so at once leave the wrong ones behind."""


def config(model: Model, vocab_size: int, end_of_text: int | None = None) -> PretrainedConfig:
    """Return the transformers configuration of a study's model for a tokenizer of `vocab_size` tokens.

    Raises InputError if transformers refuses the settings, or if the model's vocabulary is too small.
    """
    ends = {"eos_token_id": end_of_text, "bos_token_id": end_of_text, "pad_token_id": None, "use_cache": False}
    try:
        made = _config(model, {"vocab_size": vocab_size}, ends)
    except InputError:
        raise
    except Exception as error:  # transformers checks with errors of many kinds
        raise InputError(f"model: {in_one_line(error)}") from None
    if isinstance(model, PresetModel | ConfigModel) and model.initialisation == "openlm":
        initialisation.require(made.model_type)
    check_vocabulary(made.vocab_size, vocab_size)
    return made


def _config(model: Model, vocabulary: dict[str, Any], ends: dict[str, Any]) -> PretrainedConfig:
    match model:
        case PresetModel(name=name, changes=changes):
            shape, changed = {**vocabulary, **SHAPES[name], **ends}, json.loads(changes)
            own = shape.pop("model_type")
            return _known(changed.pop("model_type", own), shape, changed, "model.changes")
        case ConfigModel(model_type=model_type, config=text):
            return _known(model_type, {**vocabulary, **ends}, json.loads(text), "model.config")
        case FolderModel(path=path, grow=grow):
            store = Store(model.folder)
            folder_files.check(store)
            with tempfile.TemporaryDirectory(prefix="ticlm-config-") as folder:
                Path(folder, "config.json").write_bytes(store.read("config.json"))
                try:
                    found = AutoConfig.from_pretrained(folder, trust_remote_code=False)
                except Exception as error:  # it names the temporary folder
                    said = " ".join(str(error).split()).replace(folder, path.rstrip("/"))
                    raise InputError(f"model.path: {said[:300]}") from None
            if grow:
                found.vocab_size = max(found.vocab_size, vocabulary["vocab_size"])
            return found


def _known(model_type: str, shape: dict[str, Any], changes: dict[str, Any], where: str) -> PretrainedConfig:
    """Return a configuration of this shape with changes. Raises InputError for a key that transformers does not
    know."""
    if "model_type" in changes:
        raise InputError(f"{where}.model_type: cannot be changed here; it is model.model_type")
    made = AutoConfig.for_model(model_type, **{**shape, **changes})
    if changes:
        config_keys.check(changes, made, AutoConfig.for_model(model_type, **shape), where)
    return made


_COUNTED: dict[tuple[object, ...], int] = {}
"""Parameters by `architecture`: a large module takes half a second, and studies of one process often share theirs."""


def architecture(made: PretrainedConfig, objective: AnyObjective) -> tuple[object, ...]:
    """Return all that the module of `from_config` depends on, as a key."""
    return type(made), repr(made.to_dict()), objective.encoder_decoder


def count_parameters(made: PretrainedConfig, objective: AnyObjective) -> int:
    """Count all parameters, embeddings included, tied ones once."""
    key = architecture(made, objective)
    if key not in _COUNTED:
        with torch.device("meta"):
            _COUNTED[key] = sum(p.numel() for p in from_config(made, objective).parameters())
    return _COUNTED[key]


def shapes(made: PretrainedConfig, objective: AnyObjective) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight by name."""
    with torch.device("meta"):
        return {name: tuple(value.shape) for name, value in from_config(made, objective).state_dict().items()}


def size(made: PretrainedConfig, objective: AnyObjective) -> ModelSize:
    """Return the size of the model that a configuration describes, from its module without memory."""
    return with_shape(made, count_parameters(made, objective))


def with_shape(made: PretrainedConfig, parameters: int) -> ModelSize:
    """Return the size of a model of so many parameters, with the shape that its configuration tells."""

    def field(*names: str) -> int:
        return next((int(found) for name in names if (found := getattr(made, name, None))), 0)

    layers, width, vocabulary = field("num_hidden_layers"), field("hidden_size", "d_model"), field("vocab_size")
    inner = field("intermediate_size", "n_inner", "d_ff") or 4 * width  # as GPT-2 has it
    embeddings = vocabulary * width * (1 if getattr(made, "tie_word_embeddings", True) else 2)
    return ModelSize(parameters, layers, width, inner, vocabulary, embeddings, made.model_type)


def from_config(made: PretrainedConfig, objective: AnyObjective) -> PreTrainedModel:
    family = AutoModelForSeq2SeqLM if objective.encoder_decoder else AutoModelForCausalLM
    other = AutoModelForCausalLM if objective.encoder_decoder else AutoModelForSeq2SeqLM
    if type(made) not in family._model_mapping and type(made) in other._model_mapping:
        what, kind = (
            ("no encoder–decoder", "causal") if objective.encoder_decoder else ("an encoder–decoder", "seq2seq")
        )
        raise InputError(f"model: {made.model_type} is {what}; give it objective: {{kind: {kind}}}")
    try:
        with MAKING:  # weights are kept in float32, whatever a step computes in
            return family.from_config(made, dtype=torch.float32, attn_implementation="sdpa", trust_remote_code=False)
    except Exception as error:  # of numbers and names that make no model, architectures raise all kinds
        if isinstance(error, torch.OutOfMemoryError | MemoryError):
            raise
        raise InputError(f"model: {in_one_line(error)}") from None


def scratch(
    made: PretrainedConfig, objective: AnyObjective, seed: int, drawn: Initialisation = "transformers"
) -> nn.Module:
    """Return a module with random weights that depend on `seed` and the kind of initialisation alone."""
    with MAKING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module: nn.Module = from_config(made, objective)
    if drawn == "openlm":
        initialisation.draw(module, made.model_type, seed)
    return module
