"""What steps do otherwise on a GPU, as far as a CPU can run it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ticlm.platform.train import device


@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_tokens_are_widened_to_what_a_cpu_gets(dtype: str) -> None:
    tokens = np.array([[0, 1, 40_000, 65_535]], dtype)
    expected = device.sent(tokens, "cpu")
    assert expected.dtype == torch.int64 and expected.tolist() == tokens.tolist()
    assert torch.equal(device.widened(torch.from_numpy(tokens)), expected)


def test_numbers_are_read_as_they_were(monkeypatch: pytest.MonkeyPatch) -> None:
    assert device.LateNumbers(torch.tensor([0.1, float("inf")], dtype=torch.float64)).read() == [0.1, float("inf")]


def test_attention_of_hopper_tries_cudnn_first() -> None:
    before = torch._C._get_sdp_priority_order()
    with device.in_order():
        assert torch._C._get_sdp_priority_order()[:4] == [kernel.value for kernel in device.FASTEST_FIRST]
        query = torch.ones(1, 1, 2, 4)  # there is always one that can do it
        assert torch.nn.functional.scaled_dot_product_attention(query, query, query, is_causal=True).tolist()
    assert torch._C._get_sdp_priority_order() == before


@pytest.mark.parametrize(("capability", "chosen"), [((8, 0), False), ((9, 0), True), ((10, 0), True)])
def test_torch_chooses_the_attention_of_older_gpus_and_cpus(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], chosen: bool
) -> None:
    before = torch._C._get_sdp_priority_order()
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    with device.attention("cuda"):
        assert (torch._C._get_sdp_priority_order() != before) == chosen
    with device.attention("cpu"):
        assert torch._C._get_sdp_priority_order() == before


def test_a_seed_draws_what_torch_s_own_draws_and_leaves_nothing_behind() -> None:
    torch.manual_seed(7)
    expected, kept = torch.rand(3), len(torch.mtia._queued_calls)
    device.seed(7, "cpu")
    assert torch.equal(torch.rand(3), expected) and len(torch.mtia._queued_calls) == kept
