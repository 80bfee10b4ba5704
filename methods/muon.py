"""Muon: an optimizer whose update of a matrix is orthogonalised."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ticlm.methods.seams import Beta, Context, Optimizer

if TYPE_CHECKING:
    import torch


class Muon(Optimizer):
    """Muon (Jordan et al., 2024), as torch has it: the momentum of a hidden matrix is made nearly orthogonal by a few
    steps of Newton and Schulz, in bfloat16, and that is the update. Low-rank matrices of adapters are hidden matrices;
    the experts of a mixture are one each. Embeddings, the output layer, norms and biases are trained by AdamW.

    By default the update of a matrix has the root mean square that AdamW's usually has (Liu et al., 2025), so rates and
    weight decays that were found for AdamW can be taken over. Every worker gathers each matrix, with its gradient and
    its momentum, and computes its update, so that the number of workers changes no bit."""

    kind: Literal["muon"] = "muon"
    moments: ClassVar[int] = 1
    momentum: float = Field(0.95, ge=0, lt=1)
    """Decay of the mean of gradients of a matrix."""
    nesterov: bool = True
    """Whether the update is made of that mean after one more step towards the gradient."""
    ns_steps: int = Field(5, gt=0, lt=100)
    """Steps of Newton and Schulz for each update."""
    adjust_rate: Literal["match_rms_adamw", "original"] = "match_rms_adamw"
    """What a matrix of m rows and n columns multiplies the rate by: `match_rms_adamw` by 0.2 · √max(m, n), `original`
    by √max(1, m/n)."""
    weight_decay: float = Field(0.033, ge=0)
    """Decoupled weight decay of all weights; each step shrinks them by this times their rate, that of a matrix without
    `adjust_rate`."""
    adamw_rate: float = Field(1.0, gt=0)
    """What the weights that AdamW trains multiply the rate by."""
    betas: tuple[Beta, Beta] = (0.9, 0.95)
    """AdamW's decay of the first and of the second moment."""
    eps: float = Field(1e-8, gt=0)
    """AdamW's addition to the root of the second moment."""

    def start(self, context: Context) -> torch.optim.Optimizer:
        from torch.optim._muon import DEFAULT_A, DEFAULT_B, DEFAULT_C, EPS

        from ticlm.methods.steps.muon import MuonWithAdamW, hidden_matrices

        matrices, others = hidden_matrices(context.module)
        return MuonWithAdamW(
            matrices,
            others,
            self.adamw_rate,
            adamw={"betas": self.betas, "eps": self.eps, "weight_decay": self.weight_decay},
            settings={
                "momentum": self.momentum,
                "nesterov": self.nesterov,
                "ns_steps": self.ns_steps,
                "ns_coefficients": (DEFAULT_A, DEFAULT_B, DEFAULT_C),
                "eps": EPS,
                "adjust_lr_fn": self.adjust_rate,
                "weight_decay": self.weight_decay,
            },
        )
