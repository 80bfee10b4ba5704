"""What a K-Adapter adds to a module. Imports torch."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

from torch import Tensor, nn
from transformers.cache_utils import Cache, DynamicLayer, DynamicSlidingWindowLayer

from ticlm.core.errors import InputError
from ticlm.methods.adapters import places
from ticlm.methods.adapters.places import Tower


class SideBlocks(nn.Module):
    """Blocks that read the hidden states of a tower while it runs, and a norm of the last block's output.

    A block gets the arguments of the layer that it reads (mask, positions, the cache of generation), so both attend to
    the same tokens. Each block keeps its keys and values in the same cache, behind those of the tower's layers.
    """

    def __init__(self, tower: Tower, fresh: Sequence[nn.Module], layers: Sequence[int], scale: float) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(fresh)
        self.norm = _fresh_norm(tower.norm)
        self.layers, self.scale = tuple(layers), scale
        self.has_bias = _is_t5(tower.blocks[0])  # seen now: sharding gives a block another class
        self._read: dict[int, tuple[Tensor, tuple[Any, ...], Mapping[str, Any]]] = {}

    def keep(self, layer: int, hidden: Tensor, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> None:
        """Keep the output of a layer (`hidden` [rows, length, width]) and the other arguments of its call until
        `forward`."""
        self._read[layer] = (hidden, arguments, named)

    def forget(self) -> None:
        """Forget the kept outputs."""
        self._read.clear()

    def forward(self) -> Tensor:
        """Return the tensor to add to the tower's output, [rows, length, width], and forget the kept outputs."""
        before: Tensor | None = None
        bias: Tensor | None = None
        for layer, block in zip(self.layers, self.blocks):
            hidden, arguments, named = self._read[layer]
            _make_room(block, layer, (*arguments, *named.values()))
            hidden = hidden if before is None else hidden + before
            if self.has_bias:  # T5 passes (mask, position bias, …): the first block makes the bias that the others use
                before, bias = block(hidden, arguments[0], bias)[:2]
            else:
                result = block(hidden, *arguments, **named)
                before = result[0] if isinstance(result, tuple) else result
        self.forget()
        added: Tensor = self.norm(before) * self.scale
        return added


def add(
    module: nn.Module, depth: int, layers: Sequence[int] | Literal["second-and-last"], scale: float, scored: bool
) -> None:
    """Add blocks beside the tower of a module. Unless `scored`, they act in training alone.

    Raises InputError for a layer that it does not have.
    """
    tower = places.tower(module)
    have = len(tower.blocks)
    chosen = (min(2, have), have) if layers == "second-and-last" else tuple(layers)
    beyond = next((layer for layer in chosen if layer > have), None)
    if beyond is not None:
        raise InputError(
            f"adapter.layers: {beyond} is beyond the {have} layers of the {places.architecture(module)}; give layers "
            f"from 0 (the embeddings) to {have}"
        )
    try:
        fresh = _fresh_blocks(module, tower, chosen)
    except (TypeError, IndexError, KeyError, ValueError, AttributeError) as error:
        what = f"{type(error).__name__} {' '.join(str(error).split())}"
        raise InputError(f"adapter: no further block of a {places.architecture(module)} can be made: {what}") from None
    side = SideBlocks(tower, fresh, chosen, scale)
    tower.module.add_module(places.place(depth), side)
    for layer in dict.fromkeys(chosen):
        _listen(tower, side, layer)

    def fuse(_: nn.Module, arguments: Any, output: Any) -> Any:
        if not (scored or side.training):
            side.forget()
            return output
        output.last_hidden_state = output.last_hidden_state + side()
        return output

    # Inside the tower, so that whoever calls the encoder alone gets the sum too: `generate` does. CKL's code adds it in
    # the forward of the whole model, which `generate` passes by, and so evaluates models without their adapters.
    tower.module.register_forward_hook(fuse)


def _listen(tower: Tower, side: SideBlocks, layer: int) -> None:
    """Register a hook that keeps a layer's output of each forward pass. Of layer 0, the embeddings, it keeps the input
    of the first block."""
    if layer == 0:

        def first(_: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any]) -> None:
            side.keep(0, *_split(arguments, named))

        tower.blocks[0].register_forward_pre_hook(first, with_kwargs=True)
        return

    def after(_: nn.Module, arguments: tuple[Any, ...], named: dict[str, Any], output: Any) -> None:
        others, kept = _split(arguments, named)[1:]
        side.keep(layer, output[0] if isinstance(output, tuple) else output, others, kept)

    tower.blocks[layer - 1].register_forward_hook(after, with_kwargs=True)


def _split(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> tuple[Tensor, tuple[Any, ...], dict[str, Any]]:
    """Return (hidden states, other arguments, other named arguments) of a block's call."""
    others = dict(named)
    hidden = arguments[0] if arguments else others.pop("hidden_states")
    return hidden, arguments[1:], others


def _make_room(block: nn.Module, layer: int, given: Sequence[Any]) -> None:
    """Give each cache of generation among the arguments a layer for a block beside the model.

    It keeps as many tokens as the cache of the model's layer whose mask the block is given.
    """
    # transformers makes a cache with a layer for each layer of the configuration, and none beyond.
    place = cast(int, block.ticlm_cache_layer)
    for cache in given:
        if isinstance(cache, Cache) and cache.layer_class_to_replicate is None:
            window = getattr(cache.layers[max(layer - 1, 0)], "sliding_window", None)
            while len(cache.layers) <= place:
                cache.layers.append(DynamicSlidingWindowLayer(window) if window else DynamicLayer())


def _fresh_blocks(module: nn.Module, tower: Tower, layers: Sequence[int]) -> list[nn.Module]:
    """Return a new block of the tower's shape for each of `layers`, with random weights as the model draws them.

    Where layers differ in type (sliding attention), a block has the type of the layer that it reads.
    """
    kind = cast(Any, type(tower.blocks[0]))
    before = sum(len(one.blocks) for one in tower.module.children() if isinstance(one, SideBlocks))
    fresh: list[nn.Module] = []
    for number, layer in enumerate(layers):
        place = len(tower.blocks) + before + number
        config = copy.copy(cast(Any, tower.module).config)
        if types := getattr(config, "layer_types", None):
            config.layer_types = [*types, *[types[max(layer - 1, 0)]] * (place + 1 - len(types))]
        if _is_t5(tower.blocks[0]):
            block = kind(config, has_relative_attention_bias=number == 0, layer_idx=place)
        else:
            block = kind(config, layer_idx=place)
        block.apply(cast(Any, module)._init_weights)
        block.ticlm_cache_layer = place  # where it keeps its keys and values
        fresh.append(block)
    return fresh


def _fresh_norm(norm: nn.Module) -> nn.Module:
    fresh = copy.deepcopy(norm).requires_grad_(True)
    for name, value in fresh.named_parameters():
        nn.init.constant_(value, 0.0 if name.endswith("bias") else 1.0)
    return fresh


def _is_t5(block: nn.Module) -> bool:
    return type(block).__name__ in ("T5Block", "MT5Block")
