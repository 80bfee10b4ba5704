"""Copies of states: they stay as they were, and go into the same memory round after round."""

from __future__ import annotations

import mmap
from typing import Any

import pytest
import torch
from torch import nn

from ticlm.platform.train.staging import Staging, paged_like


def state_of(module: nn.Module, optimizer: torch.optim.Optimizer, step: int) -> dict[str, Any]:
    return {"model": module.state_dict(), "optimizer": optimizer.state_dict()["state"], "history": [[0.5, step]]}


def trained(module: nn.Module) -> torch.optim.Optimizer:
    optimizer = torch.optim.AdamW(module.parameters(), 1e-2)
    module(torch.ones(2, 3)).sum().backward()
    optimizer.step()
    return optimizer


def test_a_copy_stays_as_it_was_and_the_next_round_uses_its_memory_again() -> None:
    module, staging = nn.Linear(3, 4), Staging("cpu")
    optimizer = trained(module)
    state = state_of(module, optimizer, 1)
    copied, whole = staging.copy(state, optimizer)
    whole()
    before = module.weight.detach().clone()
    second = trained(module)  # another optimizer, as in the next round
    state["history"][0][1] = 7
    assert torch.equal(copied["model"]["weight"], before) and not torch.equal(module.weight, before)
    assert copied["history"] == [[0.5, 1]]
    places = [copied["optimizer"][0][name].data_ptr() for name in ("exp_avg", "exp_avg_sq")]
    again, _ = staging.copy(state_of(module, second, 2), second)
    assert [again["optimizer"][0][name].data_ptr() for name in ("exp_avg", "exp_avg_sq")] == places
    assert torch.equal(again["optimizer"][0]["exp_avg"], second.state_dict()["state"][0]["exp_avg"])


def test_memory_is_made_ready_before_the_first_copy_and_anew_for_another_shape() -> None:
    module, staging = nn.Linear(3, 4), Staging("cpu")
    staging.reserve({"model": module.state_dict()})
    ready = dict(staging._kept)
    optimizer = torch.optim.SGD(module.parameters())
    copied, _ = staging.copy({"model": module.state_dict()}, optimizer)
    assert {name: one.data_ptr() for name, one in ready.items()} == {
        f".model.{name}": one.data_ptr() for name, one in copied["model"].items()
    }
    wider = nn.Linear(5, 4)
    copied, _ = staging.copy({"model": wider.state_dict()}, optimizer)
    assert torch.equal(copied["model"]["weight"], wider.weight)


def test_memory_to_pin_has_pages_of_its_own_and_the_layout_of_the_tensor() -> None:
    like = torch.arange(3 * 5000, dtype=torch.float64).view(3, 5000).t()
    made, other = paged_like(like), paged_like(like)
    assert made.data_ptr() % mmap.PAGESIZE == 0 and made.data_ptr() != other.data_ptr()
    assert (made.shape, made.stride(), made.dtype) == (like.shape, like.stride(), like.dtype) and not made.any()
    made.copy_(like)
    assert torch.equal(made, like) and not other.any()
    assert made.untyped_storage().nbytes() == like.nbytes, "or a checkpoint would copy it once more to write it"


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU; none has run this yet")
def test_on_a_gpu_the_next_step_waits_for_the_copy() -> None:
    module, staging = nn.Linear(4096, 4096).cuda(), Staging("cuda")
    optimizer = torch.optim.AdamW(module.parameters(), 1e-2)
    for _ in range(3):
        module(torch.ones(2, 4096, device="cuda")).sum().backward()
        before = module.weight.detach().clone()
        copied, whole = staging.copy(state_of(module, optimizer, 1), optimizer)
        optimizer.step()
        whole()
        assert torch.equal(copied["model"]["weight"], before.cpu()) and not torch.equal(module.weight, before)
    staging.close()
