"""Optimizers. Their state starts fresh in every round: only weights carry over (TiC-LM, appendix C.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, cast

from pydantic import Field

from ticlm.methods.seams import Context, Optimizer

if TYPE_CHECKING:
    import torch


class AdamW(Optimizer):
    """AdamW with decoupled weight decay on all parameters, norms and embeddings included (TiC-LM, appendix C.1)."""

    kind: Literal["adamw"] = "adamw"
    betas: tuple[float, float] = (0.9, 0.95)
    """Decay of the first and of the second moment."""
    eps: float = Field(1e-8, gt=0)
    """Added to the root of the second moment."""
    weight_decay: float = Field(0.033, ge=0)
    """Decoupled weight decay; each step shrinks the weights by this times the rate."""

    def start(self, context: Context) -> torch.optim.Optimizer:
        from ticlm.methods.adamw import ShardableAdamW

        trained = [p for p in context.module.parameters() if p.requires_grad]
        return ShardableAdamW(
            trained, lr=0.0, betas=self.betas, eps=self.eps, weight_decay=self.weight_decay, fused=True
        )


class ScheduleFree(Optimizer):
    """Schedule-Free AdamW (Defazio et al., 2024). Gradients are taken between a fast and an averaged iterate; the
    averaged one is evaluated, and the next round starts from it. The average starts anew in every round, as the moments
    do. It is meant for a constant rate after warm-up. The weight decay is the choice of TiC-LM's Table 6."""

    kind: Literal["schedule-free"] = "schedule-free"
    betas: tuple[float, float] = (0.9, 0.95)
    """Weight of the average where gradients are taken, and decay of the second moment."""
    eps: float = Field(1e-8, gt=0)
    """Added to the root of the second moment."""
    weight_decay: float = Field(0.01, ge=0)
    """Weight decay, times the rate, in each step."""

    def start(self, context: Context) -> torch.optim.Optimizer:
        from schedulefree import AdamWScheduleFree

        trained = [p for p in context.module.parameters() if p.requires_grad]
        optimizer = AdamWScheduleFree(trained, lr=0.0, betas=self.betas, eps=self.eps, weight_decay=self.weight_decay)
        optimizer.train()
        optimizer.state.clear()  # it leaves an empty state per weight, which a checkpoint would be loaded into as it is
        return cast("torch.optim.Optimizer", optimizer)

    def before_evaluation(self, optimizer: torch.optim.Optimizer) -> None:
        cast(Any, optimizer).eval()
