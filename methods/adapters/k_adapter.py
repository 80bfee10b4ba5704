"""K-Adapter: transformer blocks beside a frozen model, which read its hidden states (Wang et al., 2021; CKL)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from ticlm.methods.adapters.beside import BesideTower

if TYPE_CHECKING:
    from torch import nn


class KAdapter(BesideTower):
    """An adapter of k blocks of the model's own shape beside its encoder (of a causal model: beside all of it).

    Block i reads the output of layer l_i plus that of block i − 1. The last one's output is normed, with a gain of its
    own, and `scale` times that is added to what the encoder returns. So does CKL's code; docs/ckl.md says where it
    differs.

    `layers` has the layers l_i, counted from 1; 0 is the embeddings. CKL's code has (1, 11) for k = 2; its layers for
    k = 3 were not released, (1, 11, 23) is an assumption. EvolvingQA's text says `second-and-last`. The last layer is
    read before the final norm.
    """

    kind: Literal["k-adapter"] = "k-adapter"
    layers: (
        Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=1, max_length=128)]
        | Literal["second-and-last"]
    ) = (1, 11)
    """The layers whose outputs the blocks read, counted from 1; 0 is the embeddings."""
    scale: float = Field(0.1, gt=0)
    """Factor of what they add to the output of the encoder."""

    def add(self, module: nn.Module, depth: int) -> None:
        from ticlm.methods.adapters import side_blocks

        side_blocks.add(module, depth, self.layers, self.scale, self.scored)
