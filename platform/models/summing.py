"""Sums of gradients over workers in the order of the micro-batches, so that no number depends on how many there are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor


@dataclass
class Turn:
    """Where a step is: every worker computes one micro-batch at a turn, rank 0 the first of them.

    `count` is how many of them are real: at the last turn there may be fewer micro-batches left than workers.
    """

    count: int = 0
    first: bool = True
    last: bool = True


class OrderedSum:
    """A reduce-scatter for FSDP2 that adds gradients one micro-batch after another, in float32: ((g₀ + g₁) + g₂) + …

    The sum over the turns of a step is the same bits for any number of workers, and the sum that autograd makes of them
    on one worker. A worker gets from each other its part of that one's gradient (all-to-all) and adds them itself: a
    ring would start every part at another worker. Each worker sends and receives as much as in a ring.

    What FSDP2 gets at a turn is the sum so far, so it must not add them up: `parameter.grad` is to be None before each
    turn. Gradients are sent in the dtype `wire`. One object serves one unit of FSDP2.
    """

    def __init__(self, turn: Turn, wire: torch.dtype) -> None:
        self.turn, self.wire = turn, wire
        self._so_far: Tensor | None = None

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> Tensor:
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(
        self, output_tensor: Tensor, input_tensor: Tensor, group: Any, op: Any, async_op: bool = False
    ) -> None:
        sent = input_tensor.to(self.wire)
        received = torch.empty_like(sent)
        dist.all_to_all_single(received, sent, group=group)
        # One part for each worker, in the order of ranks, which is that of the micro-batches of this turn.
        parts = received.view(-1, output_tensor.numel())[: self.turn.count]
        if self.turn.first or self._so_far is None:
            output_tensor.copy_(parts[0])
            parts = parts[1:]
        else:
            output_tensor.copy_(self._so_far)
        for part in parts:
            output_tensor.add_(part)
        self._so_far = None if self.turn.last else output_tensor
