"""One optimizer step against the same thing computed directly."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ticlm.methods.objectives import Causal
from ticlm.methods.seams import Batch, PenaltyState
from ticlm.platform.models import build
from ticlm.platform.models.settings import PresetModel
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.round import RoundRecipe
from ticlm.platform.study.settings import Loss, Study
from ticlm.platform.study.tree import rounds
from ticlm.platform.train import step as train_steps
from ticlm.platform.train.step import StepResult, is_finite, train_step

ROWS = np.random.default_rng(0).integers(0, 64, (9, 17)).astype(np.uint16)


def recipe_of(toy_study: Callable[..., Study], **changes: Any) -> RoundRecipe:
    first = next(iter(rounds(toy_study(batch_rows=9, continual_tokens={"per_period": 9 * 16 * 4})).rounds.values()))
    return first.recipe.model_copy(update=changes)


def toy_module() -> nn.Module:
    changes = '{"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 1}'
    return build.scratch(build.config(PresetModel(name="tiny", changes=changes), 64), Causal(), seed=3).train()


class Ones:
    """Adds `strength` times the sum of the logits to the loss."""

    def __init__(self, strength: float) -> None:
        self.strength = strength

    def loss(self, batch: Batch, logits: Tensor) -> Tensor | None:
        return self.strength * logits.sum()

    def pull(self, name: str, parameter: Tensor) -> None: ...

    def before_evaluation(self) -> None: ...

    def state_dict(self) -> dict[str, Any]:
        return {}

    def load_state_dict(self, state: dict[str, Any]) -> None: ...


def direct(module: nn.Module, loss: Loss, ones: float = 0.0) -> tuple[float, float, dict[str, Tensor]]:
    """(mean −log P, gradient norm, clipped gradients) of one batch, the plain way."""
    tokens = torch.from_numpy(ROWS.astype("int64"))
    logits = module(input_ids=tokens[:, :-1]).logits
    nll = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    z = torch.logsumexp(logits, -1).pow(2).mean()
    (nll + loss.z_loss * z + ones * logits.sum() / tokens[:, 1:].numel()).backward()
    gradients = {name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None}
    norm = float(torch.cat([g.flatten() for g in gradients.values()]).norm())
    factor = min(1.0, loss.clip_norm / norm)
    return nll.item(), norm, {name: g * factor for name, g in gradients.items()}


def step(
    recipe: RoundRecipe, micro: int | None = None, penalties: tuple[PenaltyState, ...] = ()
) -> tuple[StepResult, dict[str, Tensor]]:
    """One step of plain descent with rate 1: what came back, and the gradients it followed."""
    module = toy_module()
    before = {name: p.detach().clone() for name, p in module.named_parameters()}
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0)
    result = train_step(module, optimizer, penalties, recipe, {"tokens": ROWS}, Workers(), micro).measured()
    return result, {name: before[name] - p.detach() for name, p in module.named_parameters()}


@pytest.mark.parametrize("loss", [Loss(), Loss(z_loss=0.0, clip_norm=100.0), Loss(z_loss=0.5, clip_norm=0.25)])
@pytest.mark.parametrize("micro", [None, 1, 2, 4])
def test_a_step_follows_the_clipped_gradient_of_the_mean_loss(
    toy_study: Callable[..., Study], loss: Loss, micro: int | None
) -> None:
    result, followed = step(recipe_of(toy_study, loss=loss), micro)
    nll, norm, gradients = direct(toy_module(), loss)
    assert result.loss == pytest.approx(nll, rel=1e-5), "the loss shown is −log P alone"
    assert result.gradient_norm == pytest.approx(norm, rel=1e-4), "the norm shown is that before clipping"
    assert (loss.clip_norm < norm) == (loss.clip_norm < 0.4), "both sides of the clip are to be tested"
    for name, gradient in gradients.items():
        torch.testing.assert_close(followed[name], gradient, rtol=1e-4, atol=3e-7)


@pytest.mark.parametrize("micro", [None, 2])
def test_a_penalty_is_summed_over_targets_as_the_loss_is(toy_study: Callable[..., Study], micro: int | None) -> None:
    loss = Loss(z_loss=0.0, clip_norm=1e9)
    result, followed = step(recipe_of(toy_study, loss=loss), micro, (Ones(0.1),))
    nll, _, gradients = direct(toy_module(), loss, ones=0.1)
    assert result.loss == pytest.approx(nll, rel=1e-5), "the loss shown has no penalty in it"
    for name, gradient in gradients.items():
        torch.testing.assert_close(followed[name], gradient, rtol=1e-4, atol=1e-6)


class Two(nn.Module):
    """Logits over 64 tokens from two weights."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(2))

    def forward(self, input_ids: Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=torch.zeros(*input_ids.shape, 64) + self.weight.sum())


class Pull(Ones):
    def pull(self, name: str, parameter: Tensor) -> None:
        assert parameter.grad is not None
        parameter.grad.copy_(torch.tensor([0.3, 0.4])).add_(torch.tensor([0.5, -1.8]))


def test_a_penalty_pulls_before_the_gradient_is_clipped(toy_study: Callable[..., Study]) -> None:
    """Gradient (.3, .4), pull (.5, −1.8), clipped to 1: (0.49613894, −0.86824314); the other order is (.8, −1.4)."""
    module = Two()
    recipe, optimizer = recipe_of(toy_study), torch.optim.SGD(module.parameters(), lr=1.0)
    train_step(module, optimizer, [Pull(0.0)], recipe, {"tokens": ROWS}, Workers(), None)
    assert (-module.weight.detach()).tolist() == pytest.approx([0.49613894, -0.86824314], abs=1e-6)


@pytest.mark.parametrize(("loss", "norm"), [(float("nan"), 1.0), (float("inf"), 1.0), (2.0, float("nan"))])
def test_what_is_no_number_is_seen(loss: float, norm: float) -> None:
    assert is_finite(StepResult(2.0, 1.0, ()))
    assert not is_finite(StepResult(loss, norm, ()))


@pytest.mark.parametrize("own", [True, False])
def test_a_few_positions_at_a_time_give_the_same_bits(own: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the gradient takes the place of the logits."""
    torch.manual_seed(0)
    logits, labels, weights = 5 * torch.randn(2, 13, 97), torch.randint(0, 97, (2, 13)), torch.rand(2, 13)

    def found(at_once: int, own: bool) -> list[Tensor]:
        monkeypatch.setattr(train_steps, "CACHED", at_once)
        leaf = logits.clone().requires_grad_()
        loss, nll = train_steps._TokenLoss.apply(leaf * 1, labels, weights, 1e-4, own)  # type: ignore[no-untyped-call]
        (loss / 7).backward()
        assert leaf.grad is not None
        return [loss.detach(), nll, leaf.grad]

    assert all(torch.equal(a, b) for a, b in zip(found(300, own), found(1 << 30, False), strict=True))
