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

from ticlm.methods.objectives import AnyObjective
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.store import Store
from ticlm.platform.models.presets import SHAPES, ModelSize, check_vocabulary
from ticlm.platform.models.settings import ConfigModel, FolderModel, Model, PresetModel

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
        raise InputError(f"model: {' '.join(str(error).split())[:300]}") from None
    check_vocabulary(made.vocab_size, vocab_size)
    return made


def _config(model: Model, vocabulary: dict[str, Any], ends: dict[str, Any]) -> PretrainedConfig:
    match model:
        case PresetModel(name=name, changes=changes):
            return AutoConfig.for_model(**{**vocabulary, **SHAPES[name], **ends, **json.loads(changes)})
        case ConfigModel(model_type=model_type, config=text):
            return AutoConfig.for_model(model_type, **{**vocabulary, **ends, **json.loads(text)})
        case FolderModel(path=path):
            with tempfile.TemporaryDirectory(prefix="ticlm-config-") as folder:
                try:
                    Path(folder, "config.json").write_bytes(Store(path).read("config.json"))
                except FileNotFoundError:
                    raise InputError(f"model.path {path}: no config.json there, so no model folder") from None
                return AutoConfig.from_pretrained(folder, trust_remote_code=False)


def count_parameters(made: PretrainedConfig, objective: AnyObjective) -> int:
    """Count all parameters, embeddings included, tied ones once."""
    with torch.device("meta"):
        return sum(p.numel() for p in from_config(made, objective).parameters())


def shapes(made: PretrainedConfig, objective: AnyObjective) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight by name."""
    with torch.device("meta"):
        return {name: tuple(value.shape) for name, value in from_config(made, objective).state_dict().items()}


def size(made: PretrainedConfig, objective: AnyObjective) -> ModelSize:
    """Return the size of the model that a configuration describes, from its module without memory."""
    layers = int(getattr(made, "num_hidden_layers", 0) or 0)
    width = int(getattr(made, "hidden_size", 0) or getattr(made, "d_model", 0) or 0)
    return ModelSize(count_parameters(made, objective), layers, width)


def from_config(made: PretrainedConfig, objective: AnyObjective) -> PreTrainedModel:
    family = AutoModelForSeq2SeqLM if objective.encoder_decoder else AutoModelForCausalLM
    try:
        with MAKING:
            return family.from_config(made, dtype=torch.float32, attn_implementation="sdpa", trust_remote_code=False)
    except (ValueError, TypeError, ZeroDivisionError) as error:
        raise InputError(f"model: {' '.join(str(error).split())[:300]}") from None


def scratch(made: PretrainedConfig, objective: AnyObjective, seed: int) -> nn.Module:
    """Return a module with random weights that depend on `seed` alone."""
    with MAKING, torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        module: nn.Module = from_config(made, objective)
        return module
