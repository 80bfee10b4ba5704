"""Schedule-Free AdamW and Adafactor against their equations, and that the averaged weights are what is kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from optimizing import context
from torch import Tensor, nn

from ticlm.core.store import Store
from ticlm.methods.ewc import EWC
from ticlm.methods.mer import MER
from ticlm.methods.muon import Muon
from ticlm.methods.optimizers import Adafactor, AdamW, ScheduleFree
from ticlm.methods.recadam import RecAdam
from ticlm.methods.seams import Optimizer
from ticlm.platform.models import folders
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import work_of
from ticlm.platform.train import trainer

RATES = [0.01, 0.02, 0.03, 0.03, 0.03, 0.02, 0.03, 0.03]


def gradient(weights: Tensor, step: int) -> Tensor:
    """Of a quadratic bowl that moves."""
    return weights * torch.arange(1.0, 5.0) - torch.sin(torch.tensor(float(step)))


def by_its_equations(setting: ScheduleFree, start: Tensor) -> Tensor:
    """Defazio et al., 2024, Algorithm 1 with warm-up: gradients at y = (1 − β₁) z + β₁ x, an Adam step for z without
    momentum, and x the average of all z, weighted by the square of the highest rate so far."""
    beta1, beta2 = setting.betas
    z, x, v, weights = start.clone(), start.clone(), torch.zeros_like(start), 0.0
    for step, rate in enumerate(RATES):
        y = (1 - beta1) * z + beta1 * x
        g = gradient(y, step)
        v = beta2 * v + (1 - beta2) * g * g
        direction = g / ((v / (1 - beta2 ** (step + 1))).sqrt() + setting.eps) + setting.weight_decay * y
        z = z - rate * direction
        weight = max(RATES[: step + 1]) ** 2
        weights += weight
        x = (1 - weight / weights) * x + weight / weights * z
    return x


@pytest.mark.parametrize("setting", [ScheduleFree(), ScheduleFree(betas=(0.8, 0.99), weight_decay=0.1)], ids=str)
def test_the_average_is_that_of_the_equations(setting: ScheduleFree) -> None:
    module = nn.Linear(4, 1, bias=False)
    start = torch.tensor([1.0, -2.0, 0.5, 3.0])
    with torch.no_grad():
        module.weight.copy_(start[None])
    optimizer = setting.start(context(module))
    for step, rate in enumerate(RATES):
        for group in optimizer.param_groups:
            group["lr"] = rate
        module.weight.grad = gradient(module.weight.detach()[0], step)[None]
        optimizer.step()
    trained = module.weight.detach()[0].clone()
    setting.before_evaluation(optimizer)
    expected = by_its_equations(setting, start)
    torch.testing.assert_close(module.weight.detach()[0], expected, rtol=1e-5, atol=1e-6)
    assert not torch.allclose(trained, expected, rtol=1e-3), "the weights that gradients are taken at are others"


def test_a_round_publishes_the_averaged_weights(
    toy_root: Path, toy_study: Callable[..., Study], monkeypatch: pytest.MonkeyPatch
) -> None:
    method = {"base": "schedule-free", "schedule": {"max_rate": 1e-2, "warmup_steps": 1}}
    made = plan.make(toy_study(methods=[method], periods={"initial": "202301", "last": "202302"}), str(toy_root))
    (found,) = made.chains
    work = work_of(made, found)
    seen: list[tuple[dict[str, Tensor], dict[str, Tensor]]] = []

    def whole_state(module: nn.Module) -> dict[str, Any]:
        return {name: value.clone() for name, value in module.state_dict().items()}

    real = vars(trainer)["publish"]

    def publish(running: Any, *rest: Any) -> Any:
        before = whole_state(running.module)
        record = real(running, *rest)
        seen.append((before, whole_state(running.module)))
        return record

    monkeypatch.setattr(trainer, "publish", publish)
    trainer.run_chain(work, Workers())
    kept = [folders.load(toy_root / published(Store(toy_root), i)).state_dict() for i in work.ids]
    for (_, after), weights in zip(seen, kept):
        assert all(torch.equal(after[name], value) for name, value in weights.items())
    changed = [any(not torch.equal(before[name], after[name]) for name in after) for before, after in seen]
    assert changed == [False, True], "the first round is AdamW's, which takes no average"


# Adafactor


def adafactor_by_its_equations(setting: Adafactor, start: Tensor) -> Tensor:
    """Shazeer and Stern, 2018, Algorithms 4 and 5, in float64, under an external rate."""
    weight = start.double()
    row, column, whole = (torch.zeros((), dtype=torch.float64) for _ in range(3))
    for t, rate in enumerate(RATES, 1):
        forgets = 1 - t**setting.decay_rate
        g = gradient(weight, t)
        squares = g * g + setting.eps
        if weight.ndim > 1:
            row = forgets * row + (1 - forgets) * squares.mean(dim=-1)
            column = forgets * column + (1 - forgets) * squares.mean(dim=-2)
            second = row[..., None] * column[..., None, :] / row.mean(dim=-1)[..., None, None]
        else:
            second = whole = forgets * whole + (1 - forgets) * squares
        update = g / second.sqrt()
        update = update / max(1.0, float(update.square().mean().sqrt()) / setting.clip_threshold)
        weight = weight - rate * setting.weight_decay * weight - rate * update
    return weight.float()


OTHERS = Adafactor(clip_threshold=0.1, decay_rate=-0.5, weight_decay=0.1)


@pytest.mark.parametrize("setting", [Adafactor(), OTHERS], ids=str)
@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)], ids=str)
def test_adafactor_is_that_of_the_equations(setting: Adafactor, shape: tuple[int, ...]) -> None:
    start = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    weight = nn.Parameter(start.clone())
    optimizer = setting.start(context(nn.ParameterList([weight])))
    for t, rate in enumerate(RATES, 1):
        optimizer.param_groups[0]["lr"] = rate
        weight.grad = gradient(weight.detach(), t)
        optimizer.step()
    torch.testing.assert_close(weight.detach(), adafactor_by_its_equations(setting, start), rtol=1e-4, atol=1e-6)
    assert list(optimizer.state) == [weight] and optimizer.param_groups[0]["params"] == [weight]


def test_the_state_of_adafactor_is_a_mean_per_row_and_per_column() -> None:
    matrix, vector = nn.Parameter(torch.ones(30, 40)), nn.Parameter(torch.ones(50))
    optimizer = Adafactor().start(context(nn.ParameterList([matrix, vector])))
    for weight in (matrix, vector):
        weight.grad = torch.ones_like(weight)
    optimizer.step()
    sizes = [sum(v.numel() for v in optimizer.state[w].values() if isinstance(v, Tensor)) for w in (matrix, vector)]
    assert sizes == [30 + 40 + 1, 50 + 1], "the last is the norm of the weight"


def tensors(value: Any) -> dict[int, int]:
    """The numbers in each tensor of 64 or more inside a value, by its place in memory."""
    if isinstance(value, Tensor):
        return {value.data_ptr(): value.numel()} if value.numel() >= 64 else {}
    inside = [*value.values()] if isinstance(value, dict) else value if isinstance(value, list | tuple) else []
    return {place: count for one in inside for place, count in tensors(one).items()}


@pytest.mark.parametrize("kind", [AdamW, ScheduleFree, Adafactor, Muon, MER, RecAdam, EWC])
def test_plans_count_the_values_that_are_held_for_each_weight(kind: type[Optimizer] | type[EWC]) -> None:
    """In what checkpoints save, and beside it."""
    setting, module = kind(), nn.Linear(8, 8, bias=False)
    state = setting.start(context(module))
    if isinstance(state, torch.optim.Optimizer):
        state.param_groups[0]["lr"] = 1e-3
        module.weight.grad = torch.ones(8, 8)
        state.step()
    saved, held = tensors(state.state_dict()), tensors(vars(state))
    beside = {place: held[place] for place in held.keys() - saved.keys() - {module.weight.data_ptr()}}
    copies = setting.moments if isinstance(setting, Optimizer) else setting.saved_copies
    assert (sum(saved.values()), sum(beside.values())) == (copies * 64, setting.unsaved_copies * 64)
