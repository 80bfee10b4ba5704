"""One optimizer step, with the same gradients for any number of workers and size of micro-batch, up to rounding."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ticlm.methods.seams import Batch, PenaltyState
from ticlm.platform.core.token_rows import Tokens
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.round import RoundRecipe


@dataclass(frozen=True)
class StepResult:
    """What one step measured, over all ranks.

    `loss` is the mean −log P per weighted target of the global batch, without z-loss and penalties. `votes` are the
    votes of all ranks, summed.
    """

    loss: float
    gradient_norm: float
    votes: tuple[float, ...]


def train_step(
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    penalties: Sequence[PenaltyState],
    recipe: RoundRecipe,
    columns: Mapping[str, Tokens],
    workers: Workers,
    micro_rows: int | None,
    votes: Sequence[float] = (),
) -> StepResult:
    """Take one step: forward, backward and update on this rank's rows of one global batch."""
    nll, targets = backward(module, recipe, tensors(columns, workers), workers, micro_rows, penalties)
    if penalties:
        for name, parameter in module.named_parameters():
            if parameter.grad is not None:
                for penalty in penalties:
                    penalty.pull(name, parameter)
    norm = nn.utils.clip_grad_norm_(module.parameters(), recipe.loss.clip_norm)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    nll_sum, *voted = _total([float(nll), *votes], workers)
    whole_norm = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
    return StepResult(nll_sum / targets, float(whole_norm), tuple(voted))


def tensors(columns: Mapping[str, Tokens], workers: Workers) -> dict[str, Tensor]:
    """Return rows of shards as int64 tensors on this worker's device."""
    return {name: torch.from_numpy(values.astype("int64")).to(workers.device) for name, values in columns.items()}


def backward(
    module: nn.Module,
    recipe: RoundRecipe,
    rows: Mapping[str, Tensor],
    workers: Workers,
    micro_rows: int | None,
    penalties: Sequence[PenaltyState] = (),
    z_loss: bool = True,
) -> tuple[Tensor, float]:
    """Leave the gradient of the mean loss per weighted target of the global batch in `parameter.grad`.

    Returns this rank's summed −log P, and the number of weighted targets of all ranks. The local sum of losses is
    scaled by world / global targets before backward, because FSDP averages gradients over ranks. So the gradient is
    that of the mean over the global batch, however its rows are spread.
    """
    counted = recipe.objective.targets(rows)
    targets = recipe.batch_rows * recipe.length if counted is None else _total([float(counted)], workers)[0]
    total = torch.zeros((), device=workers.device, dtype=torch.float64)
    for micro, real in _micro_batches(rows, recipe, workers, micro_rows):
        loss, nll = losses(module, recipe, penalties, micro, z_loss)
        (loss * (workers.world / targets if real else 0.0)).backward()  # type: ignore[no-untyped-call]
        if real:
            total += nll.detach()
    return total, targets


def losses(
    module: nn.Module,
    recipe: RoundRecipe,
    penalties: Sequence[PenaltyState],
    rows: Mapping[str, Tensor],
    z_loss: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return (loss that is minimised, −log P), both summed over the weighted targets of these rows, in float32."""
    arguments, labels, weights = recipe.objective(rows)
    logits = module(**arguments).logits.float()
    weights = torch.ones_like(labels, dtype=logits.dtype) if weights is None else weights
    factor = recipe.loss.z_loss if z_loss else 0.0
    loss, nll = _TokenLoss.apply(logits, labels, weights, factor)  # type: ignore[no-untyped-call]
    batch = Batch(arguments, labels, weights)
    for penalty in penalties:
        extra = penalty.loss(batch, logits)
        if extra is not None:
            loss = loss + extra
    return loss, nll


class _TokenLoss(torch.autograd.Function):
    """Cross-entropy with z-loss, summed over weighted targets. Returns (loss that is minimised, −log P).

    The gradient is written by hand, in three passes over the logits, because at small widths they are most of a step:
    w · [(1 + 2 z · lse) · softmax − onehot]. Autograd takes nearly twice as long for the same numbers.
    """

    @staticmethod
    def forward(ctx: Any, logits: Tensor, labels: Tensor, weights: Tensor, z_loss: float) -> tuple[Tensor, Tensor]:
        normaliser = torch.logsumexp(logits, dim=-1)
        nll = normaliser - logits.gather(-1, labels[..., None]).squeeze(-1)
        ctx.save_for_backward(logits, labels, weights, normaliser)
        ctx.z_loss = z_loss
        nll_sum = (nll * weights).sum()
        ctx.mark_non_differentiable(nll_sum)
        return ((nll + z_loss * normaliser.square()) * weights).sum(), nll_sum

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        logits, labels, weights, normaliser = ctx.saved_tensors
        scale = gradients[0] * weights
        gradient = torch.sub(logits, normaliser[..., None]).exp_()
        gradient.mul_((scale + 2 * ctx.z_loss * normaliser * scale)[..., None])
        gradient.scatter_add_(-1, labels[..., None], -scale[..., None])
        return gradient, None, None, None


def is_finite(result: StepResult) -> bool:
    """Return whether the loss and the gradient norm are finite numbers."""
    return abs(result.loss) < float("inf") and abs(result.gradient_norm) < float("inf")


def _micro_batches(
    rows: Mapping[str, Tensor], recipe: RoundRecipe, workers: Workers, micro_rows: int | None
) -> list[tuple[dict[str, Tensor], bool]]:
    """Return this rank's rows as (micro-batch, whether it counts), as many as the rank with the most rows needs.

    A rank with fewer rows takes part in the collectives with a row that does not count. This row is not padding alone:
    attention to nothing gives NaN.
    """
    most = -(-recipe.batch_rows // workers.world)
    size = min(micro_rows or most, most)
    count = -(-most // size)
    idle = {name: torch.arange(v.shape[1], device=v.device).remainder(2)[None] for name, v in rows.items()}
    parts = []
    for start in range(0, count * size, size):
        part = {name: values[start : start + size] for name, values in rows.items()}
        real = len(next(iter(part.values()))) > 0
        parts.append((part if real else idle, real))
    return parts


def _total(values: list[float], workers: Workers) -> list[float]:
    if workers.world == 1:
        return values
    summed = torch.tensor(values, dtype=torch.float64, device=workers.device)
    dist.all_reduce(summed)
    return [float(v) for v in summed]
