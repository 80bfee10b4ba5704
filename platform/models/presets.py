"""The presets of models: their shapes by name.

`1b` and `3b` have OpenLM's shapes (TiC-LM's release) in OLMo-2, the transformers architecture that comes closest: its
q/k norm, too, spans all heads at once. What differs:

- OLMo-2 has RMSNorm where OpenLM has a LayerNorm with a gain alone;
- OLMo-2 norms the output of a block, OpenLM its input.

What does not differ: widths, depth, heads, SwiGLU, rotary positions, an output head of its own, no biases, and the
distribution of the first weights (`initialisation: openlm`). Released checkpoints need no such compromise: `ticlm
convert` makes a folder with equal logits of them.

`3b` has 2,796,096,000 parameters, as published. `1b` has 1,439,893,504: the published count, 1,439,795,200, leaves out
the 24 x 2 x 2,048 gains of the q/k norm, which DCLM's configuration of this model has (`qk_norm: true`).
"""

from __future__ import annotations

from typing import Any

OPENLM = {
    "model_type": "olmo2",
    "rms_norm_eps": 1e-5,
    "rope_theta": 10_000.0,
    "tie_word_embeddings": False,
    "vocab_size": 50_432,
    "max_position_embeddings": 2048,
}
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
}
