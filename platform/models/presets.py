"""The presets of models: their shapes, and the sizes that follow from them without building a module.

The presets `1b` and `3b` have OpenLM's shapes (facts of TiC-LM's release) in the transformers architectures that come
closest, with the same parameter count to the last one: `3b` is an OLMo-2, whose q/k norm too spans all heads at once;
the published count of `1b` has no q/k norm, so it is a Llama. They differ in using RMSNorm where OpenLM has a gain-only
LayerNorm, and OLMo-2 in norming the output of a block instead of its input.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ticlm.platform.core.errors import InputError
from ticlm.platform.models.settings import ConfigModel, Model, PresetModel

OPENLM = {"rms_norm_eps": 1e-5, "rope_theta": 10_000.0, "tie_word_embeddings": False, "vocab_size": 50_432}
SHAPES: dict[str, dict[str, Any]] = {
    "tiny": {
        "model_type": "olmo2",
        "hidden_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 192,
        "rms_norm_eps": 1e-5,
        "tie_word_embeddings": True,
        "max_position_embeddings": 512,
    },
    "1b": {
        "model_type": "llama",
        "hidden_size": 2048,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 5632,
        "max_position_embeddings": 2048,
        **OPENLM,
    },
    "3b": {
        "model_type": "olmo2",
        "hidden_size": 2560,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "intermediate_size": 6912,
        "max_position_embeddings": 2048,
        **OPENLM,
    },
}

COUNTED = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    *("tie_word_embeddings", "vocab_size", "max_position_embeddings", "rms_norm_eps", "rope_theta", "model_type"),
)
"""Fields of a configuration with which `preset_size` counts. Any other field needs the module."""


@dataclass(frozen=True)
class ModelSize:
    """How large a model is: parameters with all embeddings (tied ones once), layers, and width."""

    parameters: int
    layers: int
    width: int

    def flops_per_token(self, length: int) -> tuple[int, int]:
        """Return training FLOPs per token: (6N, 6N + 12·layers·width·length with attention) (PaLM, appendix B)."""
        return 6 * self.parameters, 6 * self.parameters + 12 * self.layers * self.width * length


def own_vocabulary(model: Model) -> int | None:
    """Return the vocabulary that a model has whatever the tokenizer; None if it takes the tokenizer's."""
    match model:
        case PresetModel(name=name, changes=text):
            fields = {**SHAPES[name], **json.loads(text)}
        case ConfigModel(config=text):
            fields = json.loads(text)
        case _:
            return None
    found = fields.get("vocab_size")
    return found if isinstance(found, int) else None


def check_vocabulary(have: int, needed: int) -> None:
    """Raise InputError if a model's vocabulary is smaller than its tokenizer's."""
    if have < needed:
        raise InputError(f"model has a vocabulary of {have}, the corpus's tokenizer has {needed} tokens")


def preset_size(model: Model, vocab_size: int) -> ModelSize | None:
    """Return the size of a preset for a tokenizer of `vocab_size` tokens; None if only the module can tell.

    A Llama has two norms per layer, one after the last layer, and a gated MLP; an OLMo-2 also norms queries and keys.
    It takes no torch, whose import takes seconds. Raises InputError if the model's vocabulary is too small.
    """
    if not isinstance(model, PresetModel):
        return None
    fields = {"vocab_size": vocab_size, **SHAPES[model.name], **json.loads(model.changes)}
    known = fields.keys() <= set(COUNTED) and fields["model_type"] in ("llama", "olmo2")
    counts = [fields[name] for name in (*COUNTED[:4], "vocab_size")]
    if not known or not all(type(count) is int and count > 0 for count in counts):
        return None
    width, layers, heads, inner, vocabulary = counts
    if width % heads or not isinstance(fields["tie_word_embeddings"], bool):
        return None
    check_vocabulary(vocabulary, vocab_size)
    norms = 4 if fields["model_type"] == "olmo2" else 2
    layer = 4 * width * width + 3 * width * inner + norms * width
    embeddings = vocabulary * width * (1 if fields["tie_word_embeddings"] else 2)
    return ModelSize(layers * layer + embeddings + width, layers, width)
