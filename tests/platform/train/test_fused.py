"""The loss of hidden states in one pass, against the logits' loss and the penalty's divergence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from ticlm.methods.lwf import LwF, LwFState
from ticlm.methods.objectives import Causal
from ticlm.methods.seams import Batch
from ticlm.platform.models import build, compiled
from ticlm.platform.models.settings import PresetModel
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import rounds
from ticlm.platform.train import fused
from ticlm.platform.train.step import losses

SMALL = '{"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}'


class Silent:
    """A penalty without a loss, as EWC is."""

    def target(self, batch: Batch) -> None: ...

    def loss(self, batch: Batch, logits: Tensor) -> None: ...


class Sees:
    """A penalty that reads the logits and says so only by having no `target`."""

    def loss(self, batch: Batch, logits: Tensor) -> Tensor:
        return logits.square().sum()


def small(seed: int, dtype: torch.dtype = torch.float32) -> nn.Module:
    return build.scratch(build.config(PresetModel(name="tiny", changes=SMALL), 64), Causal(), seed).train().to(dtype)


@pytest.fixture
def recipe(toy_study: Callable[..., Study]) -> Any:
    found = next(iter(rounds(toy_study()).rounds.values())).recipe
    loss = found.loss.model_copy(update={"z_loss": 0.3})  # so that it shows
    return found.model_copy(update={"loss": loss, "objective": Causal(pad=3)})


@pytest.fixture
def uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """The graph of a part as plain torch, in parts of five positions."""
    monkeypatch.setattr(fused, "_graph", lambda: fused.joint)
    monkeypatch.setattr(fused, "PARTS", {"cpu": 5 * 64})
    monkeypatch.setattr(fused, "LEAST", 1)


def gradients(module: nn.Module, recipe: Any, penalties: list[Any], frozen: str = "") -> dict[str, Tensor]:
    """The loss, −log P, and the gradient of a third of the loss by parameter."""
    for name, parameter in module.named_parameters():
        parameter.requires_grad_(name != frozen)
    rows = {"tokens": torch.randint(64, (3, 13), generator=torch.Generator().manual_seed(4))}
    loss, nll = losses(module, recipe, penalties, rows)
    torch.autograd.backward(loss / 3)
    found = {name: p.grad for name, p in module.named_parameters() if p.grad is not None}
    return {"loss": loss.detach(), "nll": nll.detach()} | found


@pytest.mark.parametrize("frozen", ["", "model.embed_tokens.weight"])
@pytest.mark.parametrize("reduction", [None, "tokens", "elements"])
def test_loss_and_gradients_are_those_of_the_logits(
    recipe: Any, uncompiled: None, reduction: str | None, frozen: str
) -> None:
    """With padding, z-loss, and LwF with both of its reductions; with an output layer (the embeddings) that is not
    trained."""
    penalties: list[Any] = [Silent()]
    if reduction is not None:
        weight = {"tokens": 0.7, "elements": 70.0}[reduction]
        setting = LwF.model_validate({"weight": weight, "temperature": 3.0, "reduction": reduction})
        penalties.append(LwFState(setting, small(1).eval()))
    expected = gradients(small(0), recipe, penalties, frozen)
    module = small(0)
    compiled.catch_hidden(module)
    assert fused.is_possible(module, penalties)
    found = gradients(module, recipe, penalties, frozen)
    assert found.keys() == expected.keys() and frozen not in found
    for name, value in expected.items():
        torch.testing.assert_close(found[name], value, rtol=2e-5, atol=1e-6)


def test_gradients_in_bfloat16_are_those_of_the_logits_to_its_rounding(recipe: Any, uncompiled: None) -> None:
    expected = gradients(small(0, torch.bfloat16), recipe, [])
    module = small(0, torch.bfloat16)
    compiled.catch_hidden(module)
    found = gradients(module, recipe, [])
    for name, value in expected.items():
        assert found[name].dtype == value.dtype
        far = (found[name] - value).float().norm() / value.float().norm()
        assert far < 0.02, (name, far)


def test_a_penalty_that_reads_logits_gets_them(recipe: Any) -> None:
    module = small(0)
    expected = gradients(module, recipe, [Sees()])
    compiled.catch_hidden(module)
    both: list[Any] = [Silent(), Sees()]
    assert not fused.is_possible(module, both)
    module.zero_grad()
    found = gradients(module, recipe, [Sees()])
    assert all(torch.equal(found[name], value) for name, value in expected.items())


@pytest.mark.parametrize(("count", "size"), [(10, 5), (11, 4), (4, 4), (1, 1)])
def test_parts_are_of_nearly_the_same_size(uncompiled: None, count: int, size: int) -> None:
    parts = fused._parts(count, 64, torch.device("cpu"))
    assert [i for part in parts for i in range(count)[part]] == list(range(count))
    assert max(part.stop - part.start for part in parts) == size
