"""AdamW whose bits do not depend on how the weights are cut into shards."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ticlm.methods.seams import local_shard

LANES = 16
"""Numbers that the widest vector instruction of a CPU takes at once, in float32."""


class ShardableAdamW(torch.optim.AdamW):
    """The fused AdamW; a weight's update is rounded alike wherever the weight stands in its shard.

    On the CPU, torch updates the last `numel % LANES` numbers of a tensor one by one, and rounds them differently from
    the rest, which it takes `LANES` at once. Here the last numbers are updated in a tensor of `LANES` numbers, with
    zeros behind them.
    """

    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step. `closure` is not used."""
        rest = [
            (group, parameter, self._rest(parameter))
            for group in self.param_groups
            for parameter in group["params"]
            if parameter.grad is not None and not parameter.is_cuda and local_shard(parameter).numel() % LANES
        ]
        super().step()
        for group, parameter, padded in rest:
            self._update(group, self.state[parameter], parameter, padded)

    def _rest(self, parameter: Tensor) -> list[Tensor]:
        """Return the last numbers of a weight, its gradient and its two moments, each as [LANES] with zeros behind."""
        state = self.state[parameter] or {"exp_avg": None, "exp_avg_sq": None}
        count = local_shard(parameter).numel() % LANES
        found = [torch.zeros(LANES, dtype=parameter.dtype) for _ in range(4)]
        for padded, whole in zip(found, (parameter, parameter.grad, state["exp_avg"], state["exp_avg_sq"])):
            if whole is not None:
                padded[:count] = local_shard(whole).reshape(-1)[-count:]
        return found

    def _update(self, group: dict[str, Any], state: dict[str, Tensor], parameter: Tensor, padded: list[Tensor]) -> None:
        weight, gradient, first, second = padded
        beta1, beta2 = group["betas"]
        # The operator behind torch's fused AdamW, which has counted `step` already.
        torch._fused_adamw_(
            [weight], [gradient], [first], [second], [], [state["step"]],
            lr=group["lr"], beta1=beta1, beta2=beta2, weight_decay=group["weight_decay"], eps=group["eps"],
            amsgrad=False, maximize=False,
        )  # fmt: skip
        count = local_shard(parameter).numel() % LANES
        for new, whole in ((weight, parameter), (first, state["exp_avg"]), (second, state["exp_avg_sq"])):
            local_shard(whole).view(-1)[-count:] = new[:count]
