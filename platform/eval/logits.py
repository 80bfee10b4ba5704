"""Losses at chosen positions of a model's input, without ever holding the logits of all positions.

Only positions with a label that counts reach the output layer, and only some of them at a time. With a vocabulary of
50k, the logits of one row of 2,048 tokens would otherwise take more memory than a small model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple, cast
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

BATCH_TOKENS = {"cpu": 1 << 11, "other": 1 << 15}
"""Inputs in a batch. With more of them on a CPU, glibc returns the activations of every operation to the kernel, and
new pages for the next one cost a tenth to a fifth of the time."""
LOGITS = {"cpu": 1 << 24, "other": 1 << 26}
"""Logits held at once: 64 MB of float32 on a CPU, 256 MB elsewhere."""
BLOCK_ROWS = 256
"""About how many positions a CPU computes the logits of at once: 170 to 384, if there are as many. Those of a
vocabulary of 4,096 (4 MB) then stay in its cache for the passes of the softmax. Those of 50k are read from memory in
any case, and with fewer positions the weights of the layer (52 MB at a width of 256) would be read more often."""
WHOLE_LOGITS = 1 << 27
"""Logits of a batch if a model gives only all of them at once."""


class Head(NamedTuple):
    """A model as it is scored. `layer` is its last layer, or None if its outputs are not yet the logits; `vocab` is the
    number of logits of a position; `room` [positions, vocab] is memory for some of them, if they are computed there."""

    module: nn.Module
    layer: nn.Module | None
    vocab: int
    device: torch.device
    room: Tensor | None = None

    def batch_tokens(self, wanted: int | None = None) -> int:
        """Return the number of inputs for a batch: `wanted`, or what suits the device, but no more than can be held."""
        tokens = wanted or _for(self.device, BATCH_TOKENS)
        return tokens if self.layer is not None else min(tokens, WHOLE_LOGITS // self.vocab)

    def encoded(self, ids: Tensor, shown: Tensor) -> Tensor:
        """Run the encoder of an encoder–decoder on `ids` int64[batch, length], of which it sees those where `shown` is
        1. Returns its states, float32[batch, length, width]."""
        encoder = cast(Any, self.module).get_encoder()
        return cast(Tensor, encoder(input_ids=ids, attention_mask=shown).last_hidden_state)

    def scores(self, ids: Tensor, where: Tensor, labels: Tensor, **attended: Any) -> Tensor:
        """Score `labels` int64[n] at the positions `where` int64[n] of the flattened `ids` int64[batch, length], which
        an encoder–decoder's decoder reads. Returns float32[2, n]: −ln P in nats, and how far the label's logit is below
        the highest one. `attended` goes to the model as it is."""
        if self.layer is None:
            return _scores(_logits(self.module, ids, **attended).flatten(0, 1)[where], labels)
        hidden = _into(self.layer, self.module, ids, **attended)[0][0].flatten(0, 1)[where]
        sizes = _blocks(len(labels), self.vocab, self.device)
        parts = zip(torch.split(hidden, sizes), torch.split(labels, sizes))
        if self.room is not None:
            weight = cast(Tensor, self.layer.weight)
            return torch.cat([_scores_within(self.room[: len(h)], weight, h, y) for h, y in parts], 1)
        return torch.cat([_scores(self.layer(h), y) for h, y in parts], 1)

    def ranks(self, ids: Tensor, where: Tensor, labels: Tensor, **attended: Any) -> Tensor:
        """Rank `labels` [n] among all tokens at the positions `where` [n], as in `scores`. Returns int64[n]: 1 for the
        token that argmax gives, 0 where a logit is not a number."""
        if self.layer is None:
            return _ranks(_logits(self.module, ids, **attended).flatten(0, 1)[where], labels)
        hidden = _into(self.layer, self.module, ids, **attended)[0][0].flatten(0, 1)[where]
        sizes = _blocks(len(labels), self.vocab, self.device)
        parts = zip(torch.split(hidden, sizes), torch.split(labels, sizes))
        return torch.cat([_ranks(self.layer(h), y) for h, y in parts])


@contextmanager
def scoring(module: nn.Module) -> Iterator[Head]:
    """Give the head of a model to score it with; inside the block there are no gradients and no dropout."""
    with _evaluating(module), torch.inference_mode():
        yield _head(module)


class _TriedHead(NamedTuple):
    """What trying a model has shown, `layer`, `vocab` and `room` of its `Head`; `state` is what it may depend on."""

    state: tuple[object, ...]
    layer: nn.Module | None
    vocab: int
    room: Tensor | None


# A checkpoint is scored in hundreds of blocks of rows. Trying it for each took 5 % of the demo's evaluation.
_FOUND: WeakKeyDictionary[nn.Module, _TriedHead] = WeakKeyDictionary()
"""What was found of each model that is still in memory. No value refers to its model, which would keep it there."""


def _head(module: nn.Module) -> Head:
    """Return the head of a model, which is tried again only after its last layer, its device or its type has
    changed."""
    weight = next(module.parameters())
    find = getattr(module, "get_output_embeddings", None)
    layer = find() if find is not None else None
    hooks = () if layer is None else (*layer._forward_hooks, *layer._forward_pre_hooks)
    state = (id(layer), weight.device, weight.dtype, hooks)
    found = _FOUND.get(module)
    if found is None or found.state != state:
        tried = _tried(module, layer, weight.device)
        found = _FOUND[module] = _TriedHead(state, tried.layer, tried.vocab, tried.room)
    return Head(module, found.layer, found.vocab, weight.device, found.room)


def _tried(module: nn.Module, layer: nn.Module | None, device: torch.device) -> Head:
    """Find a model's head by trying it on one token. A model that scales or caps its logits after the last layer
    (Cohere, Granite, Gemma), or that does not name this layer, is scored by its whole logits instead."""
    ids = torch.zeros(1, 1, dtype=torch.int64, device=device)
    if layer is None:
        return Head(module, None, _logits(module, ids).shape[-1], device)
    hidden, logits = _into(layer, module, ids)
    vocab = logits.shape[-1]
    if len(hidden) != 1 or not torch.equal(layer(hidden[0]), logits):
        return Head(module, None, vocab, device)
    plain = type(layer) is nn.Linear and layer.bias is None and layer.weight.dtype in (torch.float32, torch.bfloat16)
    if not plain or layer._forward_hooks or layer._forward_pre_hooks:
        return Head(module, layer, vocab, device)
    return Head(module, layer, vocab, device, _room(vocab, device))


def _blocks(rows: int, vocab: int, device: torch.device) -> list[int]:
    """Return the numbers of positions of the blocks in which the logits of so many are computed; they sum to `rows`."""
    most = max(1, _for(device, LOGITS) // vocab)
    sizes: list[int] = []
    for start in range(0, rows, most):
        part = min(most, rows - start)
        # In equal blocks: MKL computes a block of one to three rows by another kernel, with other last bits than those
        # of the same rows in a larger block. From 7 rows on they were equal in all of 5 shapes and 22 sizes.
        count = max(1, round(part / BLOCK_ROWS)) if device.type == "cpu" else 1
        sizes += [part // count + (n < part % count) for n in range(count)]
    return sizes or [0]


def _room(vocab: int, device: torch.device) -> Tensor:
    """Return memory for the logits of the largest block that `_blocks` gives, float32[rows, vocab]."""
    most = max(1, _for(device, LOGITS) // vocab)
    rows = min(most, BLOCK_ROWS * 3 // 2) if device.type == "cpu" else most
    return torch.empty(rows, vocab, dtype=torch.float32, device=device)


def _for(device: torch.device, sizes: Mapping[str, int]) -> int:
    return sizes["cpu" if device.type == "cpu" else "other"]


def _scores(logits: Tensor, labels: Tensor) -> Tensor:
    """Return float32[2, n] for logits [n, vocab] and labels int64[n]: −ln P, and the distance to the highest logit."""
    rounded = logits.dtype != torch.float32
    logits = logits.float()
    below = logits.amax(1) - logits.gather(1, labels[:, None])[:, 0]
    if rounded:
        below = _behind_equals(logits, labels, below)
    return torch.stack([nn.functional.cross_entropy(logits, labels, reduction="none"), below])


def _behind_equals(logits: Tensor, labels: Tensor, below: Tensor) -> Tensor:
    """Return `below` with the least positive number for labels that equal the highest logit but stand behind another
    one that does. In bfloat16 many logits are equal, and a model writes the first of them."""
    least = torch.finfo(torch.float32).tiny
    return torch.where((below == 0) & (logits.argmax(1) != labels), least, below)


def _ranks(logits: Tensor, labels: Tensor) -> Tensor:
    """Return the rank of each label, int64[n] for logits [n, vocab]; 0 where a logit is not a number."""
    own = logits.gather(1, labels[:, None])
    before = torch.arange(logits.shape[1], device=logits.device) < labels[:, None]  # argmax takes the first of equals
    ranks = 1 + ((logits > own) | ((logits == own) & before)).sum(1)
    return torch.where(logits.isnan().any(1), 0, ranks)


def _scores_within(room: Tensor, weight: Tensor, hidden: Tensor, labels: Tensor) -> Tensor:
    """Return the scores of `_scores` for the last layer's inputs `hidden` [n, width]; the logits are in `room`
    [n, vocab]."""
    # Nothing of the logits' size is allocated: on a CPU, a fifth to two fifths less time at a vocabulary of 50k.
    is_float = weight.dtype == torch.float32
    logits = torch.mm(hidden, weight.t(), out=room) if is_float else room.copy_(torch.mm(hidden, weight.t()))
    top = logits.amax(1)
    below = top - logits.gather(1, labels[:, None])[:, 0]
    shown = below if is_float else _behind_equals(logits, labels, below)
    return torch.stack([logits.sub_(top[:, None]).exp_().sum(1).log_() + below, shown])


def _into(layer: nn.Module, module: nn.Module, ids: Tensor, **attended: Any) -> tuple[list[Tensor], Tensor]:
    """Run the module and catch the inputs of `layer`. Returns the list of them (float32[batch, length, width] each, one
    if the layer ran once), and the logits of the first position, the only one that the layer itself computes."""
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
    """Switch dropout off inside the block; afterwards every part is in the mode that it was in before."""
    training = [part for part in module.modules() if part.training]
    module.eval()
    try:
        yield
    finally:
        for part in training:
            part.training = True
