"""Gradient clipping: the norm of a gradient, the same bits however its rows are spread over workers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from ticlm.methods.seams import local_shard
from ticlm.platform.models.sharding import Workers


def scale(trained: Sequence[nn.Parameter], factor: Tensor, optimizer: torch.optim.Optimizer) -> None:
    """Multiply the gradients by `factor`, a tensor without axes; or have the optimizer do so in its next step, where a
    GPU's can."""
    if factor.is_cuda and isinstance(optimizer, torch.optim.AdamW) and optimizer.defaults.get("fused"):
        scale_in_step(factor, optimizer)  # a pass over all gradients less
        return
    torch._foreach_mul_([local_shard(p.grad) for p in trained if p.grad is not None], factor)


def scale_in_step(factor: Tensor, optimizer: torch.optim.AdamW) -> None:
    """Have the next step of a fused optimizer multiply the gradients by `factor`: it divides them by `grad_scale`."""
    optimizer.grad_scale = factor.reciprocal()  # type: ignore[attr-defined]


def squared_rows(trained: Sequence[nn.Parameter], workers: Workers) -> Tensor:
    """Return the squared L2 norm of each row of each gradient, float64[rows of all gradients]; 0 for rows of other
    ranks. The sum over all is the squared norm of the gradient.

    Rows are counted along the first axis, those of a single expert's matrices along the second, so that no shard begins
    inside a row (see `sharding.cut_axis`).
    """
    # On the CPU each row is summed by itself. A GPU spreads the sum of a row over more threads if there are few rows.
    # There it is taken in float64 and rounded, after which the order shows in hardly any row.
    wide = torch.float64 if torch.device(workers.device).type == "cuda" else torch.float32
    found = torch.zeros(sum(_rows(p) for p in trained), dtype=wide, device=workers.device)
    end = 0
    for parameter in trained:
        assert parameter.grad is not None
        rows = local_shard(parameter.grad)
        rows = rows.flatten(0, 1) if _is_single_expert(parameter) else rows
        begin, end = end, end + _rows(parameter)
        # FSDP2 cuts rows as torch.chunk does: as many for each rank as the first needs, and the last ranks get the rest
        begin += min(-(-_rows(parameter) // workers.world) * workers.rank, _rows(parameter))
        rows = rows.flatten(1) if rows.ndim > 1 else rows.reshape(-1, 1)
        # Written where it belongs: one kernel for each weight. `_foreach_norm` has no norm of rows.
        torch.linalg.vector_norm(rows, dim=1, dtype=wide, out=found[begin : begin + len(rows)])
    return found.float().double().square_()


def _rows(parameter: nn.Parameter) -> int:
    if _is_single_expert(parameter):
        return parameter.shape[1]
    return parameter.shape[0] if parameter.ndim else 1


def _is_single_expert(parameter: nn.Parameter) -> bool:
    return parameter.ndim == 3 and parameter.shape[0] == 1
