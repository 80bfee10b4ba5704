"""Leaves beside a trunk: their budgets, rows, rates and rows in the plan, against values worked by hand."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.methods.schedules import WarmupStableDecay
from ticlm.platform.study.chains import cut, groups, name
from ticlm.platform.study.settings import Study
from ticlm.platform.study.tree import Tree, rounds

Studies = Callable[..., Study]
BATCH_TOKENS = 6 * 16
FLAT: dict[str, Any] = {
    "name": "flat",
    "schedule": {"kind": "constant", "max_rate": 1e-3, "warmup_steps": 1},
    "replay": {"kind": "fixed", "alpha": 0.5},
}


def leafy(**deploy: Any) -> dict[str, Any]:
    return FLAT | {"name": "leafy", "deploy": {"kind": "leaf", "share": 0.25} | deploy}


def tree_of(toy_study: Studies, *methods: dict[str, Any], steps: int = 8) -> Tree:
    budget = {"per_period": steps * BATCH_TOKENS + 7}
    return rounds(toy_study(methods=list(methods), batch_rows=6, continual_tokens=budget))


def test_trunk_and_leaf_share_the_budget_to_the_token(toy_study: Studies) -> None:
    tree = tree_of(toy_study, leafy())
    (run,) = tree.runs
    for trunk, leaf in list(run.work.values())[1:]:
        assert (tree.rounds[trunk].steps, tree.rounds[leaf].steps) == (6, 2)
        assert (tree.rounds[trunk].budget, tree.rounds[leaf].budget) == (6 * BATCH_TOKENS + 7, 2 * BATCH_TOKENS)
        assert tree.rounds[leaf].parent == trunk
        assert {tree.kind(trunk), tree.kind(leaf)} == {"round", "leaf"}
    assert next(iter(run.work.values())) == (run.rounds["202301"],), "the initial checkpoint has no leaf"


def test_no_row_comes_twice_on_the_way_to_a_leaf_and_the_trunk_goes_on_where_it_stood(toy_study: Studies) -> None:
    tree = tree_of(toy_study, leafy())
    (run,) = tree.runs
    drawn: dict[str, int] = {}
    for label, keys in list(run.work.items())[1:]:
        for key in keys:
            spec = tree.rounds[key]
            before = {cursor.source.period: cursor.rows for cursor in spec.cursors}
            rows = {source.period: count for source, count in spec.draws().items()}
            assert {period: before.get(period, 0) for period in rows if period != "202301"} == {
                period: drawn.get(period, 0) for period in rows if period != "202301"
            }
            assert rows[label] == spec.steps * 3, "half of its rows are new"
            if tree.kind(key) == "round":
                drawn = {period: drawn.get(period, 0) + rows.get(period, 0) for period in {*drawn, *rows}}


def test_a_leaf_decays_from_the_trunks_last_rate(toy_study: Studies) -> None:
    tree = tree_of(toy_study, leafy(end_rate=1e-5, decay="linear", warmup_share=0.5))
    for key in tree.deployed:
        schedule = WarmupStableDecay(max_rate=1e-3, end_rate=1e-5, warmup_steps=1, decay_share=1.0, decay="linear")
        assert tree.rounds[key].recipe.schedule == schedule
        assert tree.rounds[key].position.steps_before % 6 == 0


def test_leaves_on_top_share_the_trunk_of_the_method_without_leaves(toy_study: Studies) -> None:
    tree = tree_of(toy_study, FLAT, leafy(on_top=True))
    flat, run = tree.runs
    assert dict(run.trunk) == {label: key for label, key in flat.rounds.items() if label != "202301"}
    chains = cut(tree)
    assert [chain.is_side for chain in chains] == [False, True, True, True]
    assert [name(tree, group) for group in groups(tree, chains)] == [
        "flat, leafy: 202301 … 202304",
        "leafy, 3 leaves: 202302 … 202304",
    ]


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"deploy": {"kind": "leaf"}}, "share"),
        (
            {"deploy": {"kind": "leaf", "share": 0.1}},
            "leaf of period 202302 is 0.1 of its 775 tokens, too small for",
        ),
        ({"deploy": {"kind": "leaf", "share": 0.5, "next": "deployed"}}, "next: deployed has no meaning for a leaf"),
        (
            {"deploy": {"kind": "leaf", "share": 0.5, "end_rate": 0.1}},
            "below the last rate of the trunk, 0.001, got",
        ),
        ({"adapter": {"kind": "lora"}}, "every round adds an adapter, so a leaf would add one more"),
    ],
)
def test_a_leaf_that_cannot_be_is_refused_in_a_line(toy_study: Studies, changes: dict[str, Any], told: str) -> None:
    with pytest.raises(InputError) as error:
        tree_of(toy_study, leafy() | changes)
    assert told in str(error.value)
    assert "\n" not in str(error.value)
