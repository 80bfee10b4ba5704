"""What LoRA adds to a module. Imports torch."""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor, nn

from ticlm.core.errors import InputError
from ticlm.methods.adapters import places
from ticlm.methods.adapters.places import Projection

DEVIATION = 0.02
"""Standard deviation of A's random values (CKL's code)."""


class LowRank(nn.Module):
    """The module scale · B(A x): from [..., `inputs`] to [..., `size`]."""

    def __init__(self, inputs: int, size: int, rank: int, scale: float) -> None:
        super().__init__()
        self.down = nn.Linear(inputs, rank, bias=False)
        self.up = nn.Linear(rank, size, bias=False)
        self.scale = scale
        if not self.down.weight.is_meta:  # where only shapes are counted, a draw is a millisecond of Python
            nn.init.normal_(self.down.weight, std=DEVIATION)
        nn.init.zeros_(self.up.weight)  # so the model is unchanged at first

    def forward(self, values: Tensor) -> Tensor:
        added: Tensor = self.up(self.down(values)) * self.scale
        return added


def add(module: nn.Module, depth: int, rank: int, scale: float, attention: Literal["all", "self", "encoder"]) -> None:
    """Add low-rank matrices to the projections of queries and values.

    Raises InputError if there are no such projections, or if `rank` is above the width of all of them.
    """
    within = module
    if attention == "encoder":
        if not places.is_encoder_decoder(module):
            raise InputError(f"adapter.attention: encoder, but {places.architecture(module)} has no encoder of its own")
        within = places.tower(module).module
    found = places.projections(module, within, crossing=attention != "self")
    # The widest one counts: projections of grouped values may be narrower than the rank.
    width = max(min(projection.inputs, projection.size) for projection in found)
    if rank > width:
        raise InputError(f"adapter.rank must be at most the width of the model's projections, {width:,}, got {rank:,}")
    for projection in found:
        _add(projection, places.place(depth), LowRank(projection.inputs, projection.size, rank, scale))


def _add(projection: Projection, place: str, added: LowRank) -> None:
    linear, outputs = projection.module, projection.outputs
    if not hasattr(linear, place):
        linear.add_module(place, nn.ModuleDict())
    linear.get_submodule(place).add_module(projection.name, added)

    def hook(_: nn.Module, arguments: tuple[Any, ...], result: Tensor) -> Tensor:
        more: Tensor = added(arguments[0])
        if outputs is None:
            return result + more
        first, last = outputs.start, outputs.stop
        changed = result[..., outputs] + more
        return torch.cat([result[..., :first], changed, result[..., last:]], dim=-1)

    linear.register_forward_hook(hook)
