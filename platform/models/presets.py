"""The presets of models: their shapes by name, and the sizes that follow from them without building a module.

`1b` and `3b` have OpenLM's shapes (TiC-LM's release) in OLMo-2, the transformers architecture that comes closest: its
q/k norm, too, spans all heads at once. What differs:

- OLMo-2 has RMSNorm where OpenLM has a LayerNorm with a gain alone;
- OLMo-2 norms the output of a block, OpenLM its input.

What does not differ: widths, depth, heads, SwiGLU, rotary positions, an output head of its own, no biases, and the
distribution of the first weights (`initialisation: openlm`). Released checkpoints need no such compromise: `ticlm
convert` makes a folder with equal logits of them.

`t5-large` is T5 v1.0 as CKL and EvolvingQA train it: ReLU, tied embeddings, 32,128 tokens, 737,668,096 parameters. It
takes `objective: {kind: seq2seq}`. `gpt2-large` has 774,030,080 with its 50,257 tokens. Both start from random weights;
published ones are a folder (`model: {kind: folder}`).

`3b` has 2,796,096,000 parameters, as published. `1b` has 1,439,893,504: the published count, 1,439,795,200, leaves out
the 24 x 2 x 2,048 gains of the q/k norm, which DCLM's configuration of this model has (`qk_norm: true`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ticlm.core.errors import InputError
from ticlm.core.reading.hub_names import parse
from ticlm.platform.models.settings import ConfigModel, FolderModel, Model, PresetModel

OPENLM = {
    "model_type": "olmo2",
    "rms_norm_eps": 1e-5,
    "rope_theta": 10_000.0,
    "tie_word_embeddings": False,
    "vocab_size": 50_432,
    "max_position_embeddings": 2048,
}
T5 = {"model_type": "t5", "d_kv": 64, "feed_forward_proj": "relu", "tie_word_embeddings": True}
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
        "hidden_size": 2048,
        "num_hidden_layers": 24,
        "num_attention_heads": 16,
        "intermediate_size": 5632,
        **OPENLM,
    },
    "3b": {
        "hidden_size": 2560,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "intermediate_size": 6912,
        **OPENLM,
    },
    "t5-large": {**T5, "d_model": 1024, "d_ff": 4096, "num_layers": 24, "num_heads": 16, "vocab_size": 32_128},
    "tiny-t5": {**T5, "d_model": 64, "d_ff": 128, "num_layers": 2, "num_heads": 4, "d_kv": 16, "dropout_rate": 0.0},
    "gpt2-large": {"model_type": "gpt2", "n_embd": 1280, "n_layer": 36, "n_head": 20, "vocab_size": 50_257},
    "tiny-gpt2": {
        "model_type": "gpt2",
        "n_embd": 64,
        "n_layer": 2,
        "n_head": 4,
        "n_positions": 512,
        **dict.fromkeys(("embd_pdrop", "attn_pdrop", "resid_pdrop"), 0.0),
    },
}

PARAMETERS = {"t5-large": 737_668_096, "gpt2-large": 774_030_080, "tiny-t5": 230_400, "tiny-gpt2": 198_400}
"""The parameters of presets that no formula here counts; of the tiny ones with a vocabulary of 1,024."""

ON_HUB: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "google/t5-large-ssm": ("t5-large", {}),  # T5 v1.0 trained on with salient spans; its other sizes are of v1.1
    "google-t5/t5-small": ("t5-large", {"d_model": 512, "d_ff": 2048, "num_layers": 6, "num_heads": 8}),
    "google-t5/t5-base": ("t5-large", {"d_model": 768, "d_ff": 3072, "num_layers": 12, "num_heads": 12}),
    "google-t5/t5-large": ("t5-large", {}),
    "openai-community/gpt2": ("gpt2-large", {"n_embd": 768, "n_layer": 12, "n_head": 12}),
    "openai-community/gpt2-medium": ("gpt2-large", {"n_embd": 1024, "n_layer": 24, "n_head": 16}),
    "openai-community/gpt2-large": ("gpt2-large", {}),
    "openai-community/gpt2-xl": ("gpt2-large", {"n_embd": 1600, "n_layer": 48, "n_head": 25}),
}
"""Repositories of the hub whose architecture is known: a preset, and the fields of its configuration that differ. With
these a plan counts a model whose files it has not read; nothing else may use them."""

COUNTED = (
    *("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"),
    *("tie_word_embeddings", "vocab_size", "max_position_embeddings", "rms_norm_eps", "rope_theta", "model_type"),
)
"""Fields of a configuration with which `preset_size` counts. Any other field needs the module."""


@dataclass(frozen=True)
class ModelSize:
    """How large a model is: parameters with all embeddings (tied ones once), layers, and width; the width inside its
    MLP, its vocabulary, the parameters that are embeddings, and the architecture's name in transformers (0 and empty:
    not known)."""

    parameters: int
    layers: int
    width: int
    inner: int = 0
    vocabulary: int = 0
    embeddings: int = 0
    family: str = ""

    def flops_per_token(self, length: int) -> tuple[int, int]:
        """Return training FLOPs per token: (6N, 6N + 12·layers·width·length with attention) (PaLM, appendix B)."""
        return 6 * self.parameters, 6 * self.parameters + 12 * self.layers * self.width * length


def known_on_hub(model: FolderModel) -> tuple[PresetModel, str] | None:
    """Return the architecture of a model on the hub that is known without its files (random weights of that shape),
    and the model's name there; None of any other model."""
    name = parse(model.path.removeprefix("hf://"))
    if name is None or name.subfolder or name.repository not in ON_HUB:
        return None
    preset, changes = ON_HUB[name.repository]
    return PresetModel.model_validate({"name": preset, "changes": dict(changes)}), name.repository


def own_vocabulary(model: Model) -> int | None:
    """Return the vocabulary that a model has whatever the tokenizer; None if it takes the tokenizer's."""
    return _count(model, "vocab_size")


def own_window(model: Model) -> int | None:
    """Return the longest input in tokens of a model that is made here; None if its settings do not say, as those of an
    encoder–decoder, whose positions are relative."""
    return _count(model, "max_position_embeddings") or _count(model, "n_positions")


def _count(model: Model, field: str) -> int | None:
    match model:
        case PresetModel(name=name, changes=text):
            fields = {**SHAPES[name], **json.loads(text)}
        case ConfigModel(config=text):
            fields = json.loads(text)
        case _:
            return None
    found = fields.get(field)
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
    counts = [fields.get(name) for name in (*COUNTED[:4], "vocab_size")]
    if not known or not all(type(count) is int and count > 0 for count in counts):
        return None
    width, layers, heads, inner, vocabulary = (int(count) for count in counts if count is not None)
    if width % heads or not isinstance(fields["tie_word_embeddings"], bool):
        return None
    check_vocabulary(vocabulary, vocab_size)
    norms = 4 if fields["model_type"] == "olmo2" else 2
    layer = 4 * width * width + 3 * width * inner + norms * width
    embeddings = vocabulary * width * (1 if fields["tie_word_embeddings"] else 2)
    whole = layers * layer + embeddings + width
    return ModelSize(whole, layers, width, inner, vocabulary, embeddings, str(fields["model_type"]))
