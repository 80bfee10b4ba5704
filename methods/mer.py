"""MER: AdamW with Reptile's steps, which align the gradients of batches with each other."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, cast

from pydantic import Field

from ticlm.methods.optimizers import AdamW
from ticlm.methods.seams import Context

if TYPE_CHECKING:
    import torch

    from ticlm.methods.steps.mer import ReptileAdamW


class MER(AdamW):
    """Meta-experience replay (Riemer et al., 2019) as it is done for language models (Abbes et al., 2025): replay in
    every batch, which is the method's, and Reptile's steps, which are this. With θ₀ the weights after the last of them,
    every `every` steps of AdamW are followed by θ ← θ₀ + ε (θ − θ₀). The moments go on as they are.

    The defaults are a choice of this project: k and ε were not compared with those of the paper's code.

    Where a round ends, or a model is published inside it, the steps since the last of Reptile's are taken for a whole
    group: otherwise they alone would count in full."""

    kind: Literal["mer"] = "mer"  # type: ignore[assignment]
    heat: ClassVar[float | None] = None
    moments: ClassVar[int] = 3
    every: int = Field(500, gt=0)
    """Steps between two of Reptile's."""
    epsilon: float = Field(0.1, gt=0, le=1)
    """The share ε of what these steps changed that is kept; 1 is AdamW."""

    def start(self, context: Context) -> torch.optim.Optimizer:
        from ticlm.methods.steps.mer import ReptileAdamW

        return ReptileAdamW(
            context.trained,
            every=self.every,
            epsilon=self.epsilon,
            lr=0.0,
            betas=self.betas,
            eps=self.eps,
            weight_decay=self.weight_decay,
        )

    def before_evaluation(self, optimizer: torch.optim.Optimizer) -> None:
        cast("ReptileAdamW", optimizer).outer_step()
