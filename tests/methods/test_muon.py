"""Muon against its equations, and which weights it trains as matrices."""

from __future__ import annotations

import math

import pytest
import torch
from optimizing import context
from torch import Tensor, nn

from ticlm.methods.muon import Muon
from ticlm.methods.optimizers import AdamW
from ticlm.methods.seams import Optimizer
from ticlm.methods.steps.muon import hidden_matrices

RATES = [0.01, 0.02, 0.03, 0.02]


def gradient(weight: Tensor, step: int) -> Tensor:
    """The gradient of a quadratic bowl that moves."""
    return weight - torch.sin(torch.arange(float(weight.numel())).reshape(weight.shape) + step)


def start_of(shape: tuple[int, ...]) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def trained(setting: Optimizer, *starts: Tensor) -> list[Tensor]:
    module = nn.ParameterList([nn.Parameter(start.clone()) for start in starts])
    optimizer = setting.start(context(module))
    for step, rate in enumerate(RATES):
        for group in optimizer.param_groups:
            group["lr"] = rate
        for weight in module:
            weight.grad = gradient(weight.detach(), step)
        optimizer.step()
    return [weight.detach() for weight in module]


def by_its_equations(setting: Muon, start: Tensor) -> Tensor:
    """Jordan et al., 2024, in float64: f(x) = 3.4445 x − 4.7750 x³ + 2.0315 x⁵ on the singular values."""
    weight, mean, (m, n) = start.double(), torch.zeros_like(start).double(), start.shape
    factor = 0.2 * math.sqrt(max(m, n)) if setting.adjust_rate == "match_rms_adamw" else math.sqrt(max(1, m / n))
    for step, rate in enumerate(RATES):
        g = gradient(weight, step)
        mean = setting.momentum * mean + (1 - setting.momentum) * g
        direction = (1 - setting.momentum) * g + setting.momentum * mean if setting.nesterov else mean
        u, s, v = torch.linalg.svd(direction / direction.norm(), full_matrices=False)
        for _ in range(setting.ns_steps):
            s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
        weight = weight - rate * setting.weight_decay * weight - rate * factor * (u * s @ v)
    return weight.float()


@pytest.mark.parametrize("shape", [(6, 4), (4, 6)], ids=str)
@pytest.mark.parametrize(
    "setting", [Muon(), Muon(momentum=0.8, nesterov=False, ns_steps=2, adjust_rate="original", weight_decay=1.0)]
)
def test_a_matrix_takes_the_step_of_the_equations(setting: Muon, shape: tuple[int, ...]) -> None:
    start = start_of(shape)
    (found,) = trained(setting, start)
    expected = by_its_equations(setting, start)
    moved = (expected - start).abs().max()
    assert (found - expected).abs().max() < 0.05 * moved, "torch makes the update in bfloat16"


def test_a_stack_of_matrices_is_trained_as_each_of_them_alone() -> None:
    start = start_of((1, 6, 4))
    (stacked,), (alone,) = trained(Muon(), start), trained(Muon(), start[0])
    assert torch.equal(stacked[0], alone)


def test_vectors_are_trained_by_adamw_at_their_own_rate() -> None:
    matrix, vector = start_of((6, 4)), start_of((7,))
    _, found = trained(Muon(), matrix, vector)
    (expected,) = trained(AdamW(), vector)
    assert torch.equal(found, expected)
    with pytest.MonkeyPatch.context() as patch:
        _, twice = trained(Muon(adamw_rate=2.0), matrix, vector)
        patch.setitem(globals(), "RATES", [2 * rate for rate in RATES])
        assert torch.equal(twice, trained(AdamW(), vector)[0])


@pytest.mark.parametrize("tied", [True, False])
def test_embeddings_and_the_output_are_no_hidden_matrices(tied: bool) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    config = GPT2Config(n_layer=1, n_embd=8, n_head=2, vocab_size=11, n_positions=5, tie_word_embeddings=tied)
    module = GPT2LMHeadModel(config)
    names = {id(weight): name for name, weight in module.named_parameters()}
    hidden, others = ({names[id(weight)] for weight in part} for part in hidden_matrices(module))
    block = "transformer.h.0."
    assert hidden == {f"{block}{name}.weight" for name in ("attn.c_attn", "attn.c_proj", "mlp.c_fc", "mlp.c_proj")}
    outside = {"transformer.wte.weight", "transformer.wpe.weight"} | (set() if tied else {"lm_head.weight"})
    assert outside <= others and hidden | others == set(names.values())
    module.requires_grad_(False)
    assert hidden_matrices(module) == ([], [])
