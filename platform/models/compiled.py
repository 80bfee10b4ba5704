"""Compiling a model with torch.compile, so that any number of workers runs the same kernels.

Each block's forward is compiled by itself, before FSDP2 puts its hooks around the block. Compiled as a whole, a module
is one graph on one worker and a graph for each piece between two hooks on several: kernels are fused otherwise there,
and other bits come out. It also compiles in the same time however deep the model is.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from typing import Any, Literal

import torch
from torch import Tensor, nn

from ticlm.core.errors import InputError

Compile = bool | Literal["auto"]
Graph = Callable[..., Any]
ON_HIDDEN = "ticlm_on_hidden"
"""Name of the argument that `catch_hidden` adds to a module's forward."""
VARIANTS = 64
"""Graphs of one block at most: one for each shape of its inputs, kind of layer, with gradients or without."""


def is_wanted(setting: Compile, device: str) -> bool:
    """Return whether a model is compiled on this kind of device: `auto` compiles on GPUs where Triton is installed, and
    the C compiler that it needs."""
    if setting != "auto":
        return setting
    return torch.device(device).type == "cuda" and not _missing_on_gpus()


def graph(function: Graph) -> Graph:
    """Return a function compiled anew for each shape of its inputs, on first use."""
    # Where torch generalises a graph to other shapes depends on the order in which they come, and so do the kernels:
    # a resumed round would run other ones. With `deterministic`, no kernel is chosen by how long it took.
    # `fallback_random` draws the masks of dropout that the eager model draws.
    options: dict[str, str | int | bool | Callable[..., Any]] = {"deterministic": True, "fallback_random": True}
    made: Graph = torch.compile(function, dynamic=False, options=options)
    return made


def prepare(module: nn.Module, blocks: Sequence[nn.Module], device: str) -> None:
    """Compile the blocks of a whole module, before it is sharded, and let its forward give up its hidden states.

    Raises InputError if there is no C++ compiler on a CPU; on a GPU, no Triton, or none in C, which Triton needs.
    """
    _check_compiler(torch.device(device).type)
    torch._dynamo.config.recompile_limit = VARIANTS
    torch._dynamo.config.fail_on_recompile_limit_hit = True  # else it would go on with the eager block: other bits
    module.ticlm_compiled = True  # type: ignore[assignment]
    catch_hidden(module)
    compile_blocks(blocks)


def compile_blocks(blocks: Sequence[nn.Module]) -> None:
    """Replace the forward of each block by a graph. Hooks of the block stay outside it."""
    for block in blocks:
        block.forward = graph(block.forward)


def is_compiled(module: nn.Module) -> bool:
    """Return whether a module was prepared, or would have been if it had blocks."""
    return bool(getattr(module, "ticlm_compiled", False))


def gives_hidden(module: nn.Module) -> bool:
    """Return whether a module's forward takes the argument `ON_HIDDEN` (see `catch_hidden`)."""
    return bool(getattr(module, "ticlm_gives_hidden", False))


def catch_hidden(module: nn.Module) -> None:
    """Give a module's forward another argument: a function of (hidden states [rows, length, width], weight of the
    output layer [vocabulary, width]). The forward returns its result, and computes no logits.

    It is called inside the forward, as FSDP2 has the whole weight only there. Nothing is changed of a module without
    `output_layer`.
    """
    layer, plain = output_layer(module), module.forward
    if layer is None:
        return

    def forward(*arguments: Any, **named: Any) -> Any:
        on_hidden = named.pop(ON_HIDDEN, None)
        if on_hidden is None:
            return plain(*arguments, **named)
        hidden, _ = _until(layer, plain, *arguments, **named)
        return on_hidden(hidden, layer.weight)

    module.forward = forward
    module.ticlm_gives_hidden = True  # type: ignore[assignment]


def output_layer(module: nn.Module) -> nn.Linear | None:
    """Return the layer whose product with the hidden states is a model's logits; None if they are not this product
    alone: a bias, an adapter at the output layer, scaled or capped logits (Cohere, Granite, Gemma)."""
    find = getattr(module, "get_output_embeddings", None)
    layer = find() if find is not None else None
    if type(layer) is not nn.Linear or layer.bias is not None or layer._forward_hooks or layer._forward_pre_hooks:
        return None
    return layer if _is_last(layer, module, module.forward) else None


def _until(layer: nn.Module, plain: Graph, *arguments: Any, **named: Any) -> tuple[Tensor, bool]:
    """Run a model without its output layer. Returns (what this layer would read, whether its output is what the model
    gives as logits)."""
    seen: list[Tensor] = []
    given: list[Tensor] = []

    def keep(hidden: Tensor) -> Tensor:
        seen.append(hidden)
        given.append(hidden[..., :1])  # stands for the logits
        return given[-1]

    layer.forward = keep
    try:
        found = plain(*arguments, **named)
    finally:
        del layer.forward  # the class's own is in force again
    return seen[0], len(given) == 1 and found.logits is given[0]


def _is_last(layer: nn.Module, module: nn.Module, plain: Graph) -> bool:
    """Try on one token whether a model's logits are what `layer` gives."""
    token = torch.zeros(1, 1, dtype=torch.int64, device=next(module.parameters()).device)
    ids = {"input_ids": token}
    if getattr(module.config, "is_encoder_decoder", False):
        ids["decoder_input_ids"] = token
    training = [part for part in module.modules() if part.training]
    module.eval()  # some draw random numbers where they are trained
    try:
        with torch.no_grad():
            return _until(layer, plain, **ids)[1]
    finally:
        for part in training:
            part.training = True


def _missing_on_gpus() -> str:
    """Return what is to be installed before torch.compile works on a GPU; empty if nothing is."""
    from torch.utils._triton import has_triton

    if not has_triton():
        return "triton"
    # Triton builds what starts its kernels, and looks for a compiler in these places.
    return "" if "CC" in os.environ or any(map(shutil.which, ("gcc", "clang"))) else "gcc"


def _check_compiler(device: str) -> None:
    if device != "cpu":
        if missing := _missing_on_gpus():
            raise InputError(
                f"resources.compile: torch.compile needs Triton and a C compiler on a GPU; install {missing}, or write "
                "compile: false"
            )
        return
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        raise InputError(
            "resources.compile: torch.compile needs a C++ compiler on a CPU, and none is found; install g++, or write "
            "compile: false"
        ) from None
