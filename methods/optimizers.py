"""Optimizers. Their state starts fresh in every round: only weights carry over (TiC-LM, appendix C.1)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from pydantic import Field

from ticlm.core.extras import Extra
from ticlm.methods.seams import Beta, Context, Optimizer

if TYPE_CHECKING:
    import torch


class AdamW(Optimizer):
    """AdamW with decoupled weight decay on all parameters, norms and embeddings included (TiC-LM, appendix C.1)."""

    kind: Literal["adamw"] = "adamw"
    heat: ClassVar[float | None] = 1.0
    betas: tuple[Beta, Beta] = (0.9, 0.95)
    """Decay of the first and of the second moment."""
    eps: float = Field(1e-8, gt=0)
    """Added to the root of the second moment."""
    weight_decay: float = Field(0.033, ge=0)
    """Decoupled weight decay; each step shrinks the weights by this times the rate."""

    def start(self, context: Context) -> torch.optim.Optimizer:
        from ticlm.methods.steps.adamw import ShardableAdamW

        return ShardableAdamW(
            context.trained, lr=0.0, betas=self.betas, eps=self.eps, weight_decay=self.weight_decay, fused=True
        )


class ScheduleFree(Optimizer):
    """Schedule-Free AdamW (Defazio et al., 2024). Gradients are taken between a fast and an averaged iterate; the
    averaged one is evaluated, and the next round starts from it. The average starts anew in every round, as the moments
    do. It is meant for a constant rate after warm-up. The weight decay is the choice of TiC-LM's Table 6."""

    kind: Literal["schedule-free"] = "schedule-free"
    heat: ClassVar[float | None] = 0.5
    """The mean of the weights along a straight path has moved half as far as the last of them. On `monthly`
    (docs/results/tic_lm.md) a fit finds 0.44."""
    betas: tuple[Beta, Beta] = (0.9, 0.95)
    """Weight of the average where gradients are taken, and decay of the second moment."""
    eps: float = Field(1e-8, gt=0)
    """Added to the root of the second moment."""
    weight_decay: float = Field(0.01, ge=0)
    """Weight decay, times the rate, in each step."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("optimizers", ("schedulefree",)),)

    def start(self, context: Context) -> torch.optim.Optimizer:
        from schedulefree import AdamWScheduleFree

        optimizer = AdamWScheduleFree(
            context.trained, lr=0.0, betas=self.betas, eps=self.eps, weight_decay=self.weight_decay
        )
        optimizer.train()
        optimizer.state.clear()  # it leaves an empty state per weight, which a checkpoint would be loaded into as it is
        return cast("torch.optim.Optimizer", optimizer)

    def before_evaluation(self, optimizer: torch.optim.Optimizer) -> None:
        cast(Any, optimizer).eval()


class Adafactor(Optimizer):
    """Adafactor (Shazeer and Stern, 2018) under an external rate, without momentum: the library's, with
    `scale_parameter` and `relative_step` off, as CKL trains T5 (Jang et al., 2022). Its state is a mean of squared
    gradients per row and per column of each matrix. Every worker holds it whole, and gathers each weight to update it,
    so that the number of workers changes no bit."""

    kind: Literal["adafactor"] = "adafactor"
    moments: ClassVar[int] = 0
    heat: ClassVar[float | None] = 1.0
    eps: float = Field(1e-30, gt=0)
    """Added to squared gradients."""
    clip_threshold: float = Field(1.0, gt=0)
    """The root mean square above which the update of a weight is scaled down to it, before the rate."""
    decay_rate: float = Field(-0.8, lt=0)
    """The means forget by 1 − t to this power in step t of the round."""
    weight_decay: float = Field(0.0, ge=0)
    """Decoupled weight decay; each step shrinks the weights by this times the rate."""

    def start(self, context: Context) -> torch.optim.Optimizer:
        from ticlm.methods.steps.adafactor import WholeAdafactor

        return WholeAdafactor(
            context.trained,
            lr=0.0,
            eps=(self.eps, 1e-3),  # the second is of the parameter scale, which is off
            clip_threshold=self.clip_threshold,
            decay_rate=self.decay_rate,
            weight_decay=self.weight_decay,
            scale_parameter=False,
            relative_step=False,
        )
