"""MER against its equation by hand, and what it has in common with AdamW."""

from __future__ import annotations

import pytest
import torch
from optimizing import context
from torch import Tensor, nn

from ticlm.methods.mer import MER
from ticlm.methods.optimizers import AdamW

PLAIN = {"weight_decay": 0.0, "betas": (0.0, 0.0), "eps": 1e-30}
"""Under these, a step of AdamW is the rate, in the direction of the gradient's sign."""


def course(setting: AdamW, start: Tensor, steps: int, rate: float = 1.0, ends: bool = False) -> list[Tensor]:
    """The weight after each step on a gradient of ones; with `ends`, each as if the round ended there."""
    found = []
    for length in range(1, steps + 1) if ends else [steps]:
        weight = nn.Parameter(start.clone())
        optimizer = setting.start(context(nn.ParameterList([weight])))
        own = []
        for step in range(length):
            optimizer.param_groups[0]["lr"] = rate
            weight.grad = torch.ones_like(weight) if setting.betas == (0.0, 0.0) else torch.cos(weight.detach() + step)
            optimizer.step()
            own.append(weight.detach().clone())
        if not ends:
            return own
        setting.before_evaluation(optimizer)
        found.append(weight.detach().clone())
    return found


def test_a_course_by_hand() -> None:
    """From 8, one down in each step, and a quarter of each group of four is kept: 7, 6, 5, then 8 − 4/4 = 7 …"""
    setting = MER(every=4, epsilon=0.25, **PLAIN)
    found = [float(weight) for weight in course(setting, torch.tensor([8.0]), 9)]
    assert found == [7, 6, 5, 7, 6, 5, 4, 6, 5]


def test_a_round_ends_with_reptiles_step_over_what_is_left() -> None:
    """1, 2 and 3 steps of the first group count for a quarter each; after the fourth, there are none left."""
    setting = MER(every=4, epsilon=0.25, **PLAIN)
    found = [float(weight) for weight in course(setting, torch.tensor([8.0]), 6, ends=True)]
    assert found == [7.75, 7.5, 7.25, 7, 6.75, 6.5]


@pytest.mark.parametrize("shape", [(7, 3), (33,)], ids=str)
def test_with_an_epsilon_of_1_it_is_adamw_to_the_bit(shape: tuple[int, ...]) -> None:
    start = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    mine, theirs = (course(setting, start, 7, 1e-2, ends=True) for setting in (MER(every=3, epsilon=1), AdamW()))
    assert all(torch.equal(a, b) for a, b in zip(mine, theirs, strict=True))
    assert not torch.equal(course(MER(every=3), start, 7, 1e-2)[-1], theirs[-1])


@pytest.mark.parametrize("shape", [(7, 3), (33, 65), (48,)], ids=str)
def test_a_weight_is_updated_alike_in_any_shard(shape: tuple[int, ...]) -> None:
    start = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    setting = MER(every=3, epsilon=0.3)
    whole = course(setting, start, 8, 1e-2)[-1]
    for shards in (2, 3):
        parts = [course(setting, part, 8, 1e-2)[-1] for part in start.chunk(shards)]
        assert torch.equal(torch.cat(parts), whole)
