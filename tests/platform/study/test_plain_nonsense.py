"""Numbers of which no study can be made are refused when it is read or planned, in one line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study

FAST = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"seeds": []}, "needs at least 1, has 0"),
        ({"seeds": [3, 1, 3]}, "seeds.*: 3 is given twice; the same run would count as two"),
        ({"seeds": [2**63]}, "seeds.0: must be less than"),
        ({"optimizer": {"kind": "adamw", "betas": [0.9, 1.0]}}, "betas.1: must be less than 1, got 1.0"),
        ({"optimizer": {"kind": "recadam", "betas": [-0.1, 0.9]}}, "betas.0: must be greater than or equal to 0"),
        ({"optimizer": {"kind": "muon", "betas": [2, 0.9]}}, "betas.0: must be less than 1, got 2"),
        ({"optimizer": {"kind": "schedule-free", "betas": [1, 0.9]}}, "betas.0: must be less than 1, got 1"),
        ({"adapter": {"kind": "k-adapter", "layers": [0] * 129}}, "needs at most 128, has 129"),
        ({"adapter": {"kind": "modular", "layers": 1001}}, "layers: must be less than or equal to 1000"),
        ({"adapter": {"kind": "lora", "rank": 0}}, "rank: must be greater than 0"),
        ({"adapter": {"kind": "lora", "alpha": 0}}, "alpha: must be greater than 0"),
    ],
)
def test_nonsense_in_a_method_is_refused(toy_study: Callable[..., Study], changes: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said) as caught:
        toy_study(methods=[FAST | changes])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["causal", "seq2seq"])
def test_padding_is_a_token(toy_study: Callable[..., Study], kind: str) -> None:
    with pytest.raises(InputError, match=r"objective.*pad: must be greater than or equal to 0, got -1"):
        toy_study(objective={"kind": kind, "pad": -1})


def test_a_rank_above_the_width_is_refused_by_the_plan(toy_study: Callable[..., Study], toy_root: Path) -> None:
    study = toy_study(methods=[FAST | {"name": "mine", "adapter": {"kind": "lora", "rank": 17}}])
    with pytest.raises(InputError) as caught:
        plan.make(study, str(toy_root))
    assert str(caught.value) == (
        "methods.mine: adapter.rank must be at most the width of the model's projections, 16, got 17"
    )


@pytest.mark.parametrize("model", ["changes", "whole"])
def test_ten_million_layers_are_refused_before_one_is_built(toy_study: Callable[..., Study], model: str) -> None:
    of = {
        "changes": {"name": "tiny", "changes": {"num_hidden_layers": 10**7}},
        "whole": {"kind": "config", "model_type": "gpt2", "config": {"n_layer": 10**7}},
    }
    with pytest.raises(
        InputError, match=r"model\..*(num_hidden_layers|n_layer) must be from 0 to 1,000, got 10,000,000"
    ):
        toy_study(model=of[model])
