"""AdamW on shards against AdamW on the whole."""

from __future__ import annotations

import pytest
import torch
from optimizing import context
from torch import Tensor, nn

from ticlm.methods.optimizers import AdamW, ScheduleFree
from ticlm.methods.seams import Optimizer

SHAPES = [(7, 3), (33, 65), (64, 17), (64,), (1, 5), (48, 16)]


def course(shape: tuple[int, ...]) -> tuple[Tensor, list[Tensor]]:
    """A weight and the gradients of its steps, of sizes from 1 to 1/1000."""
    draw = torch.Generator().manual_seed(shape[0])
    start, *gradients = (torch.randn(shape, generator=draw) * 10.0 ** -(i % 4) for i in range(9))
    return start, gradients


def trained(setting: Optimizer, shape: tuple[int, ...], shards: int) -> Tensor:
    """The weight after all steps, each shard of its rows a tensor of its own."""
    start, gradients = course(shape)
    module = nn.ParameterList([nn.Parameter(part.clone()) for part in start.chunk(shards)])
    optimizer = setting.start(context(module))
    for step, gradient in enumerate(gradients):
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 / (step + 1)
        for weight, part in zip(module, gradient.chunk(shards)):
            weight.grad = part.clone()
        optimizer.step()
    return torch.cat([weight.detach() for weight in module])


@pytest.mark.parametrize("setting", [AdamW(), ScheduleFree()], ids=["adamw", "schedule-free"])
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_weight_is_updated_alike_in_any_shard(setting: Optimizer, shape: tuple[int, ...]) -> None:
    """torch's fused kernel for CPUs rounds the last numbers of a tensor otherwise than those before them."""
    whole = trained(setting, shape, 1)
    for shards in (2, 3, 4, 8):
        assert torch.equal(trained(setting, shape, shards), whole), shards


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_the_update_is_that_of_torch(shape: tuple[int, ...]) -> None:
    (start, gradients), setting = course(shape), AdamW()
    weight = nn.Parameter(start.clone())
    theirs = torch.optim.AdamW([weight], 0.0, setting.betas, setting.eps, setting.weight_decay, foreach=True)
    for step, gradient in enumerate(gradients):
        theirs.param_groups[0]["lr"], weight.grad = 1e-2 / (step + 1), gradient
        theirs.step()
    torch.testing.assert_close(trained(setting, shape, 1), weight.detach(), rtol=1e-5, atol=1e-7)
