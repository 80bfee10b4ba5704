"""The norm of a gradient, whole and in shards."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ticlm.methods.steps.adamw import ShardableAdamW
from ticlm.platform.models.sharding import Workers, cut_axis
from ticlm.platform.train.clipping import scale_in_step, squared_rows

SHAPES: list[tuple[int, ...]] = [(7, 3), (64, 17), (3, 70_000), (5,), (1, 9), (4, 3, 5), (1, 24, 5), (1, 7, 5)]


def of_rank(gradients: list[Tensor], rank: int, world: int) -> Tensor:
    """What a rank knows, when each gradient is cut into rows as FSDP2 does."""
    trained: Any = []
    for gradient in gradients:
        parts = [*gradient.chunk(world, cut_axis(gradient.shape, world)), *[gradient[:0]] * world]
        trained.append(SimpleNamespace(shape=gradient.shape, ndim=gradient.ndim, grad=parts[rank].clone()))
    return squared_rows(trained, Workers(rank, world))


@pytest.mark.parametrize("threads", [1, 2])
def test_the_norm_is_the_same_bits_for_any_shards(threads: int) -> None:
    draw, before = torch.Generator().manual_seed(1), torch.get_num_threads()
    gradients = [torch.randn(shape, generator=draw) for shape in SHAPES]
    torch.set_num_threads(threads)
    try:
        whole = of_rank(gradients, 0, 1)
        for world in (2, 3, 4, 8):
            parts = [of_rank(gradients, rank, world) for rank in range(world)]
            assert torch.equal(torch.stack(parts).sum(0), whole), world
            assert int((torch.stack(parts) != 0).sum()) == len(whole), "each row has one rank"
    finally:
        torch.set_num_threads(before)


def test_the_squares_of_rows_sum_to_the_squared_norm() -> None:
    draw = torch.Generator().manual_seed(2)
    weights = [nn.Parameter(torch.zeros(shape)) for shape in (*SHAPES, ())]
    for weight in weights:
        weight.grad = torch.randn(weight.shape, generator=draw)
    expected = torch.cat([w.grad.flatten() for w in weights if w.grad is not None]).double().norm()
    torch.testing.assert_close(squared_rows(weights, Workers()).sum().sqrt(), expected, rtol=1e-6, atol=0)


def test_the_optimizer_scales_as_a_pass_before_it_would() -> None:
    """Several steps, each with a factor of its own, powers of two: a division by their inverse rounds nothing."""
    draw = torch.Generator().manual_seed(2)
    start = torch.randn(4, 16, generator=draw)
    ours, plain = nn.Parameter(start.clone()), nn.Parameter(start.clone())
    optimizers = [ShardableAdamW([p], lr=0.1, fused=True) for p in (ours, plain)]
    for factor in (1.0, 0.25, 0.5):
        gradient = torch.randn(4, 16, generator=draw)
        ours.grad, plain.grad = gradient.clone(), gradient * factor
        scale_in_step(torch.tensor(factor), optimizers[0])
        for optimizer in optimizers:
            optimizer.step()
        assert torch.equal(ours, plain)
