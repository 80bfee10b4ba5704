"""OpenLM's random weights, for architectures of transformers that have the same parts.

Each matrix is drawn from a normal distribution that is cut at three standard deviations. The standard deviation is
1/sqrt(number of inputs); for the two matrices of layer l = 0, 1, ... that write into the residual stream it is divided
by sqrt(2(l + 1)) (Zhang et al., 2019). Embeddings and the output head have 1/sqrt(width). Gains are 1, biases are 0.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from ticlm.core.errors import InputError

WRITES_TO_STREAM = {
    "gpt2": ("attn.c_proj", "mlp.c_proj"),
    "gpt_neox": ("attention.dense", "mlp.dense_4h_to_h"),
    "llama": ("self_attn.o_proj", "mlp.down_proj"),
    "olmo2": ("self_attn.o_proj", "mlp.down_proj"),
    "olmoe": ("self_attn.o_proj", "mlp.experts.down_proj"),
}
"""For each architecture, the two matrices of a layer that write into the residual stream."""
INPUTS_FIRST = ("gpt2",)
"""Architectures whose matrices (Conv1D) have the shape (inputs, outputs) instead of (outputs, inputs)."""


def require(model_type: str) -> None:
    """Raise InputError if OpenLM's initialisation is not defined for an architecture."""
    if model_type not in WRITES_TO_STREAM:
        raise InputError(
            f"model.initialisation: openlm is not defined for {model_type}; it is for {', '.join(WRITES_TO_STREAM)}"
        )


def draw(module: nn.Module, model_type: str, seed: int) -> None:
    """Replace all weights of a module by OpenLM's random ones, which depend on `seed` alone."""
    require(model_type)
    generator = torch.Generator().manual_seed(seed)
    tables = {id(m.weight) for m in module.modules() if isinstance(m, nn.Embedding)}
    with torch.no_grad():
        for name, weight in module.named_parameters():
            if weight.ndim == 1:
                weight.fill_(0.0 if name.endswith("bias") else 1.0)
                continue
            std = _deviation(name, weight, id(weight) in tables, model_type)
            nn.init.trunc_normal_(weight, std=std, a=-3 * std, b=3 * std, generator=generator)


def _deviation(name: str, weight: Tensor, is_table: bool, model_type: str) -> float:
    if is_table:
        return 1 / math.sqrt(weight.shape[-1])
    inputs_first = model_type in INPUTS_FIRST and ".h." in name
    std = 1 / math.sqrt(weight.shape[-2] if inputs_first else weight.shape[-1])
    if name.removesuffix(".weight").endswith(WRITES_TO_STREAM[model_type]):
        layer = next(int(part) for part in name.split(".") if part.isdigit())
        std /= math.sqrt(2 * (layer + 1))
    return std
