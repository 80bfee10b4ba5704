"""Placed modules: how often weights are gathered, what is sent, and blocks that are computed once more."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.distributed.fsdp._fully_shard._fsdp_param_group import FSDPParamGroup

from ticlm.methods.objectives import Causal
from ticlm.methods.seams import local_shard
from ticlm.platform.models import build, sharding
from ticlm.platform.models.settings import ConfigModel, Precision
from ticlm.platform.models.sharding import Workers, local_group
from ticlm.platform.models.summing import OrderedSum, Turn
from ticlm.platform.study.round import RoundRecipe
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import rounds
from ticlm.platform.train.step import train_step

HALF = Precision(compute="bfloat16", reduce="bfloat16")
GPT2 = {"n_embd": 16, "n_layer": 3, "n_head": 2, "n_positions": 32, "resid_pdrop": 0.2, "attn_pdrop": 0.2}
UNITS = 3 + 1  # a block each, and the rest


def toy(**changes: Any) -> nn.Module:
    model = ConfigModel.model_validate({"model_type": "gpt2", "config": GPT2 | changes})
    return build.scratch(build.config(model, 64), Causal(), seed=3).train()


def recipe_of(toy_study: Callable[..., Study]) -> RoundRecipe:
    recipe = next(
        iter(rounds(toy_study(batch_rows=9, continual_tokens={"per_period": 9 * 16 * 4})).rounds.values())
    ).recipe
    return recipe.model_copy(update={"precision": HALF})


def trained(module: nn.Module, recipe: RoundRecipe) -> list[Tensor]:
    """Return the weights after two steps of three micro-batches, with dropout."""
    optimizer = torch.optim.AdamW(module.parameters(), 1e-2)
    draw = np.random.default_rng(0)
    for step in range(2):
        columns = {"tokens": draw.integers(0, 64, (9, 17)).astype(np.uint16)}
        train_step(module, optimizer, (), recipe, columns, Workers(), 3, dropout_key=(1, step))
    return [local_shard(one).clone() for one in module.parameters()]


@pytest.fixture
def gathers(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """The names of the units whose weights are gathered, or cast on one worker, in order."""
    found: list[str] = []
    real = FSDPParamGroup.wait_for_unshard

    def counted(self: FSDPParamGroup) -> None:
        if self._all_gather_result is not None:
            found.append(str(self._module_fqn))
        real(self)

    monkeypatch.setattr(FSDPParamGroup, "wait_for_unshard", counted)
    with local_group(HALF, "cpu"):
        yield found


def test_weights_that_are_kept_are_gathered_once_a_step_and_train_the_same_bits(
    toy_study: Callable[..., Study], gathers: list[str]
) -> None:
    recipe = recipe_of(toy_study)
    plain = trained(sharding.place(toy(), HALF, Workers()), recipe)
    assert len(gathers) == 2 * 3 * (2 * 3 + 1), "blocks twice a micro-batch, the rest once"
    gathers.clear()
    kept = trained(sharding.place(toy(), HALF, Workers(), keep_gathered=True), recipe)
    assert len(gathers) == 2 * UNITS and len(set(gathers)) == UNITS
    assert all(torch.equal(one, other) for one, other in zip(plain, kept, strict=True))


@pytest.mark.parametrize("precision", [Precision(), HALF], ids=["float32", "bfloat16"])
def test_blocks_that_are_computed_once_more_train_the_same_bits(
    toy_study: Callable[..., Study], gathers: list[str], precision: Precision
) -> None:
    """Also where the model is told to keep keys and values, to which a second pass would add its own."""
    recipe, calls = recipe_of(toy_study).model_copy(update={"precision": precision}), [0, 0]
    results: list[list[Tensor]] = []
    for again in (0, 1):
        module: Any = toy(use_cache=True)
        module.transformer.h[1].mlp.register_forward_pre_hook(lambda *_, again=again: bump(calls, again))
        if again:
            sharding.recompute(module)
        results.append(trained(sharding.place(module, precision, Workers(), keep_gathered=True), recipe))
    assert calls == [6, 12]
    assert all(torch.equal(one, other) for one, other in zip(*results, strict=True))


def bump(calls: list[int], place: int) -> None:
    calls[place] += 1


@pytest.mark.parametrize("computed", [torch.float32, torch.bfloat16])
def test_gradients_are_sent_in_two_bytes_and_added_up_in_four(
    monkeypatch: pytest.MonkeyPatch, computed: torch.dtype
) -> None:
    """Gradients that are computed in bfloat16 are sent as they are: no copy in float32 is made of them."""
    sent: list[Tensor] = []

    def all_to_all(received: Tensor, given: Tensor, group: Any) -> None:
        sent.append(given)
        received.copy_(given)

    monkeypatch.setattr(dist, "all_to_all_single", all_to_all)
    turn = Turn(count=2)
    adds = OrderedSum(turn, torch.bfloat16, computed)
    outputs = []
    for now, part in enumerate(([1.0, 2.0, 1 / 256, 4.0], [1.0, 1.0, 1.0, 1.0])):
        turn.first, turn.last = now == 0, now == 1
        given = adds.allocate((4,), dtype=torch.float32, device=torch.device("cpu"))
        outputs.append(adds.allocate((2,), dtype=torch.float32, device=torch.device("cpu")))
        given.copy_(torch.tensor(part))
        assert (given.dtype, outputs[-1].dtype) == (computed, torch.float32)
        adds(outputs[-1], given, None, None)
        assert (sent[-1] is given) == (computed == torch.bfloat16)
    assert [one.nbytes for one in sent] == [8, 8], "a turn sends every gradient once"
    assert outputs[-1].tolist() == [1 + 1 / 256 + 1 + 1, 2 + 4 + 1 + 1]


def test_a_copied_state_is_not_that_of_the_module() -> None:
    module = toy()
    given, copied = sharding.whole_state(module), sharding.whole_state(module, copied=True)
    name = "transformer.h.0.mlp.c_fc.weight"
    before = copied[name].clone()
    with torch.no_grad():
        module.get_parameter(name).add_(1)
    assert torch.equal(copied[name], before) and not torch.equal(given[name], before)
    module.get_parameter(name).data.sub_(1)
    assert copied.keys() == given.keys() and all(torch.equal(copied[key], given[key]) for key in given if key != name)
