"""Elastic weight consolidation: weights that mattered for the previous period move less."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from ticlm.core.mixture import Source
from ticlm.methods.seams import Batch, Context, Penalty, local_shard

if TYPE_CHECKING:
    from torch import Tensor


class EWC(Penalty):
    """A penalty that adds the gradient of weight / 2 · Σ F (θ − θ*)² (Kirkpatrick et al., 2017; TiC-LM, section 5).

    θ* are the round's starting weights. F has one value per weight: the squared gradient of the mean loss per token at
    θ*, as its mean over `batches` global batches. It is computed anew in every round, on the previous period (as
    published) or on the new one (as released). `z_loss` says whether this loss includes the z-loss.
    """

    kind: Literal["ewc"] = "ewc"
    unsaved_copies: ClassVar[int] = 1  # the anchor
    weight: float = Field(1e7, ge=0)
    """Factor of the penalty; half of it multiplies the sum over weights."""
    batches: int = Field(100, gt=0)
    """Global batches over which the Fisher information is averaged."""
    data: Literal["previous", "new"] = "previous"
    """Whether it is computed on the previous period (as published) or on the new one (as released)."""
    z_loss: bool = True
    """Whether the loss whose gradient is squared includes the z-loss."""

    def reads(self, previous: Source, now: Source) -> Source:
        # TiC-LM's text says the previous month; its code streams the new one.
        return previous if self.data == "previous" else now

    def added_work(self, steps: int) -> float:
        """Count the forward and backward passes of the Fisher batches (5.3 % of the 1,887 steps of TiC-LM's rounds)."""
        return self.batches / steps

    @property
    def saved_copies(self) -> int:
        return 1

    def start(self, context: Context) -> EWCState:
        anchor = {name: local_shard(p).clone() for name, p in context.module.named_parameters() if p.requires_grad}
        return EWCState(self.weight, anchor, fisher(context, self.batches, self.z_loss))


def fisher(context: Context, batches: int, z_loss: bool) -> dict[str, Tensor]:
    """Return the diagonal of the empirical Fisher information by parameter, float32 in the parameter's shape and
    sharded as it is: the mean over `batches` of the squared gradient of a batch's mean loss. Zeros on a restart:
    F is loaded then (Kirkpatrick et al., 2017; TiC-LM, section 5)."""
    import torch

    # A batch's gradient is squared after it was summed over the workers: F is the same for any number of them. The
    # code released with TiC-LM takes 101 batches and divides by 100; here both numbers are `batches`.

    module = context.module
    total = {name: torch.zeros_like(p) for name, p in module.named_parameters() if p.requires_grad}
    if context.resuming:
        return total
    training = module.training
    module.eval()
    for rows in context.batches(batches):
        context.backward(rows, z_loss)
        for name, parameter in module.named_parameters():
            if parameter.grad is not None:
                gradient = local_shard(parameter.grad)
                local_shard(total[name]).addcmul_(gradient, gradient, value=1 / batches)
        module.zero_grad(set_to_none=True)
    module.train(training)
    return total


class EWCState:
    """EWC during a round: `anchor` and `fisher` by parameter, this rank's shards. Only F is saved: the anchor is the
    round's starting weights, which a resumed round has."""

    def __init__(self, weight: float, anchor: dict[str, Tensor], fisher: dict[str, Tensor]) -> None:
        self.weight, self.anchor, self.fisher = weight, anchor, fisher

    def loss(self, batch: Batch, logits: Tensor) -> Tensor | None:
        return None

    def target(self, batch: Batch) -> None:
        return None

    def pull(self, name: str, parameter: Tensor) -> None:
        assert parameter.grad is not None
        moved = local_shard(parameter) - self.anchor[name]
        local_shard(parameter.grad).addcmul_(local_shard(self.fisher[name]), moved, value=self.weight)

    def before_evaluation(self) -> None: ...

    def state_dict(self) -> dict[str, Any]:
        return {"fisher": self.fisher}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.fisher = state["fisher"]
