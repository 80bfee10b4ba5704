"""LoRA in the format of the library peft, so that `PeftModel.from_pretrained` opens what was trained here.

peft trains it in the same way, but renames the weights that it is added to, by which penalties, checkpoints and model
folders know them, and adds to the queries and values of a fused projection (GPT-2) only together with the keys. So it
is added by hooks here, and only written for peft. Imports torch.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

WITHIN = re.compile(r"^(?P<module>.+)\.adapter_(?P<depth>\d+)\.(?P<name>\w+)\.(?P<part>down|up)\.weight$")
FUSED = 3
"""Parts of a fused projection: queries, keys, values."""


def of(depth: int, weights: Mapping[str, Tensor], rank: int, scale: float) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return the adapter at a depth as peft's adapter_config.json and the tensors of its adapter_model.safetensors.

    `weights` are those of the adapters by name. In a fused projection, queries and values share one matrix A of twice
    the rank, and B is zero where they do not meet.
    """
    found: dict[str, dict[tuple[str, str], Tensor]] = {}
    for name, value in weights.items():
        match = WITHIN.match(name)
        if match is not None and int(match["depth"]) == depth:
            found.setdefault(match["module"], {})[match["name"], match["part"]] = value
    tensors: dict[str, Tensor] = {}
    fused = False
    for module, parts in found.items():
        names = {name for name, _ in parts}
        fused = len(names) > 1
        down, up = _joined(parts) if fused else (parts[min(names), "down"], parts[min(names), "up"])
        tensors[f"base_model.model.{module}.lora_A.weight"] = down.contiguous()
        tensors[f"base_model.model.{module}.lora_B.weight"] = up.contiguous()
    size = 2 * rank if fused else rank
    config = {
        "peft_type": "LORA",
        "task_type": None,
        "base_model_name_or_path": None,
        "r": size,
        "lora_alpha": scale * size,  # peft multiplies by lora_alpha / r
        "lora_dropout": 0.0,
        "bias": "none",
        "fan_in_fan_out": fused,
        "target_modules": sorted(found),
        "inference_mode": True,
    }
    return config, tensors


def _joined(parts: Mapping[tuple[str, str], Tensor]) -> tuple[Tensor, Tensor]:
    """Return A [2r, inputs] and B [3 · size, 2r] of queries and values together."""
    down = torch.cat([parts["q", "down"], parts["v", "down"]])
    queries, values = parts["q", "up"], parts["v", "up"]
    size, rank = queries.shape
    up = torch.zeros(FUSED * size, 2 * rank, dtype=queries.dtype)
    up[:size, :rank] = queries
    up[2 * size :, rank:] = values
    return down, up
