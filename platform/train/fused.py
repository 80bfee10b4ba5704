"""The loss of a compiled model, from its hidden states: output layer, loss and gradient of a part of the positions at a
time. The logits of a micro-batch are never held, and no copy of them in float32 is made.

The graph of a part takes its logits and gives the loss and the gradient of the logits. That of a penalty which compares
them with other logits is added in the same pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn

from ticlm.methods.seams import Batch, PenaltyState, Target
from ticlm.platform.models import compiled
from ticlm.platform.models.memory import LOGITS_AT_ONCE

PARTS = {"cpu": 1 << 20, "other": LOGITS_AT_ONCE}
"""Logits of a part: 4 MB in float32 on a CPU, whose caches they are to stay in; 512 MB in bfloat16 on a GPU."""
LEAST = 256
"""Positions of a part at least: each part reads the whole weight. At a vocabulary of 50k and a width of 256 on a CPU,
parts of 20 positions take 1.20 of the time of whole logits in eager torch, parts of 333 take 0.88."""


def is_possible(module: nn.Module, penalties: Sequence[PenaltyState]) -> bool:
    """Return whether the model gives its hidden states, and no penalty needs to see the logits."""
    return compiled.gives_hidden(module) and all(hasattr(penalty, "target") for penalty in penalties)


def losses(module: nn.Module, batch: Batch, penalties: Sequence[PenaltyState], z_loss: float) -> tuple[Tensor, Tensor]:
    """Return (loss that is minimised, −log P) in nats, as `step.losses` does, of a model that gives its hidden states.

    Penalties are such as `is_possible` asks for.
    """
    found = [penalty.target(batch) for penalty in penalties]  # type: ignore[attr-defined]
    targets = [target for target in found if target is not None]

    def on_hidden(hidden: Tensor, weight: Tensor) -> tuple[Tensor, Tensor]:
        loss: tuple[Tensor, Tensor] = _HeadLoss.apply(  # type: ignore[no-untyped-call]
            hidden, weight, batch.labels, batch.weights, z_loss, targets
        )
        return loss

    answer: tuple[Tensor, Tensor] = module(**batch.arguments, **{compiled.ON_HIDDEN: on_hidden})
    return answer


class _HeadLoss(torch.autograd.Function):
    """The loss of hidden states [rows, length, width] under the output layer's weight [vocabulary, width], for labels
    int64[rows, length] and weights float32[rows, length]: (loss that is minimised, −log P), both float32 without axes.

    The gradient of both is made in the forward pass, where the logits are.
    """

    @staticmethod
    def forward(
        ctx: Any, hidden: Tensor, weight: Tensor, labels: Tensor, weights: Tensor, z_loss: float, targets: list[Target]
    ) -> tuple[Tensor, Tensor]:
        flat, labels, weights = hidden.flatten(0, 1), labels.flatten(), weights.flatten()
        others = [target.logits.flatten(0, 1) for target in targets]
        how = [(target.temperature, target.factor) for target in targets]
        by_hidden = torch.empty_like(flat)
        # float32, whatever the products are in: parts are added up
        by_weight = torch.zeros_like(weight, dtype=torch.float32) if ctx.needs_input_grad[1] else None
        sums = torch.zeros(2, device=flat.device)
        for part in _parts(len(flat), len(weight), flat.device):
            logits = flat[part] @ weight.t()
            found, gradient = _graph()(logits, labels[part], weights[part], z_loss, [o[part] for o in others], how)
            sums += found
            torch.mm(gradient, weight, out=by_hidden[part])
            if by_weight is not None and weight.dtype == torch.float32:
                by_weight.addmm_(gradient.t(), flat[part])
            elif by_weight is not None:
                by_weight += gradient.t() @ flat[part]
        ctx.save_for_backward(by_hidden.view_as(hidden), by_weight)
        ctx.dtype = weight.dtype
        loss, nll = sums.unbind()
        ctx.mark_non_differentiable(nll)
        return loss.clone(), nll.clone()

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        by_hidden, by_weight = ctx.saved_tensors
        scaled = None if by_weight is None else by_weight.mul_(gradients[0]).to(ctx.dtype)
        return by_hidden.mul_(gradients[0]), scaled, None, None, None, None


def _parts(count: int, vocabulary: int, device: torch.device) -> list[slice]:
    """Return slices of `count` positions. They depend on the micro-batch alone, so that sums have one order."""
    size = max(LEAST, PARTS["cpu" if device.type == "cpu" else "other"] // vocabulary)
    size = -(-count // -(-count // size))  # of nearly the same size: another size is compiled by itself
    return [slice(begin, min(begin + size, count)) for begin in range(0, count, size)]


@cache
def _graph() -> compiled.Graph:
    return compiled.graph(joint)


def joint(
    logits: Tensor,
    labels: Tensor,
    weights: Tensor,
    z_loss: float,
    others: Sequence[Tensor],
    how: Sequence[tuple[float, float]],
) -> tuple[Tensor, Tensor]:
    """Return (float32[2]: the loss that is minimised and −log P, summed over weighted positions; its gradient, in the
    dtype and the shape of the logits), for logits [positions, vocabulary], labels int64[positions] and weights
    float32[positions].

    Each of `others` are logits of the same shape that the model is drawn to; `how` has their temperature T and factor:
    factor · w · KL(softmax(other / T) ‖ softmax(logits / T)) is added to the loss.
    """
    own = logits.float()
    normaliser = torch.logsumexp(own, dim=-1)
    nll = normaliser - own.gather(-1, labels[:, None]).squeeze(-1)
    is_label = torch.arange(own.shape[-1], device=own.device) == labels[:, None]
    loss = nll + z_loss * normaliser.square()
    gradient = torch.exp(own - normaliser[:, None]) * (1 + 2 * z_loss * normaliser)[:, None] - is_label.float()
    for other, (temperature, factor) in zip(others, how):
        target = torch.log_softmax(other.float() / temperature, dim=-1)
        found = torch.log_softmax(own / temperature, dim=-1)
        probability = target.exp()
        loss = loss + factor * (probability * (target - found)).sum(-1)
        gradient = gradient + (factor / temperature) * (found.exp() - probability)
    sums = torch.stack([(loss * weights).sum(), (nll * weights).sum()])
    return sums, (gradient * weights[:, None]).to(logits.dtype)
