"""Odd values for `ticlm generate` and `eval`: one line, before anything is loaded."""

from __future__ import annotations

import pytest

from ticlm.platform.cli import evaluation
from ticlm.platform.core.errors import InputError


@pytest.mark.parametrize("temperature", [-1.0, float("nan"), float("inf")])
def test_a_temperature_that_is_no_temperature_is_refused(temperature: float) -> None:
    with pytest.raises(InputError, match="--temperature must be at least 0 and finite"):
        evaluation.generate("demo/oracle", "hello", temperature=temperature)


def test_a_seed_that_torch_cannot_take_is_refused() -> None:
    with pytest.raises(InputError, match="--seed must fit 64 bits"):
        evaluation.generate("demo/oracle", "hello", seed=10**20)


def test_again_has_no_tasks_of_its_own() -> None:
    with pytest.raises(InputError, match="leave out --tasks"):
        evaluation.evaluate("demo", tasks="core", again="oracle@202301")
