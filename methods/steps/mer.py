"""AdamW with Reptile's step after each group of steps, whose bits do not depend on how the weights are cut."""

from __future__ import annotations

from typing import Any

import torch

from ticlm.methods.seams import local_shard
from ticlm.methods.steps.adamw import ShardableAdamW


class ReptileAdamW(ShardableAdamW):
    """AdamW that keeps, after every `every` steps, only a share `epsilon` of their change (Reptile's step).

    The weights after the last of Reptile's steps are kept beside the moments, sharded like them. Each parameter group
    holds the number of steps since, which checkpoints save.
    """

    def __init__(self, trained: Any, every: int, epsilon: float, **settings: Any) -> None:
        super().__init__(trained, fused=True, **settings)
        self._every, self._epsilon = every, epsilon
        for group in self.param_groups:
            group["since"] = 0

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step, and Reptile's after it if the group of steps is full. `closure` is not used."""
        anchors = [
            (parameter, parameter.detach().clone())
            for group in self.param_groups
            for parameter in group["params"]
            if parameter.grad is not None and "anchor" not in self.state[parameter]
        ]
        super().step()
        for parameter, anchor in anchors:  # only now: AdamW takes a state that is not empty for one with moments
            self.state[parameter]["anchor"] = anchor
        for group in self.param_groups:
            group["since"] += 1
        if self.param_groups[0]["since"] >= self._every:
            self.outer_step()

    @torch.no_grad()
    def outer_step(self) -> None:
        """Take Reptile's step over the steps since the last one, if there are any."""
        for group in self.param_groups:
            for parameter in group["params"] if group["since"] else ():
                if "anchor" in self.state[parameter]:
                    weight, anchor = local_shard(parameter), local_shard(self.state[parameter]["anchor"])
                    # θ − (1 − ε)(θ − θ₀), one operation at a time: a fused one may round by the place of a number in
                    # its shard; and where ε is 1, nothing is rounded at all
                    weight.sub_(torch.sub(weight, anchor).mul_(1 - self._epsilon))
                    anchor.copy_(weight)
            group["since"] = 0
