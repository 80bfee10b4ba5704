"""Losses at chosen positions of what a model reads, without ever holding the logits of all of them.

Only positions whose label counts reach the output layer, and only a few of them at a time: with a vocabulary of 50k the
logits of one row of 2,048 tokens would otherwise take more memory than a small model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, cast

import torch
from torch import Tensor, nn

BATCH_TOKENS = {"cpu": 1 << 11, "other": 1 << 15}
"""Inputs in a batch. With more on a CPU, glibc hands the activations of every operation back to the kernel, and fresh
pages for the next one cost a tenth to a fifth on top."""
LOGITS = {"cpu": 1 << 24, "other": 1 << 26}
"""Logits held at once: 64 MB of float32 on a CPU, 256 MB elsewhere."""
WHOLE_LOGITS = 1 << 27
"""Logits of a batch where a model gives only all of them."""


class Head(NamedTuple):
    """The model, and its last layer where what that gives are the logits, else None; how many they are; room for
    some."""

    module: nn.Module
    layer: nn.Module | None
    vocab: int
    device: torch.device
    room: Tensor | None = None

    def batch_tokens(self, wanted: int | None = None) -> int:
        """How many inputs a batch may have: as many as are wanted, or suit the device, and can be held."""
        tokens = wanted or _for(self.device, BATCH_TOKENS)
        return tokens if self.layer is not None else min(tokens, WHOLE_LOGITS // self.vocab)

    def encoded(self, ids: Tensor, shown: Tensor) -> Tensor:
        """What an encoder–decoder's encoder makes of `ids` [batch, length], of which it looks at those `shown`."""
        encoder = cast(Any, self.module).get_encoder()
        return cast(Tensor, encoder(input_ids=ids, attention_mask=shown).last_hidden_state)

    def scores(self, ids: Tensor, where: Tensor, labels: Tensor, **attended: Any) -> Tensor:
        """[2, n]: −ln P of `labels` [n] at positions `where` [n] of the flattened `ids` [batch, length], and how far
        their logits are below the highest. `attended` goes to the model as it is."""
        if self.layer is None:
            return _scores(_logits(self.module, ids, **attended).flatten(0, 1)[where], labels)
        hidden = _into(self.layer, self.module, ids, **attended)[0][0].flatten(0, 1)[where]
        size = max(1, _for(self.device, LOGITS) // self.vocab)
        parts = zip(torch.split(hidden, size), torch.split(labels, size))
        if self.room is not None:
            weight = cast(Tensor, self.layer.weight)
            return torch.cat([_scores_within(self.room[: len(h)], weight, h, y) for h, y in parts], 1)
        return torch.cat([_scores(self.layer(h), y) for h, y in parts], 1)


@contextmanager
def scoring(module: nn.Module) -> Iterator[Head]:
    """The head of a model that is about to be scored: without gradients and without dropout meanwhile."""
    with _evaluating(module), torch.inference_mode():
        yield _head(module)


def _head(module: nn.Module) -> Head:
    """Tried on one token: a model that scales or caps its logits after the last layer (Cohere, Granite, Gemma), or that
    does not name that layer, is scored by the logits it gives instead."""
    device = next(module.parameters()).device
    ids = torch.zeros(1, 1, dtype=torch.int64, device=device)
    find = getattr(module, "get_output_embeddings", None)
    layer = find() if find is not None else None
    if layer is None:
        return Head(module, None, _logits(module, ids).shape[-1], device)
    hidden, logits = _into(layer, module, ids)
    vocab = logits.shape[-1]
    if len(hidden) != 1 or not torch.equal(layer(hidden[0]), logits):
        return Head(module, None, vocab, device)
    plain = type(layer) is nn.Linear and layer.bias is None and layer.weight.dtype == torch.float32
    if not plain or layer._forward_hooks or layer._forward_pre_hooks:
        return Head(module, layer, vocab, device)
    room = torch.empty(max(1, _for(device, LOGITS) // vocab), vocab, device=device)
    return Head(module, layer, vocab, device, room)


def _for(device: torch.device, sizes: Mapping[str, int]) -> int:
    return sizes["cpu" if device.type == "cpu" else "other"]


def _scores(logits: Tensor, labels: Tensor) -> Tensor:
    logits = logits.float()
    below = logits.amax(1) - logits.gather(1, labels[:, None])[:, 0]
    return torch.stack([nn.functional.cross_entropy(logits, labels, reduction="none"), below])


def _scores_within(room: Tensor, weight: Tensor, hidden: Tensor, labels: Tensor) -> Tensor:
    """The same, with nothing of the logits' size allocated: on a CPU a fifth to two fifths less time at a vocabulary of
    50k."""
    logits = torch.mm(hidden, weight.t(), out=room)
    top = logits.amax(1)
    below = top - logits.gather(1, labels[:, None])[:, 0]
    return torch.stack([logits.sub_(top[:, None]).exp_().sum(1).log_() + below, below])


def _into(layer: nn.Module, module: nn.Module, ids: Tensor, **attended: Any) -> tuple[list[Tensor], Tensor]:
    """What reaches `layer` while the module runs ([batch, length, width], once), and what comes of its first position,
    the only one that the layer gets to see."""
    seen: list[Tensor] = []

    def first(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        seen.append(args[0])
        return (args[0][:1, :1], *args[1:])

    handle = layer.register_forward_pre_hook(first)
    try:
        return seen, _logits(module, ids, **attended)
    finally:
        handle.remove()


def _logits(module: nn.Module, ids: Tensor, **attended: Any) -> Tensor:
    # With no attention mask, transformers takes the plain causal kernel. No cache: nothing is generated.
    config = getattr(module, "config", None)
    cache = {"use_cache": False} if hasattr(config, "use_cache") else {}
    if getattr(config, "is_encoder_decoder", False):
        encoded = {} if "encoder_outputs" in attended else {"input_ids": ids}  # when tried: one token for both halves
        return cast(Tensor, module(decoder_input_ids=ids, **encoded, **cache, **attended).logits)
    return cast(Tensor, module(input_ids=ids, **cache, **attended).logits)


@contextmanager
def _evaluating(module: nn.Module) -> Iterator[None]:
    """No dropout meanwhile; every part goes back to the mode it was in."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True
