"""Where a model of transformers has the parts that adapters are added to. Imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, cast

from torch import nn

from ticlm.core.errors import InputError

Q_AND_V = (("q", "v"), ("q_proj", "v_proj"), ("query", "value"))
"""Names that architectures give to the projections of queries and values."""
CROSSING = ("EncDecAttention", "encoder_attn", "crossattention", "cross_attn", "cross_attention")
"""Names that architectures give to the attention of a decoder to an encoder."""


@dataclass(frozen=True)
class Tower:
    """The part of a model that reads: a stack of equal blocks, and a norm behind the last one."""

    module: nn.Module
    blocks: nn.ModuleList
    norm: nn.Module


@dataclass(frozen=True)
class Projection:
    """The part of a linear module that gives the queries, or the values, `inputs` to `size` numbers. `outputs` is that
    part of the module's outputs; None if the module gives nothing else."""

    module: nn.Module
    name: str
    inputs: int
    size: int
    outputs: slice | None = None


def tower(module: nn.Module, asked: str = "adapter") -> Tower:
    """Return the encoder of an encoder–decoder, or the stack of a causal model.

    Raises InputError, which names the setting that `asked`, if the module has no stack of blocks with a norm behind it.
    """
    model = cast(Any, module)
    stack: nn.Module = model.get_encoder() if is_encoder_decoder(module) else model.base_model
    blocks = [child for child in stack.children() if isinstance(child, nn.ModuleList)]
    norms = [child for child in stack.children() if "norm" in type(child).__name__.lower()]
    if len(blocks) != 1 or not norms:
        raise InputError(f"{asked}: {architecture(module)} has no single stack of blocks with a norm behind it")
    return Tower(stack, blocks[0], norms[-1])


def encoder(module: nn.Module) -> nn.Module:
    """Return the encoder of a T5. Raises InputError for any other model."""
    found = cast(Any, module).get_encoder() if is_encoder_decoder(module) else None
    if found is None or type(found).__name__ not in ("T5Stack", "MT5Stack", "UMT5Stack"):
        raise InputError(f"adapter: modular adds an encoder beside that of a T5; {architecture(module)} has none")
    return cast(nn.Module, found)


def projections(module: nn.Module, within: nn.Module, crossing: bool = True) -> list[Projection]:
    """Return the projections of queries and values in `within`, a part of the module, in its order. Projections of
    adapters are left out, and those of cross-attention unless `crossing`.

    Raises InputError if there are none, or if they are quantised.
    """
    found = []
    for name, part in within.named_modules():
        if not is_adapter(name) and (crossing or not any(part in CROSSING for part in name.split("."))):
            found += _of_attention(part)
    if not found:
        names = ", ".join(f"{q} and {v}" for q, v in Q_AND_V)
        raise InputError(f"adapter: {architecture(module)} has no attention with {names}, or c_attn")
    stored = {p.module.weight.dtype for p in found}
    wrong = next((dtype for dtype in stored if not dtype.is_floating_point), None)
    if wrong is not None or getattr(cast(Any, module).config, "quantization_config", None) is not None:
        raise InputError(
            f"adapter: the weights of {architecture(module)} are quantised, which cannot be trained beside; load the "
            "model in float32"
        )
    return found


def _of_attention(part: nn.Module) -> list[Projection]:
    children = dict(part.named_children())
    fused = children.get("c_attn")
    width = int(getattr(part, "split_size", 0))
    # GPT-2's c_attn gives queries, keys and values one after another; that of others, as GPTBigCode, orders by heads.
    if type(fused).__name__ == "Conv1D" and tuple(cast(Any, fused).weight.shape) == (width, 3 * width):
        assert fused is not None
        cuts = {"q": slice(0, width), "v": slice(2 * width, 3 * width)}
        return [Projection(fused, name, width, width, cut) for name, cut in cuts.items()]
    for names in Q_AND_V:
        linear = [children.get(name) for name in names]
        if all(isinstance(one, nn.Linear) for one in linear):
            pairs = zip(names, cast(list[nn.Linear], linear))
            return [Projection(one, name, one.in_features, one.out_features) for name, one in pairs]
    return []


def is_encoder_decoder(module: nn.Module) -> bool:
    return bool(getattr(getattr(module, "config", None), "is_encoder_decoder", False))


def architecture(module: nn.Module) -> str:
    """Return the name of a model's architecture in transformers, such as `t5`."""
    return str(getattr(getattr(module, "config", None), "model_type", type(module).__name__))


def place(depth: int) -> str:
    """Return the name under which the adapter at this depth adds its modules."""
    return f"adapter_{depth}"


def is_adapter(name: str) -> bool:
    """Return whether a weight or module of this name was added by an adapter."""
    return any(part.startswith("adapter_") and part[8:].isdigit() for part in name.split("."))
