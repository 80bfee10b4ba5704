"""The step of RecAdam, whose bits do not depend on how the weights are cut into shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import nn

from ticlm.methods.seams import local_shard
from ticlm.methods.steps.adamw import ShardableAdamW


class RecallingAdamW(ShardableAdamW):
    """AdamW under rate · λ, and after it a pull to the weights that it was made with.

    Those weights are kept shard by shard, a copy of what this rank trains. They are no part of its state: a round that
    goes on after a restart starts from the same ones. Each parameter group holds the round's
    step t, which checkpoints save.
    """

    def __init__(
        self,
        trained: Sequence[nn.Parameter],
        annealed: Callable[[int], float],
        pull: Callable[[float, float], float],
        **settings: Any,
    ) -> None:
        super().__init__(trained, fused=True, **settings)
        self._annealed, self._pull = annealed, pull
        self._anchors = {parameter: local_shard(parameter).clone() for parameter in trained}
        for group in self.param_groups:
            group["t"] = 0

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        """Take one step. `closure` is not used."""
        rates = [group["lr"] for group in self.param_groups]
        shares = []
        try:
            for group in self.param_groups:
                group["t"] += 1
                shares.append(self._annealed(group["t"]))
                group["lr"] *= shares[-1]
            super().step()
        finally:
            for group, rate in zip(self.param_groups, rates):
                group["lr"] = rate
        for group, rate, share in zip(self.param_groups, rates, shares):
            taken = self._pull(rate, share)
            if taken:
                for parameter in group["params"]:
                    weight = local_shard(parameter)
                    # one operation at a time: a fused one may round by the place of a number in its shard
                    weight.sub_(torch.sub(weight, self._anchors[parameter]).mul_(taken))
