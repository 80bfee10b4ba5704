"""The norm of gradients, whole and spread over gloo processes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ticlm.platform.eval.gradients import squared_norms

Forks = Callable[..., list[tuple[int, Any]]]


def layers() -> nn.Module:
    """Layers whose rows two processes cannot share equally, the last of them with a single row."""
    torch.manual_seed(2)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3, bias=False), nn.Tanh(), nn.Linear(3, 1))


def gradients(module: nn.Module) -> list[Tensor]:
    """Those of one batch that every process reads, so that their mean is that of one process."""
    inputs = torch.randn(4, 5, generator=torch.Generator().manual_seed(3))
    module(inputs).square().mean().backward()
    return [parameter.grad for parameter in module.parameters() if parameter.grad is not None]


def rank_norms(rank: int, world: int, meeting: str) -> dict[str, Any]:
    """What one process of FSDP2 finds of its parts, and of a gradient that is the sum of what the processes hold."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard
    from torch.distributed.tensor import DTensor, Partial, Replicate

    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    mesh = init_device_mesh("cpu", (world,))
    module = layers()
    fully_shard(module, mesh=mesh)
    found = gradients(module)
    assert all(isinstance(one, DTensor) for one in found)
    held = sum(one.to_local().numel() for one in found)  # type: ignore[attr-defined]
    sums = DTensor.from_local(torch.ones(4), mesh, [Partial()])
    copies = DTensor.from_local(torch.ones(4), mesh, [Replicate()])
    said = {
        "squares": squared_norms(found).tolist(),
        "held": held,
        "others": squared_norms([sums, copies, torch.ones(2)]).tolist(),
    }
    dist.destroy_process_group()
    return said


def test_the_norm_is_that_of_all_gradients_in_one_row() -> None:
    found = gradients(layers())
    flat = torch.cat([one.flatten() for one in found]).double()
    norm = float(squared_norms(found).sum().sqrt())
    assert norm == pytest.approx(float(torch.linalg.vector_norm(flat)), rel=1e-12)
    assert squared_norms(found).sqrt().tolist() == pytest.approx([float(one.double().norm()) for one in found])
    assert squared_norms([]).shape == (0,)


def test_gradients_spread_over_two_processes_have_the_norm_of_one(forks: Forks, tmp_path: Path) -> None:
    whole = gradients(layers())
    numbers = sum(one.numel() for one in whole)
    for world in (1, 2):
        jobs = [partial(rank_norms, rank, world, f"{tmp_path}/{world}") for rank in range(world)]
        ended = forks(*jobs, log=tmp_path / "log")
        assert [code for code, _ in ended] == [0] * world, (tmp_path / "log").read_text()[-3000:]
        for _, found in ended:
            assert found["squares"] == pytest.approx(squared_norms(whole).tolist(), rel=1e-5)
            assert found["others"] == pytest.approx([4 * world**2, 4, 2]), (
                "a sum is squared as a whole, and copies count once"
            )
        assert sum(found["held"] for _, found in ended) == numbers
        assert world == 1 or all(found["held"] < numbers for _, found in ended)
