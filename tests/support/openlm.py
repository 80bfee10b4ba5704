"""Toy checkpoints in the format that OpenLM releases, and a slow forward pass of its architecture in float64."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

VOCABULARY, WIDTH, INNER, LAYERS, HEADS = 64, 24, 40, 3, 4


def weights(qk_norm: bool, seed: int = 0) -> dict[str, Tensor]:
    """Random weights by OpenLM's names. Nothing about them is special: no mean is 0, no gain is 1."""
    draw = torch.Generator().manual_seed(seed)

    def some(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=draw) / math.sqrt(shape[-1]) + 0.1 * torch.rand(1, generator=draw)

    state = {"tok_embeddings.weight": some(VOCABULARY, WIDTH)}
    for layer in (f"layers.{number}" for number in range(LAYERS)):
        state[f"{layer}.attention.in_proj.weight"] = some(3 * WIDTH, WIDTH)
        state[f"{layer}.attention.out_proj.weight"] = some(WIDTH, WIDTH)
        state[f"{layer}.feed_forward.w12.weight"] = some(2 * INNER, WIDTH)
        state[f"{layer}.feed_forward.w3.weight"] = some(WIDTH, INNER)
        for norm in ("attention_norm", "ffn_norm", *(("attention.q_norm", "attention.k_norm") if qk_norm else ())):
            state[f"{layer}.{norm}.weight"] = 0.5 + torch.rand(WIDTH, generator=draw)
    return state | {"norm.weight": 0.5 + torch.rand(WIDTH, generator=draw), "output.weight": some(VOCABULARY, WIDTH)}


def save(path: Path, state: dict[str, Tensor], params: str = "", **others: Any) -> Path:
    """Write a checkpoint as OpenLM does, and its params.txt one folder above."""
    path.parent.mkdir(parents=True, exist_ok=True)
    whole = {"epoch": 12, "name": "toy", "state_dict": state, "evaluation_metrics": [], "next_shard_per_source": [7]}
    torch.save(whole | {"samples_seen": 640, "step": 10, "shard_shuffle_seed": 124} | others, path)
    if params:
        (path.parent.parent / "params.txt").write_text(params)
    return path


def logits(state: dict[str, Tensor], tokens: list[int], heads: int = HEADS) -> Tensor:
    """The logits [n, vocabulary] after each of n tokens, position by position and head by head."""
    state = {name: value.double() for name, value in state.items()}
    layers = 1 + max(int(name.split(".")[1]) for name in state if name.startswith("layers."))
    x = state["tok_embeddings.weight"][tokens]
    for layer in (f"layers.{number}" for number in range(layers)):
        x = x + _attention(state, layer, _norm(x, state[f"{layer}.attention_norm.weight"]), heads)
        inner = _norm(x, state[f"{layer}.ffn_norm.weight"]) @ state[f"{layer}.feed_forward.w12.weight"].T
        gate, value = inner.tensor_split(2, dim=-1)
        x = x + (gate / (1 + torch.exp(-gate)) * value) @ state[f"{layer}.feed_forward.w3.weight"].T
    return _norm(x, state["norm.weight"]) @ state["output.weight"].T


def _norm(x: Tensor, gain: Tensor) -> Tensor:
    """LayerNorm with a gain alone."""
    centred = x - x.mean(-1, keepdim=True)
    return gain * centred / torch.sqrt((centred**2).mean(-1, keepdim=True) + 1e-5)


def _attention(state: dict[str, Tensor], layer: str, x: Tensor, heads: int) -> Tensor:
    width = x.shape[-1]
    q, k, v = ((x @ state[f"{layer}.attention.in_proj.weight"].T)[:, i * width : (i + 1) * width] for i in range(3))
    if f"{layer}.attention.q_norm.weight" in state:
        q = _norm(q, state[f"{layer}.attention.q_norm.weight"])
        k = _norm(k, state[f"{layer}.attention.k_norm.weight"])
    size, out = width // heads, torch.zeros_like(x)
    for head in range(heads):
        own = slice(head * size, (head + 1) * size)
        for now in range(len(x)):
            scores = torch.stack(
                [_turned(q[now, own], now) @ _turned(k[then, own], then) / math.sqrt(size) for then in range(now + 1)]
            )
            out[now, own] = torch.softmax(scores, 0) @ v[: now + 1, own]
    return out @ state[f"{layer}.attention.out_proj.weight"].T


def _turned(vector: Tensor, position: int) -> Tensor:
    """Rotary position: the pair (i, i + half) is turned by position · 10,000^(-2i/size)."""
    half = len(vector) // 2
    out = vector.clone()
    for i in range(half):
        angle = position * 10_000.0 ** (-2 * i / len(vector))
        a, b = vector[i], vector[i + half]
        out[i] = a * math.cos(angle) - b * math.sin(angle)
        out[i + half] = b * math.cos(angle) + a * math.sin(angle)
    return out
