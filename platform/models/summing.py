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
    turn. Gradients are `computed` in one dtype and sent in another or the same, `wire`. One object serves one unit of
    FSDP2.
    """

    # Each turn sends a whole gradient. To add up a worker's own micro-batches first would send one a step, but in
    # another order: g₀ + g₂ on one worker and g₁ + g₃ on the other are rounded otherwise than ((g₀ + g₁) + g₂) + g₃. To
    # send a step's gradients at its end would keep the order, and send as many bytes. Fewer, larger micro-batches do
    # send less: with as many of them as workers, a step is one turn.

    def __init__(self, turn: Turn, wire: torch.dtype, computed: torch.dtype = torch.float32) -> None:
        self.turn, self.wire, self.computed = turn, wire, computed
        self._so_far: Tensor | None = None
        self._is_sent_next = True

    def allocate(self, size: Sequence[int], *, dtype: torch.dtype, device: torch.device) -> Tensor:
        """Return memory for FSDP2, which asks first for what is sent, then for what comes back (float32)."""
        if self._is_sent_next and self.computed == self.wire:
            dtype = self.wire  # taken as they are: else there would be a copy of all of them in float32, and one back
        self._is_sent_next = not self._is_sent_next
        return torch.empty(*size, dtype=dtype, device=device)

    def __call__(
        self, output_tensor: Tensor, input_tensor: Tensor, group: Any, op: Any, async_op: bool = False
    ) -> None:
        self._is_sent_next = True
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
