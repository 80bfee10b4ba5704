"""Adafactor whose bits do not depend on how the weights are cut into shards."""

from __future__ import annotations

from typing import Any

from torch import nn
from torch.distributed.tensor import DTensor
from transformers.optimization import Adafactor

from ticlm.methods.steps.whole import gathered, put_back


class WholeAdafactor(Adafactor):  # type: ignore[misc]
    """The library's Adafactor, that updates every weight as a whole.

    The means over rows and columns, and the norm that an update is clipped by, need all numbers of a weight. On a shard
    alone they would be other numbers; as sums over the shards they would round in another order. So a sharded weight
    and its gradient are gathered, one weight at a time; every rank takes the library's step and keeps its own shard of
    the result. The state is whole too, and the same on every rank: any number of workers can go on from its checkpoint.
    Its means are small beside the weights. This costs a gathering of all weights and gradients in each step, and room
    for the largest weight, its gradient and what the library makes of them.
    """

    param_groups: list[dict[str, Any]]

    def step(self, closure: Any = None) -> None:
        """Take one step. `closure` is not used. Every rank calls."""
        groups = self.param_groups
        try:
            for group in groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        self._update(group, parameter)
        finally:
            self.param_groups = groups

    def _update(self, group: dict[str, Any], parameter: nn.Parameter) -> None:
        """Take the library's step on one weight."""
        if not isinstance(parameter, DTensor):
            self.param_groups = [{**group, "params": [parameter]}]
            super().step()
            return
        whole = nn.Parameter(gathered(parameter))
        whole.grad = gathered(parameter.grad)
        self.state[whole] = self.state[parameter]  # one mapping, that the step fills for both
        self.param_groups = [{**group, "params": [whole]}]
        try:
            super().step()
        finally:
            del self.state[whole]
        put_back(whole, parameter)
