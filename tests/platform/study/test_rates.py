"""Rates that are no rates are refused when a study is planned: at any step of any round, of any class."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, Literal

import pytest
from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.methods.schedules import Constant
from ticlm.methods.seams import RoundPosition, Schedule
from ticlm.platform.study import rates, tree
from ticlm.platform.study.settings import Study

MakeStudy = Callable[..., Study]


class Odd(Schedule):
    """A sound rate, but for one step of one round."""

    kind: Literal["odd"] = "odd"
    wrong: Any = float("nan")
    step: int = 0
    index: int = 0

    def rate(self, step: int, position: RoundPosition) -> Any:
        return self.wrong if (step, position.index) == (self.step, self.index) else 1e-3


class Halved(Constant):
    """A subclass of a packaged schedule."""

    kind: Literal["halved"] = "halved"  # type: ignore[assignment]
    warmup_steps: int = 0
    per_step: list[float] = Field(default_factory=list)

    def after_warmup(self, step: int, position: RoundPosition) -> float:
        return self.max_rate * (1 - step)


@pytest.fixture(autouse=True)
def module(monkeypatch: pytest.MonkeyPatch) -> None:
    mine = ModuleType("mine_rates")
    for kind in (Odd, Halved):
        monkeypatch.setattr(kind, "__module__", "mine_rates")
        setattr(mine, kind.__name__, kind)
    mine.__file__ = __file__
    monkeypatch.setitem(sys.modules, "mine_rates", mine)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (float("nan"), "nan"),
        (float("inf"), "inf"),
        (-1e-3, "-0.001"),
        ("1e-3", "'1e-3'"),
        (None, "None"),
    ],
)
def test_the_error_names_method_round_step_and_rate(toy_study: MakeStudy, wrong: Any, said: str) -> None:
    schedule = Odd(wrong=wrong, step=3, index=1).model_copy(update={"wrong": wrong})
    study = toy_study(methods=[{"base": "cyclic-cosine", "name": "mine", "schedule": schedule}])
    with pytest.raises(InputError) as caught:
        tree.rounds(study)
    assert str(caught.value) == (
        f"methods.mine: schedule of the round at period 202303: step 3 of 4 (from 0) has the rate {said}; it must be a "
        "finite number, at least 0"
    )


def test_what_derives_from_a_packaged_schedule_is_looked_at_too(toy_study: MakeStudy) -> None:
    study = toy_study(methods=[{"base": "cyclic-cosine", "name": "mine", "schedule": Halved()}])
    with pytest.raises(InputError, match=r"methods\.mine: schedule of the round at period 202302: step 2 of 4"):
        tree.rounds(study)


def test_rates_of_the_initial_round_and_of_copies_are_looked_at(toy_study: MakeStudy) -> None:
    initial = {"budget": {"steps": 6}, "schedule": Odd()}
    with pytest.raises(InputError, match=r"^initial: schedule of the round at period 202301: step 0 of 6"):
        tree.rounds(toy_study(initial=initial))
    copies = [{"kind": "perplexity", "name": "mine", "prepare": {"steps": 2, "schedule": Odd(step=1)}}]
    with pytest.raises(InputError, match=r"^evaluations\.mine\.prepare: schedule of what prepares .* step 1 of 2"):
        tree.rounds(toy_study(evaluations=copies))


def test_a_rate_of_nothing_and_numbers_of_numpy_are_rates() -> None:
    import numpy as np

    position = RoundPosition(index=0, steps=4, steps_before=0)
    for sound in (0, 0.0, np.float32(1e-3), np.float64(0)):
        rates.check(Odd().model_copy(update={"wrong": sound}), position)
