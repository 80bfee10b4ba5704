"""Budgets of rounds in epochs and steps: what they come to, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.platform.study.plan import make
from ticlm.platform.study.round import Round
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import Tree, rounds

Studies = Callable[..., Study]
PLAIN = {"base": "cyclic-cosine", "schedule": {"warmup_steps": 1}}
SIZES = {"202301": 96, "202302": 40, "202303": 22, "202304": 8}


def specs(tree: Tree, run: int = 0) -> dict[str, Round]:
    return {label: tree.rounds[key] for label, key in tree.runs[run].rounds.items()}


def test_a_budget_in_epochs_passes_over_the_rows_of_each_period(toy_study: Studies) -> None:
    found = specs(rounds(toy_study(methods=[PLAIN], continual_tokens={"epochs": 1.5}), SIZES))
    assert [found[label].steps for label in SIZES] == [6, 15, 8, 3]
    assert [found[label].budget for label in SIZES][1:] == [60 * 16, 33 * 16, 12 * 16]
    assert [found[label].unspent for label in SIZES][1:] == [0, 16, 0]


def test_a_budget_in_steps_has_them_in_every_round(toy_study: Studies) -> None:
    found = specs(rounds(toy_study(methods=[PLAIN], continual_tokens={"steps": 5})))
    assert [(spec.steps, spec.unspent) for spec in found.values()] == [(6, 0), (5, 0), (5, 0), (5, 0)]


def test_a_schedule_over_all_rounds_counts_the_steps_that_there_were(toy_study: Studies) -> None:
    found = specs(rounds(toy_study(methods=[PLAIN], continual_tokens={"epochs": 2}), SIZES))
    assert [spec.position.steps_before for spec in found.values()] == [0, 0, 20, 31]


@pytest.mark.parametrize("start", ["202301", "202302"])
def test_periods_before_an_imported_start_count_as_a_round_of_their_run(toy_study: Studies, start: str) -> None:
    model = {"kind": "folder", "path": "nowhere", "as_of": start}
    changes = {"methods": [PLAIN], "model": model, "initial": {"budget": 0}}
    found = specs(rounds(toy_study(**changes, continual_tokens={"epochs": 2}), SIZES))
    expected = {"202301": [0, 0, 20, 31], "202302": [0, 11, 4 + 11]}[start]
    assert [spec.position.steps_before for spec in found.values()] == expected


def test_references_are_sized_by_epochs_too(toy_study: Studies) -> None:
    methods = [PLAIN, {"base": "joint", "schedule": {"warmup_steps": 1}}, {"base": "oracle", "cutoffs": ["202303"]}]
    tree = rounds(toy_study(methods=methods, continual_tokens={"epochs": 2}), SIZES)
    shares = {share.source.period: share.tokens for share in specs(tree, 1)["202304"].segments[0].mixture.shares}
    assert shares == {"202302": 80 * 16, "202303": 44 * 16, "202304": 16 * 16}
    assert specs(tree, 2)["202303"].budget == 6 * 64 + (80 + 44) * 16


def test_an_oracle_series_may_be_sized_in_epochs_or_steps_of_its_own(toy_study: Studies) -> None:
    def oracle(budget: dict[str, int]) -> int:
        methods = [{"base": "oracle", "cutoffs": ["202303"], "continual_tokens": budget}]
        return specs(rounds(toy_study(methods=methods), SIZES))["202303"].budget

    assert oracle({"epochs": 1}) == 6 * 64 + (40 + 22) * 16
    assert oracle({"steps": 3}) == 6 * 64 + 2 * 3 * 64


def test_one_more_month_in_epochs_changes_no_earlier_round(toy_study: Studies) -> None:
    def months(last: str) -> Tree:
        periods = {"initial": "202301", "step": "month", "last": last}
        return rounds(toy_study(methods=[PLAIN], periods=periods, continual_tokens={"epochs": 1}), SIZES)

    before, after = months("202303"), months("202304")
    assert list(after.rounds)[: len(before.rounds)] == list(before.rounds)


@pytest.mark.parametrize(
    ("budget", "sizes", "said"),
    [
        ({"epochs": 1}, None, "continual_tokens is in epochs of 202302, which no corpus has yet: build it first"),
        ({"epochs": 1}, {"202301": 9, "202302": 8}, "continual_tokens is in epochs of 202303, which no corpus has"),
        ({"epochs": 1}, SIZES | {"202303": 0}, "in epochs of 202303, a period without any row to train on: pool"),
        ({"epochs": 0.05}, SIZES, "the budget of period 202302 is 32 tokens, too small for one step"),
        ({"epochs": 0.001}, SIZES, "the budget of period 202302 is 0 tokens, too small for one step"),
        ({"epochs": 0}, SIZES, "continual_tokens.epochs: must be greater than 0, got 0"),
        ({"steps": 0}, SIZES, "continual_tokens.steps: must be greater than 0, got 0"),
    ],
)
def test_a_budget_that_makes_no_round_is_refused_in_one_line(
    toy_study: Studies, budget: dict[str, Any], sizes: dict[str, int] | None, said: str
) -> None:
    with pytest.raises(InputError) as caught:
        rounds(toy_study(methods=[PLAIN], continual_tokens=budget), sizes)
    assert said in str(caught.value) and "\n" not in str(caught.value)


def test_epochs_of_a_plan_are_those_of_the_corpus(toy_study: Studies, toy_root: Path) -> None:
    plan = make(toy_study(methods=[PLAIN], continual_tokens={"epochs": 2}), str(toy_root))
    seen = {source.period: epochs for _, source, epochs in plan.epochs()}
    assert seen == {"202301": 0.25, "202302": 2, "202303": 2, "202304": 2}


def test_steps_are_the_same_rounds_as_their_tokens(toy_study: Studies, toy_root: Path) -> None:
    """How a budget is written is no part of an id."""
    given: list[Any] = [{"steps": 6}, {"per_period": 6 * 64}, {"epochs": 0.25}, 3 * 6 * 64]
    plans = [make(toy_study(methods=[PLAIN], continual_tokens=one), str(toy_root)) for one in given]
    assert all(plan.ids == plans[0].ids for plan in plans)
