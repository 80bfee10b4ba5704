"""LoRA: low-rank matrices beside the projections of queries and values (Hu et al., 2022)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ticlm.methods.seams import Adapter

if TYPE_CHECKING:
    from torch import Tensor, nn


class LoRA(Adapter):
    """An adapter that adds scale · B(A x) to W x for the queries and values of attention, with A random and B zero, so
    that the model is unchanged at first (Hu et al., 2022; CKL, section 4).

    `scale` is `alpha` / `rank`. The released code of CKL divides the other way round: rank 4 / alpha 16 = 0.25; that is
    `alpha: 1` here. CKL's text adds them to the encoder alone; what it released, and the parameters that its Table 2
    counts, has them in every attention, the decoder's and the cross-attention's too.
    """

    kind: Literal["lora"] = "lora"
    rank: int = Field(4, gt=0)
    """Rank of the matrices."""
    alpha: float = Field(16, gt=0)
    """The scale of what they add is alpha / rank; 1 with rank 4 is the 0.25 that CKL's code has."""
    attention: Literal["all", "self", "encoder"] = "all"
    """Which attention gets them: `all`, the decoder's two as well; `self`, the encoder's and the decoder's own without
    cross-attention, as EvolvingQA's text says; or that of the `encoder` alone, as CKL's text says."""

    @property
    def scale(self) -> float:
        """The factor of the matrices' output."""
        return self.alpha / self.rank

    def add(self, module: nn.Module, depth: int) -> None:
        from ticlm.methods.adapters import low_rank

        low_rank.add(module, depth, self.rank, self.scale, self.attention)

    def peft(self, depth: int, weights: Mapping[str, Tensor]) -> tuple[dict[str, Any], dict[str, Tensor]]:
        from ticlm.methods.adapters import peft_format

        return peft_format.of(depth, weights, self.rank, self.scale)
