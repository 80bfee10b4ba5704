"""RecAdam against its equations, its annealings by hand, and where its explicit form is refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import torch
from optimizing import context
from torch import Tensor, nn

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.methods.optimizers import AdamW
from ticlm.methods.recadam import RecAdam
from ticlm.methods.schedules import Constant, Linear, LinearDecay, WarmupCosine
from ticlm.methods.seams import Optimizer, RoundPosition
from ticlm.platform.study import tree
from ticlm.platform.study.settings import Study

SHAPES = [(7, 3), (33, 65), (64, 17), (64,), (1, 5), (48, 16)]
RATES = [0.01, 0.02, 0.03, 0.03, 0.03, 0.02, 0.03, 0.03]
LAMBDA_1, LAMBDA_0 = RecAdam(anneal="constant", task_share=1), RecAdam(anneal="constant", task_share=0)


def place(steps: int) -> RoundPosition:
    return RoundPosition(index=1, steps=steps, steps_before=0)


def trained(
    setting: Optimizer, starts: Sequence[Tensor], gradient: Callable[[Tensor, int], Tensor], rates: Sequence[float]
) -> list[Tensor]:
    """The weights after a step at each rate."""
    module = nn.ParameterList([nn.Parameter(start.clone()) for start in starts])
    optimizer = setting.start(context(module))
    for step, rate in enumerate(rates):
        for group in optimizer.param_groups:
            group["lr"] = rate
        for weight in module:
            weight.grad = gradient(weight.detach(), step)
        optimizer.step()
    return [weight.detach() for weight in module]


def bowl(weights: Tensor, step: int) -> Tensor:
    """The gradient of a quadratic bowl that moves."""
    return weights - torch.sin(torch.arange(float(weights.numel())).reshape(weights.shape) + step)


def by_its_equations(setting: RecAdam, start: Tensor, rates: Sequence[float]) -> Tensor:
    """Chen et al., 2020, Algorithm 2, in float64: moments of the gradient of the loss alone, and then the pull."""
    (beta1, beta2), theta, at = setting.betas, start.double(), start.double()
    m, v = torch.zeros_like(theta), torch.zeros_like(theta)
    for t, rate in enumerate(rates, 1):
        share = 1 / (1 + math.exp(-setting.k * (t - setting.t0)))
        g = bowl(theta, t - 1)
        m, v = beta1 * m + (1 - beta1) * g, beta2 * v + (1 - beta2) * g * g
        theta = theta - rate * share * (m / (1 - beta1**t)) / ((v / (1 - beta2**t)).sqrt() + setting.eps)
        strength = rate * setting.gamma * (1 - share)
        explicit = setting.form == "explicit"
        theta = theta - strength * (theta - at) if explicit else at + (theta - at) / (1 + strength)
    return theta.float()


@pytest.mark.parametrize("gamma", [3.0, 5000.0])
def test_the_proximal_form_is_that_of_the_equations(gamma: float) -> None:
    setting, start = RecAdam(gamma=gamma, t0=4, k=0.7), torch.tensor([1.0, -2.0, 0.5, 3.0, 0.1])
    (found,) = trained(setting, [start], bowl, RATES)
    torch.testing.assert_close(found, by_its_equations(setting, start, RATES), rtol=1e-5, atol=1e-6)


def test_the_explicit_form_is_the_published_one() -> None:
    setting, start = RecAdam(gamma=40.0, t0=4, k=0.7, form="explicit"), torch.tensor([1.0, -2.0, 0.5, 3.0, 0.1])
    (found,) = trained(setting, [start], bowl, RATES)
    torch.testing.assert_close(found, by_its_equations(setting, start, RATES), rtol=1e-5, atol=1e-6)
    other = by_its_equations(setting.model_copy(update={"form": "proximal"}), start, RATES)
    assert not torch.allclose(found, other, rtol=1e-3)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_where_lambda_is_1_each_step_is_that_of_adamw(shape: tuple[int, ...], decay: float) -> None:
    start = torch.randn(shape, generator=torch.Generator().manual_seed(1))
    for steps in range(1, len(RATES) + 1):
        (found,) = trained(LAMBDA_1.model_copy(update={"weight_decay": decay}), [start], bowl, RATES[:steps])
        (theirs,) = trained(AdamW(betas=(0.9, 0.999), weight_decay=decay), [start], bowl, RATES[:steps])
        assert torch.equal(found, theirs)


def test_after_the_annealing_it_is_adamw_to_the_bit() -> None:
    """λ is 1 in float64 from k (t − t0) = 37 on; the moments have seen all gradients, as AdamW's have."""
    start = torch.zeros(8)
    late = RecAdam(t0=1, k=100.0)
    module, plain = (nn.ParameterList([nn.Parameter(start.clone())]) for _ in range(2))
    adamw = AdamW(weight_decay=0, betas=late.betas)
    optimizers = late.start(context(module)), adamw.start(context(plain))
    for step in range(5):
        for weights, optimizer in zip((module, plain), optimizers):
            optimizer.param_groups[0]["lr"] = 0.0 if step == 0 else 1e-2  # the first step, in which λ is 1/2
            weights[0].grad = torch.cos(torch.arange(8.0) + step)
            optimizer.step()
    assert torch.equal(module[0], plain[0]) and not torch.equal(plain[0], start)


@pytest.mark.parametrize("gamma", [0.0, 5000.0, 1e12])
def test_where_lambda_is_0_nothing_moves(gamma: float) -> None:
    start = torch.randn((33, 65), generator=torch.Generator().manual_seed(1))
    (found,) = trained(LAMBDA_0.model_copy(update={"gamma": gamma}), [start], bowl, RATES)
    assert torch.equal(found, start)


def test_a_huge_gamma_holds_the_weights_while_the_loss_counts_too() -> None:
    start = torch.randn((33, 65), generator=torch.Generator().manual_seed(1))
    (held,) = trained(RecAdam(anneal="constant", gamma=1e9), [start], bowl, RATES)
    (free,) = trained(RecAdam(anneal="constant", gamma=0), [start], bowl, RATES)
    assert (held - start).abs().max() < 1e-6 < 1e-2 < (free - start).abs().max()


def toy_course(setting: RecAdam, steps: int = 400) -> tuple[list[float], nn.Module]:
    """The losses of a regression that starts from its own solution and is then asked for another, at 1e-3."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 3))
    x = torch.randn(64, 6)
    y = module(x).detach() + torch.randn(64, 3)
    optimizer = setting.start(context(module))
    losses = []
    for _ in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = 1e-3
        loss = (module(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, module


@pytest.mark.filterwarnings("ignore")
def test_the_papers_rate_and_gamma_are_stable_in_the_proximal_form_alone() -> None:
    """At 1e-3 and 5000, the explicit form multiplies what is between the weights and their start by −4."""
    proximal, module = toy_course(RecAdam(t0=100, k=0.05))
    assert max(proximal) < 1.01 * proximal[0] and proximal[-1] < 0.9 * proximal[0]
    assert all(torch.isfinite(p).all() for p in module.parameters())
    explicit, _ = toy_course(RecAdam(t0=100, k=0.05, form="explicit"))
    assert not max(explicit) < 1e6


def test_the_pull_acts_on_every_weight_whatever_its_name() -> None:
    """CKL's code asks for "t5" in the name; weights are called shared, encoder and decoder, so none was pulled."""
    setting = RecAdam(anneal="constant", gamma=1e9)
    module = nn.ModuleDict(
        {name: nn.Linear(3, 3) for name in ("shared", "encoder", "decoder", "t5", "LayerNorm", "layer_norm")}
    )
    frozen = nn.Linear(3, 3).requires_grad_(False)
    module["frozen"] = frozen
    before = {name: p.detach().clone() for name, p in module.named_parameters()}
    optimizer = setting.start(context(module))
    with torch.no_grad():
        for p in module.parameters():
            p.add_(1.0)
    for group in optimizer.param_groups:
        group["lr"] = 1e-3
    for p in module.parameters():
        p.grad = torch.zeros_like(p) if p.requires_grad else None
    optimizer.step()
    for name, p in module.named_parameters():
        there = before[name] + (name.startswith("frozen."))
        torch.testing.assert_close(p.detach(), there, rtol=0, atol=1e-5)


# annealings


def test_the_annealings_by_hand() -> None:
    sigmoid, line, flat = RecAdam(), RecAdam(anneal="linear", t0=4), RecAdam(anneal="constant", task_share=0.3)
    assert [sigmoid.annealed(t) for t in (250, 252, 248)] == pytest.approx([0.5, 0.7310586, 0.2689414])
    assert sigmoid.annealed(1) == pytest.approx(8.51e-55, rel=1e-2) and sigmoid.annealed(1000) == 1
    assert [line.annealed(t) for t in (1, 2, 4, 5)] == [0.25, 0.5, 1, 1]
    assert [flat.annealed(t) for t in (1, 1000)] == [0.3, 0.3]
    assert RecAdam(t0=1000, k=1.0).annealed(1) == 0.0 + math.exp(-999), "no overflow"
    rates = [RecAdam(t0=100, k=0.05).annealed(t) for t in range(1, 400)]
    assert rates == sorted(rates)


def test_the_step_of_the_round_is_counted_from_1() -> None:
    seen: list[int] = []

    class Watched(RecAdam):
        def annealed(self, t: int) -> float:
            seen.append(t)
            return super().annealed(t)

    trained(Watched(), [torch.zeros(3)], bowl, RATES[:3])
    assert seen == [1, 2, 3]


# where it is refused


@pytest.mark.parametrize(
    ("setting", "schedule", "says"),
    [
        (RecAdam(), Constant(max_rate=1e-3, warmup_steps=0), r"= -4 in step 1, .* a gamma below 2000$"),
        (RecAdam(t0=5, k=100.0), Constant(max_rate=3e-3, warmup_steps=0), r"= -14 in step 1, .* a gamma below 666$"),
        (RecAdam(), Constant(max_rate=1e-3, warmup_steps=50), r"= -1 in step 20, .* a gamma below 2000$"),
        (RecAdam(anneal="linear", t0=100), LinearDecay(warmup_share=0.5), r"= -1.03 in step 30, .* below 4080$"),
        (RecAdam(anneal="constant"), WarmupCosine(max_rate=1e-3), r"= -1 in step 40, .* a gamma below 4000$"),
    ],
)  # fmt: skip
def test_an_explicit_pull_that_would_grow_is_refused(setting: RecAdam, schedule: Any, says: str) -> None:
    setting.check(schedule, place(100))
    explicit = setting.model_copy(update={"form": "explicit"})
    with pytest.raises(ValueError, match=says) as error:
        explicit.check(schedule, place(100))
    assert "\n" not in str(error.value) and "form: proximal" in str(error.value)
    largest = float(str(error.value).rsplit(" ", 1)[1]) * (1 - 1e-9)
    explicit.model_copy(update={"gamma": largest}).check(schedule, place(100))


def test_an_explicit_pull_that_shrinks_is_taken() -> None:
    RecAdam(form="explicit", gamma=100.0).check(Linear(max_rate=1e-3), place(1000))
    RecAdam(form="explicit", gamma=0.0).check(Linear(max_rate=1e-3), place(1000))
    RecAdam(form="explicit", anneal="constant", task_share=1).check(Linear(max_rate=1e-3), place(1000))


EXPLICIT = {"kind": "recadam", "form": "explicit"}
FLAT = {"kind": "constant", "max_rate": 1e-3, "warmup_steps": 0}
PREPARED = {"name": "perplexity", "prepare": {"steps": 3, "schedule": FLAT, "optimizer": EXPLICIT}}


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"methods": [{"base": "recadam", "schedule": FLAT, "optimizer": EXPLICIT}]}, "the round at period 202302"),
        (
            {"initial": {"budget": {"steps": 6}, "schedule": FLAT, "optimizer": EXPLICIT}},
            "the round at period 202301",
        ),
        ({"evaluations": [PREPARED]}, "what prepares for a task at period 202301"),
    ],
)
def test_the_error_names_the_round(toy_study: Callable[..., Study], changes: dict[str, Any], named: str) -> None:
    plain = {"base": "cyclic-cosine", "schedule": {"max_rate": 1e-3, "warmup_steps": 1}}
    study = toy_study(**{"methods": [plain]} | changes)
    with pytest.raises(InputError, match=rf"^\S+: optimizer of {named}: form: explicit multiplies .* = -4 in step 1"):
        tree.rounds(study)


# how long its pull lasts


def test_a_share_of_the_steps_is_a_step_of_each_round() -> None:
    shared = RecAdam(t0_share=0.01)
    assert [shared.in_round(steps).t0 for steps in (25_000, 5_000, 23)] == [250, 50, 1]
    assert shared.in_round(25_000) == RecAdam() and RecAdam().in_round(7) == RecAdam()
    for wrong in (0, 1.1):
        with pytest.raises(ValueError, match="t0_share"):
            RecAdam(t0_share=wrong)


def test_the_steps_of_its_round_are_what_an_optimizer_takes_a_share_of() -> None:
    """`context` is of a round of one step, so that λ is 1/2 in its first step and nearly 1 in the third."""
    setting, start = RecAdam(gamma=3.0, t0_share=1.0, k=4.0), torch.tensor([1.0, -2.0])
    (found,) = trained(setting, [start], bowl, RATES[:3])
    (same,) = trained(RecAdam(gamma=3.0, t0=1, k=4.0), [start], bowl, RATES[:3])
    (other,) = trained(RecAdam(gamma=3.0, k=4.0), [start], bowl, RATES[:3])
    assert torch.equal(found, same) and not torch.equal(found, other)


def test_a_share_that_is_not_given_changes_no_id_and_takes_the_place_of_the_step() -> None:
    assert RecAdam().without_meaning() == {"t0_share"}
    assert fingerprint(RecAdam(t0=7, t0_share=0.1)) == fingerprint(RecAdam(t0_share=0.1)) != fingerprint(RecAdam())


@pytest.mark.parametrize(
    ("setting", "rate", "held"),
    [
        (RecAdam(gamma=0, t0=10), 1e-3, 9),  # no pull: where λ is below 1/2
        (RecAdam(gamma=5000, t0=10), 1e-3, 13),  # λ / (1 + 5 (1 − λ)) < 1/2 where λ < 6/7, and λ(13) is .82
        (RecAdam(gamma=5000, t0=10, anneal="linear"), 1e-3, 8),  # λ(8) is .8, λ(9) .9
        (
            RecAdam(gamma=40, t0=10, k=0.7, form="explicit"),
            2e-2,
            11,
        ),  # λ (1 − .8 (1 − λ)) is .49 in step 11, and .68 in 12
        (RecAdam(anneal="constant"), 1e-3, 60),
        (RecAdam(anneal="constant", task_share=1), 1e-3, 0),
        (RecAdam(t0_share=0.5), 1e-3, 33),
        (RecAdam(t0=1000), 1e-3, 60),
    ],
)
def test_steps_in_which_the_pull_outweighs_training_by_hand(setting: RecAdam, rate: float, held: int) -> None:
    assert setting.hold(Constant(max_rate=rate, warmup_steps=0), place(60))[0] == held


def test_the_hold_follows_the_schedule() -> None:
    """CKL's rate of 1e-3 is a tenth of it at step 250 of 25,000; at the full rate the pull would hold for longer."""
    news = LinearDecay(max_rate=1e-3, warmup_share=0.1)
    assert RecAdam().hold(news, place(25_000))[0] == 250
    assert RecAdam().hold(Constant(max_rate=1e-3, warmup_steps=0), place(25_000))[0] == 253
