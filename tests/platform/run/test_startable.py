"""Which chains start: as many as there are workers for, those that others wait for first, then the longest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticlm.platform.run.startable import startable
from ticlm.platform.study import plan
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study

SCHEDULE = {"max_rate": 5e-3, "warmup_steps": 1}
METHODS = [
    *({"base": base, "schedule": SCHEDULE} for base in ("cyclic-cosine", "replay-half", "replay-equal")),
    {"base": "oracle", "cutoffs": ["202303"], "continual_tokens": 512},
]


def made(toy_study: Callable[..., Study], root: Path, **resources: Any) -> Plan:
    return plan.make(toy_study(methods=METHODS, resources=resources), str(root))


@pytest.mark.parametrize(("room", "together"), [(0, 1), (1, 1), (2, 2), (9, 2)])
def test_chains_of_one_worker_train_side_by_side_as_far_as_there_is_room(
    toy_study: Callable[..., Study], toy_root: Path, room: int, together: int
) -> None:
    found = made(toy_study, toy_root, workers=1, chains=2)
    (trunk, *_), left = found.chains, list(found.chains)
    assert len(startable(found, left, [], room)) == together
    assert startable(found, left, [], room)[0] == trunk, "others wait for it"
    assert len(startable(found, left[1:], [trunk], room)) == together - 1


def test_the_longest_chain_comes_first(toy_study: Callable[..., Study], toy_root: Path) -> None:
    found = made(toy_study, toy_root, workers=8, chains=8, micro_batch_rows=1)
    found.records = {key: None for key in found.chains[0].keys}  # type: ignore[misc]
    tokens = [
        sum(found.tree.rounds[key].tokens for key in chain.keys)
        for chain in startable(found, list(found.chains[1:]), [], 8)
        if not found.is_trunk(chain)
    ]
    assert len(set(tokens)) > 1 and tokens == sorted(tokens, reverse=True)
