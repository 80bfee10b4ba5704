"""EWC and LwF against direct computation, with values worked out by hand; on one worker and on unequal ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ticlm.core.errors import InputError
from ticlm.core.mixture import Mixture, Source
from ticlm.methods.ewc import EWC, EWCState, fisher
from ticlm.methods.lwf import LwF, LwFState, divergence
from ticlm.methods.seams import Batch, Context, RoundPosition
from ticlm.platform.models import build, sharding
from ticlm.platform.models.settings import Precision
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.round import Round, RoundRecipe, Segment
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import rounds
from ticlm.platform.train import state as round
from ticlm.platform.train import step
from ticlm.platform.train.loader import LoaderSpec, RankReader

MakeStudy = Callable[..., Study]
Forks = Callable[..., list[tuple[int, Any]]]
STUDENT, TEACHER = torch.tensor([[[2.0, 0.0, -1.0]]]), torch.tensor([[[1.0, 1.0, -1.0]]])
ONE = torch.ones(1, 1)


# --- LwF -------------------------------------------------------------------------------------------------------------


class Says(nn.Module):
    """A teacher that says the same logits to everything."""

    def __init__(self, logits: Tensor) -> None:
        super().__init__()
        self.logits = logits

    def forward(self, **arguments: Tensor) -> SimpleNamespace:
        return SimpleNamespace(logits=self.logits.clone())


def lwf_loss(setting: LwF, student: Tensor, teacher: Tensor, weights: Tensor = ONE) -> Tensor:
    return LwFState(setting, Says(teacher)).loss(Batch({}, torch.zeros(1, 1), weights), student)


def test_the_divergence_is_that_of_the_teacher_from_the_student() -> None:
    assert float(divergence(STUDENT, TEACHER.clone(), ONE, 2.0)) == pytest.approx(0.10237398, abs=1e-7)


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        (LwF(weight=1.0), 0.40949592),
        (LwF(weight=0.3), 0.3 * 0.40949592),
        (LwF(weight=1.0, temperature=1.0), 0.41122234),
        (LwF(weight=1.0, reduction="elements"), 0.03412466),
    ],
    ids=str,
)
def test_the_value_of_lwf(setting: LwF, value: float) -> None:
    """The reversed divergence would give 0.38511972 in the first row."""
    assert float(lwf_loss(setting, STUDENT, TEACHER)) == pytest.approx(value, rel=1e-6)


def test_the_gradient_of_lwf() -> None:
    """T · (student − teacher), as probabilities at the temperature."""
    student = STUDENT.clone().requires_grad_()
    lwf_loss(LwF(weight=1.0), student, TEACHER).backward()  # type: ignore[no-untyped-call]
    assert student.grad is not None
    assert student.grad[0, 0].tolist() == pytest.approx([0.41242584, -0.38218980, -0.03023604], abs=1e-7)


@pytest.mark.parametrize("temperature", [1.0, 2.0, 5.0])
def test_lwf_is_what_torch_makes_of_it_on_random_logits_and_weights(temperature: float) -> None:
    torch.manual_seed(0)
    teacher, weights = torch.randn(3, 5, 7), torch.rand(3, 5)
    ours, theirs = (torch.randn(3, 5, 7, generator=torch.manual_seed(1)).requires_grad_() for _ in range(2))
    setting = LwF(weight=0.7, temperature=temperature)
    found = lwf_loss(setting, ours, teacher, weights)
    p, q = (torch.log_softmax(logits / temperature, -1) for logits in (teacher, theirs))
    kl = nn.functional.kl_div(q, p, reduction="none", log_target=True).sum(-1)
    direct = 0.7 * temperature**2 * (kl * weights).sum()
    torch.testing.assert_close(found, direct, rtol=1e-5, atol=1e-6)
    (found * 2).backward()  # type: ignore[no-untyped-call]
    (direct * 2).backward()  # type: ignore[no-untyped-call]
    torch.testing.assert_close(ours.grad, theirs.grad, rtol=1e-4, atol=1e-6)


def test_the_released_mean_is_effectively_off() -> None:
    """λ = 0.3 over 50,432 elements, in units of the divergence per token times T²: 1.4872e-6."""
    vocabulary = 50_432
    student = torch.randn(1, 1, vocabulary, generator=torch.manual_seed(0))
    teacher = torch.randn(1, 1, vocabulary, generator=torch.manual_seed(1))
    released, per_token = (
        float(lwf_loss(setting, student, teacher)) for setting in (LwF(reduction="elements"), LwF(weight=1.0))
    )
    assert released / per_token == pytest.approx(1.4872e-6, rel=1e-4)


# --- EWC -------------------------------------------------------------------------------------------------------------


class Weights(nn.Module):
    def __init__(self, *values: float) -> None:
        super().__init__()
        self.w = nn.Parameter(torch.tensor(values))


def context(module: nn.Module, gradients: list[tuple[float, ...]], resuming: bool = False) -> Context:
    """A context whose batches have these gradients."""

    def backward(rows: Mapping[str, Tensor], z_loss: bool) -> None:
        for parameter in module.parameters():
            parameter.grad = rows["gradient"].clone()

    return Context(
        module=module,
        teacher=lambda _: module,
        batches=lambda n: ({"gradient": torch.tensor(g)} for g in gradients[:n]),
        backward=backward,
        position=RoundPosition(index=0, steps=1, steps_before=0),
        rank=0,
        world=1,
        resuming=resuming,
    )


def test_the_fisher_information_is_the_mean_of_squares() -> None:
    """The square of the mean would be (0.01, 0)."""
    module = Weights(0.0, 0.0)
    found = fisher(context(module, [(0.2, -0.6), (-0.4, 0.6)]), 2, True)
    assert found["w"].tolist() == pytest.approx([0.10, 0.36])
    assert all(p.grad is None for p in module.parameters()), "what it leaves behind would be trained on"
    again = fisher(context(module, [(0.2, -0.6)], resuming=True), 1, True)
    assert again["w"].tolist() == [0.0, 0.0], "a resumed round loads it and need not compute it"


def test_the_pull_is_the_gradient_of_the_penalty() -> None:
    """λ/2 ΣF(θ−θ*)² with θ = (1, 2), θ* = (.5, 2.5), λ = 10: 0.575, pull (0.5, −1.8)."""
    theta, anchor = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([0.5, 2.5])
    information = torch.tensor([0.10, 0.36])
    penalty = 10 / 2 * (information * (theta - anchor) ** 2).sum()
    assert penalty.item() == pytest.approx(0.575)
    (direct,) = torch.autograd.grad(penalty, theta)
    state = EWCState(10.0, {"w": anchor}, {"w": information})
    parameter = nn.Parameter(theta.detach().clone())
    parameter.grad = torch.tensor([0.3, 0.4])
    state.pull("w", parameter)
    assert (parameter.grad - torch.tensor([0.3, 0.4])).tolist() == pytest.approx([0.5, -1.8], abs=1e-6)
    torch.testing.assert_close(parameter.grad, torch.tensor([0.3, 0.4]) + direct)


def ewc_round(toy_study: MakeStudy, root: Path, batch_rows: int, penalty: EWC) -> tuple[Round, LoaderSpec]:
    """The second round of an EWC chain, and where its rows come from."""
    study = toy_study(
        batch_rows=batch_rows,
        continual_tokens={"per_period": batch_rows * 16 * 3},
        methods=[
            {
                "base": "ewc",
                "schedule": {"warmup_steps": 1},
                "penalties": [penalty.model_dump()],
            }
        ],
    )
    spec = list(rounds(study).rounds.values())[1]
    return spec, LoaderSpec((spec,), {"toy@1": f"{root}/corpora/toy@1"})


def small_module(spec: Round) -> nn.Module:
    made = build.config(spec.recipe.model, 64, 63)
    return build.scratch(made, spec.recipe.objective, 3)


def started(spec: Round, feed: LoaderSpec, workers: Workers) -> EWCState:
    module = sharding.place(small_module(spec), Precision(), workers)
    running = round.start(spec, module, workers, feed, resuming=False)
    (state,) = running.penalties
    assert isinstance(state, EWCState)
    return state


def direct_fisher(spec: Round, feed: LoaderSpec, source: Source, batches: int, z_loss: float) -> dict[str, Tensor]:
    """Batch by batch with autograd alone: squares of the gradient of the mean over all tokens of the batch."""
    alone = spec.model_copy(
        update={
            "segments": (Segment(mixture=Mixture.of({source: 1}), steps=batches),),
            "cursors": (),
            "position": RoundPosition(index=0, steps=batches, steps_before=0),
        }
    )
    module = small_module(spec)
    total = {name: torch.zeros_like(p) for name, p in module.named_parameters()}
    for batch in RankReader(LoaderSpec((alone,), feed.corpora)).read(0):
        tokens = torch.from_numpy(batch.columns["tokens"].astype(np.int64))
        logits = module(input_ids=tokens[:, :-1]).logits
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss = loss + z_loss * torch.logsumexp(logits, -1).square().mean()
        module.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        for name, parameter in module.named_parameters():
            assert parameter.grad is not None
            total[name] += parameter.grad.square() / batches
    return total


@pytest.mark.parametrize(("data", "period"), [("previous", "202301"), ("new", "202302")])
@pytest.mark.parametrize("z_loss", [True, False])
def test_the_fisher_information_of_a_round_is_that_of_its_batches(
    toy_root: Path, toy_study: MakeStudy, data: Any, period: str, z_loss: bool
) -> None:
    spec, feed = ewc_round(toy_study, toy_root, 4, EWC(batches=3, data=data, z_loss=z_loss))
    spec = spec.model_copy(
        update={"recipe": spec.recipe.model_copy(update={"loss": spec.recipe.loss.model_copy(update={"z_loss": 0.1})})}
    )
    (source,) = spec.reads
    assert source == Source(corpus="toy@1", period=period)
    state = started(spec, feed, Workers())
    expected = direct_fisher(spec, feed, source, 3, 0.1 if z_loss else 0.0)
    assert state.fisher.keys() == expected.keys()
    for name, value in expected.items():
        torch.testing.assert_close(state.fisher[name], value, rtol=1e-3, atol=1e-9)
    other = direct_fisher(spec, feed, source, 3, 0.0 if z_loss else 0.1)
    assert any(not torch.allclose(state.fisher[name], value, rtol=1e-2, atol=1e-9) for name, value in other.items())
    begin = dict(small_module(spec).named_parameters())
    assert all(torch.equal(state.anchor[name], value) for name, value in begin.items()), "θ* are the starting weights"


def rank_fisher(spec: Round, feed: LoaderSpec, rank: int, world: int, meeting: str) -> dict[str, Any]:
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    mine = LoaderSpec(feed.rounds, feed.corpora, rank, world, micro_rows=1)
    state = started(spec, mine, Workers(rank, world))
    whole = {name: value.full_tensor().numpy() for name, value in state.fisher.items()}  # type: ignore[attr-defined]
    dist.destroy_process_group()
    return whole


@pytest.mark.slow
def test_the_fisher_information_is_exact_on_unequal_workers(
    toy_root: Path, toy_study: MakeStudy, forks: Forks, tmp_path: Path
) -> None:
    """Five rows on three workers: two have two rows each and one has one, a row at a time. The mean of local squares,
    or of means, would be another number (0.0889 and 0.0711 for 0.04 in the smallest example). One worker that takes a
    row at a time gets the same bits."""
    spec, feed = ewc_round(toy_study, toy_root, 5, EWC(batches=3))
    (source,) = spec.reads
    assert source is not None
    expected = direct_fisher(spec, feed, source, 3, spec.recipe.loss.z_loss)
    alone = started(spec, replace(feed, micro_rows=1), Workers()).fisher
    jobs = [partial(rank_fisher, spec, feed, rank, 3, f"{tmp_path}/meeting") for rank in range(3)]
    ended = forks(*jobs, log=tmp_path / "log")
    assert [code for code, _ in ended] == [0, 0, 0], (tmp_path / "log").read_text()[-3000:]
    for _, found in ended:
        for name, value in expected.items():
            far = np.linalg.norm(found[name] - value.numpy()) / np.linalg.norm(value.numpy())
            assert far < 1e-4, (name, far)
            np.testing.assert_array_equal(found[name], alone[name].numpy())


def test_a_step_under_ewc_follows_the_direct_gradient(toy_root: Path, toy_study: MakeStudy) -> None:
    """Gradient of the loss, plus λ F (θ − θ*), and only then clipped."""
    spec, feed = ewc_round(toy_study, toy_root, 4, EWC(weight=5e4, batches=3))
    module = small_module(spec)
    running = round.start(spec, module, Workers(), feed, resuming=False)
    (state,) = running.penalties
    assert isinstance(state, EWCState)
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(torch.full_like(parameter, 0.01))
    (rows, *_) = [b.columns for b in RankReader(feed).read(0)]
    expected = _penalised_gradient(spec.recipe, module, rows, state, 5e4)
    before = {name: p.detach().clone() for name, p in module.named_parameters()}
    descent = torch.optim.SGD(module.parameters(), lr=1.0)
    step.train_step(module, descent, [state], spec.recipe, rows, Workers(), None)
    norm = float(torch.cat([g.flatten() for g in expected.values()]).norm())
    assert norm > 1, "nothing was clipped, so its order is not seen"
    for name, parameter in module.named_parameters():
        torch.testing.assert_close(before[name] - parameter, expected[name] / norm, rtol=1e-3, atol=1e-6)


def _penalised_gradient(
    recipe: RoundRecipe, module: nn.Module, rows: Mapping[str, Any], state: EWCState, weight: float
) -> dict[str, Tensor]:
    tokens = torch.from_numpy(rows["tokens"].astype(np.int64))
    logits = module(input_ids=tokens[:, :-1]).logits
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
    loss = loss + recipe.loss.z_loss * torch.logsumexp(logits, -1).square().mean()
    for name, parameter in module.named_parameters():
        loss = loss + weight / 2 * (state.fisher[name] * (parameter - state.anchor[name]) ** 2).sum()
    names, parameters = zip(*module.named_parameters())
    return dict(zip(names, torch.autograd.grad(loss, parameters)))


def test_the_fisher_information_is_that_of_what_a_buffer_keeps(toy_root: Path, toy_study: MakeStudy) -> None:
    """Of 96 rows of the first period the first 24 are trained on; ten others are kept, and nothing else is read."""
    entry = {"base": "ewc", "schedule": {"warmup_steps": 1}, "penalties": [{"kind": "ewc", "batches": 4}]}
    study = toy_study(methods=[{**entry, "replay": {"kind": "equal", "buffer_tokens": 10 * 16}}])
    spec = list(rounds(study).rounds.values())[1]
    feed = LoaderSpec((spec,), {"toy@1": f"{toy_root}/corpora/toy@1"})
    (source,) = spec.reads
    read = [row.tobytes() for batch in round._batches(spec, feed, Workers(), source, 4) for row in _rows(batch)]
    replayed = [row.tobytes() for batch in RankReader(feed).read(0) for row in _rows(batch.columns)]
    assert len(read) == 16 and len(set(read)) == 10
    assert set(replayed) & set(read), "the round replays the rows that were kept"
    whole = spec.model_copy(update={"cursors": ()})
    first = [row.tobytes() for batch in round._batches(whole, feed, Workers(), source, 6) for row in _rows(batch)]
    assert not set(first) & set(read), "rows that were thrown away were read"


def _rows(batch: Mapping[str, Any]) -> Any:
    return np.asarray(batch["tokens"]).astype(np.int64)


def test_a_period_that_expired_is_not_read_for_a_penalty_either(toy_study: MakeStudy) -> None:
    entry = {"base": "ewc", "schedule": {"warmup_steps": 1}, "replay": {"kind": "equal", "expired": ["202302"]}}
    with pytest.raises(InputError, match=r"a penalty of the round at 202303 reads 202302, which replay.expired names"):
        rounds(toy_study(methods=[entry]))
    rounds(toy_study(methods=[{**entry, "base": "ewc-new-data"}, {**entry, "base": "lwf"}]))


def test_the_first_round_has_no_penalty(toy_study: MakeStudy) -> None:
    study = toy_study(methods=["cyclic-cosine", "ewc", "lwf"], continual_tokens={"per_period": 64 * 64})
    tree = rounds(study)
    firsts = {next(iter(run.rounds.values())) for run in tree.runs}
    assert len(firsts) == 1 and not tree.rounds[firsts.pop()].recipe.penalties


# --- the teacher -----------------------------------------------------------------------------------------------------


def test_a_teacher_is_a_frozen_copy_of_the_starting_weights(toy_root: Path, toy_study: MakeStudy) -> None:
    spec, _ = ewc_round(toy_study, toy_root, 4, EWC())
    module = small_module(spec)
    copy = sharding.twin(module, spec.recipe.objective, Precision(), Workers())
    tokens = torch.arange(12)[None]
    expected = module(input_ids=tokens).logits.detach().clone()
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.zero_()
    torch.testing.assert_close(copy(input_ids=tokens).logits, expected)
