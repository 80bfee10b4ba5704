"""One optimizer step, with the same bits for any number of workers.

A global batch is cut into micro-batches, always the same ones. Each is computed as a whole by one worker, and what they
give is added up in their order, in float32. So the weights are the same bits for any number of workers, if the size of
a micro-batch, the kind of hardware, the number of threads and the versions of the libraries are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ticlm.core.seeds import keyed
from ticlm.core.token_rows import Tokens
from ticlm.methods.seams import Batch, PenaltyState
from ticlm.platform.models.compiled import is_compiled
from ticlm.platform.models.sharding import Workers, gathered_until, turn_of
from ticlm.platform.study.round import RoundRecipe
from ticlm.platform.train import fused
from ticlm.platform.train.clipping import scale, squared_rows
from ticlm.platform.train.device import LateNumbers, attention, placed, seed, sent

CACHED = 1 << 18
"""Logits that a pass over them on a CPU takes at a time: 1 MB."""


@dataclass(frozen=True)
class StepResult:
    """The numbers that one step measured, over all ranks.

    `loss` is the mean −log P per weighted target of the global batch, without z-loss and penalties. `votes` are the
    votes of all ranks, summed.
    """

    loss: float
    gradient_norm: float
    votes: tuple[float, ...]


@dataclass(frozen=True)
class LaunchedStep:
    """A step that the device may not have finished yet. `targets` is the number of weighted targets of all ranks."""

    numbers: LateNumbers
    targets: float

    def measured(self) -> StepResult:
        """Wait for the step, and return what it measured."""
        nll, norm, *votes = self.numbers.read()
        return StepResult(nll / self.targets, norm, tuple(votes))


def train_step(
    module: nn.Module,
    optimizer: torch.optim.Optimizer,
    penalties: Sequence[PenaltyState],
    recipe: RoundRecipe,
    columns: Mapping[str, Tokens],
    workers: Workers,
    micro_rows: int | None,
    votes: Sequence[float] = (),
    dropout_key: Sequence[int] = (),
) -> LaunchedStep:
    """Take one step: forward, backward and update on this rank's rows of one global batch.

    The masks of dropout are drawn by `dropout_key` and the number of the micro-batch.
    """
    rows = tensors(columns, workers)
    with attention(workers.device):
        nll, targets = backward(module, recipe, rows, workers, micro_rows, penalties, dropout_key=dropout_key)
    if penalties:
        for name, parameter in module.named_parameters():
            if parameter.grad is not None:
                for penalty in penalties:
                    penalty.pull(name, parameter)
    trained = [p for p in module.parameters() if p.grad is not None]
    # One collective for all. Every number has its own place, and is 0 on the ranks that do not know it: so no order of
    # the sum changes a bit.
    parts = [squared_rows(trained, workers), nll, placed(votes, workers.device)]
    squares, nll, voted = torch.split(_summed(torch.cat(parts), workers), [len(part) for part in parts])
    norm = squares.sum().sqrt()
    # 1e-6 as in torch.nn.utils.clip_grad_norm_
    scale(trained, (recipe.loss.clip_norm / (norm + 1e-6)).clamp(max=1.0).float(), optimizer)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    return LaunchedStep(LateNumbers(torch.cat([nll.sum()[None], norm[None], voted])), targets)


def tensors(columns: Mapping[str, Tokens], workers: Workers) -> dict[str, Tensor]:
    """Return rows of shards as tensors int64[rows, length] on this worker's device."""
    return {name: sent(values, workers.device) for name, values in columns.items()}


def backward(
    module: nn.Module,
    recipe: RoundRecipe,
    rows: Mapping[str, Tensor],
    workers: Workers,
    micro_rows: int | None,
    penalties: Sequence[PenaltyState] = (),
    z_loss: bool = True,
    dropout_key: Sequence[int] = (),
) -> tuple[Tensor, float]:
    """Leave the gradient of the mean loss per weighted target of the global batch in `parameter.grad`.

    Returns the summed −log P of each micro-batch in nats, float64[micro-batches], 0 for those of other ranks; and the
    number of weighted targets of all ranks.
    """
    # Divided by the targets of the whole batch before backward, and gradients are added up: so the gradient is that of
    # the mean over the batch, however its rows are spread.
    counted = recipe.objective.targets(rows)
    if counted is None:
        targets = float(recipe.batch_rows * recipe.length)
    else:
        targets = float(_summed(torch.tensor(float(counted), dtype=torch.float64, device=workers.device), workers))
    size = micro_rows or -(-recipe.batch_rows // workers.world)
    nll = torch.zeros(-(-recipe.batch_rows // size), device=workers.device, dtype=torch.float64)
    for number, micro in _turns(module, rows, len(nll), size, workers):
        if dropout_key:
            seed(int(keyed(*dropout_key, number).integers(1 << 62)), workers.device)
        loss, found = losses(module, recipe, penalties, micro, z_loss)
        (loss / targets).backward()  # type: ignore[no-untyped-call]
        if number < len(nll):
            nll[number] = found.detach()
    return nll, targets


def _turns(
    module: nn.Module, rows: Mapping[str, Tensor], count: int, size: int, workers: Workers
) -> Iterator[tuple[int, dict[str, Tensor]]]:
    """Yield (number, rows) of this rank's micro-batches, out of `count` of up to `size` rows; between them the caller
    computes their gradients.

    A rank that has one less than others takes part in the collectives with a row that does not count. This row is not
    padding alone: attention to nothing gives NaN.
    """
    turn, turns = turn_of(module), -(-count // workers.world)
    sharded = list(module.parameters())  # between turns, the module may have gathered weights in their place
    for now in range(turns):
        part = {name: values[now * size : (now + 1) * size] for name, values in rows.items()}
        gathered_until(module, now == turns - 1)
        number = now * workers.world + workers.rank
        if number >= count:
            part = {n: torch.arange(v.shape[1], device=v.device).remainder(2)[None] for n, v in rows.items()}
            if is_compiled(module):  # of a shape that has its graph already
                part = {name: row.repeat(size, 1) for name, row in part.items()}
        if turn is not None:
            turn.count = min(workers.world, count - now * workers.world)
            turn.first, turn.last = now == 0, now == turns - 1
            for parameter in sharded:
                parameter.grad = None  # the sum so far is kept where the gradients are added up
        yield number, part


def losses(
    module: nn.Module,
    recipe: RoundRecipe,
    penalties: Sequence[PenaltyState],
    rows: Mapping[str, Tensor],
    z_loss: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return (loss that is minimised, −log P) in nats, both float32 without axes: sums over the weighted targets of
    these rows."""
    arguments, labels, weights = recipe.objective(rows)
    weights = torch.ones_like(labels, dtype=torch.float32) if weights is None else weights
    factor = recipe.loss.z_loss if z_loss else 0.0
    if is_compiled(module) and getattr(module.config, "use_cache", False):
        # a cache knows its layer: each would get a graph of its own
        arguments = {**arguments, "use_cache": False}  # type: ignore[dict-item]
    batch = Batch(arguments, labels, weights)
    if fused.is_possible(module, penalties):
        return fused.losses(module, batch, penalties, factor)
    logits = module(**arguments).logits.float()
    # A last operation such as tanh keeps its result for its own gradient; that of models here is a product.
    own = not penalties and not hasattr(logits.grad_fn, "_saved_result")
    loss, nll = _TokenLoss.apply(logits, labels, weights, factor, own)  # type: ignore[no-untyped-call]
    for penalty in penalties:
        extra = penalty.loss(batch, logits)
        if extra is not None:
            loss = loss + extra
    return loss, nll


class _TokenLoss(torch.autograd.Function):
    """Cross-entropy with z-loss, summed over weighted targets: (loss that is minimised, −log P), for logits float32
    [rows, length, vocabulary], labels int64[rows, length] and weights float32[rows, length].

    The gradient is w · [(1 + 2 z · lse) · softmax − onehot]; z-loss is z · lse² (TiC-LM's release: z = 1e-4).
    """

    # The gradient is written by hand, in three passes over the logits, because at small widths they are most of a step.
    # Autograd takes nearly twice as long for the same numbers. On a CPU, the passes are over a few positions at a time,
    # which stay in its caches; each position is summed by itself, so these are the same numbers. Where nobody else
    # reads the logits (they are `own`), the gradient takes their place.

    @staticmethod
    def forward(
        ctx: Any, logits: Tensor, labels: Tensor, weights: Tensor, z_loss: float, own: bool
    ) -> tuple[Tensor, Tensor]:
        flat = logits.flatten(0, -2)
        normaliser = torch.cat([torch.logsumexp(flat[part], dim=-1) for part in _parts(flat)]).view(labels.shape)
        nll = normaliser - logits.gather(-1, labels[..., None]).squeeze(-1)
        ctx.save_for_backward(logits, labels, weights, normaliser)
        ctx.z_loss, ctx.own = z_loss, own
        nll_sum = (nll * weights).sum()
        ctx.mark_non_differentiable(nll_sum)
        return ((nll + z_loss * normaliser.square()) * weights).sum(), nll_sum

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        logits, labels, weights, normaliser = ctx.saved_tensors
        scale = gradients[0] * weights
        factor = (scale + 2 * ctx.z_loss * normaliser * scale).flatten()[:, None]
        gradient = logits if ctx.own else torch.empty_like(logits)
        flat, made, lse = (one.flatten(0, -2) for one in (logits, gradient, normaliser[..., None]))
        for part in _parts(flat):
            torch.sub(flat[part], lse[part], out=made[part]).exp_().mul_(factor[part])
        gradient.scatter_add_(-1, labels[..., None], -scale[..., None])
        return gradient, None, None, None, None


def _parts(logits: Tensor) -> list[slice]:
    """Return slices of the positions of logits [positions, vocabulary]: all of them on a GPU, few on a CPU."""
    count, vocabulary = logits.shape
    # Two at least: threads would share the sum over a single one.
    number = min(count * vocabulary // CACHED, count // 2) if logits.device.type == "cpu" else 1
    edges = [count * n // max(1, number) for n in range(max(1, number) + 1)]
    return [slice(begin, end) for begin, end in pairwise(edges)]


def is_finite(result: StepResult) -> bool:
    """Return whether the loss and the gradient norm are finite numbers."""
    return abs(result.loss) < float("inf") and abs(result.gradient_norm) < float("inf")


def _summed(values: Tensor, workers: Workers) -> Tensor:
    if workers.world > 1:
        dist.all_reduce(values)
    return values
