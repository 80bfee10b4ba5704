"""A method's own batch: its steps, ids, chains and micro-batches, against values worked by hand."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.platform.forecast.features import by_method
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study import plan
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.work import work_of
from ticlm.platform.train import trainer

MakeStudy = Callable[..., Study]
TWO = {"initial": "202301", "last": "202302"}
PLAIN: dict[str, Any] = {"base": "cyclic-cosine", "schedule": {"kind": "constant", "max_rate": 5e-3, "warmup_steps": 1}}
RESOURCES = {"trainer": "process", "device": "cpu", "chains": 1}


def made(toy_study: MakeStudy, root: Path, *methods: dict[str, Any], **changes: Any) -> Plan:
    return plan.make(toy_study(**{"methods": list(methods), "periods": TWO} | changes), str(root))


def test_a_larger_batch_has_fewer_steps_of_the_same_tokens(toy_study: MakeStudy, toy_root: Path) -> None:
    found = made(toy_study, toy_root, PLAIN, PLAIN | {"name": "large", "batch_rows": 8})
    plain, large = (found.tree.rounds[run.rounds["202302"]] for run in found.tree.runs)
    assert found.study.batch_rows == 4 and (plain.steps, large.steps) == (4, 2)
    assert plain.tokens == large.tokens == plain.budget and plain.draws() == large.draws()
    assert plain.parent == large.parent, "the first model is the study's"
    assert by_method(found.tree)["large"].beyond == ("batches of its own size",)
    assert by_method(found.tree)["cyclic-cosine"].beyond == ()


def test_ids_change_with_the_batch_alone(toy_study: MakeStudy, toy_root: Path) -> None:
    ids = [
        sorted(made(toy_study, toy_root, PLAIN | changes).ids.values())
        for changes in ({}, {"batch_rows": None}, {"batch_rows": 4}, {"batch_rows": 8})
    ]
    assert ids[0] == ids[1] == ids[2] and len({*ids[0]} & {*ids[3]}) == 1


def test_a_chain_ends_where_the_batch_changes_so_that_a_resumed_run_has_the_same_micro_batches(
    toy_study: MakeStudy, toy_root: Path
) -> None:
    """Otherwise a chain that goes on after its first model would take its micro-batches from another round."""
    found = made(toy_study, toy_root, PLAIN | {"batch_rows": 8}, resources=RESOURCES)
    assert [chain.keys for chain in found.chains] == [(key,) for key in found.tree.rounds]
    assert [work_of(found, chain).micro_rows for chain in found.chains] == [4, 8]
    same = made(toy_study, toy_root, PLAIN, resources=RESOURCES)
    assert [len(chain.keys) for chain in same.chains] == [2]


def test_a_batch_of_its_own_trains(toy_study: MakeStudy, toy_root: Path) -> None:
    found = made(toy_study, toy_root, PLAIN | {"batch_rows": 8}, resources=RESOURCES | {"micro_batch_rows": 2})
    for chain in found.chains:
        trainer.run_chain(work_of(found, chain), Workers())
    again = made(toy_study, toy_root, PLAIN | {"batch_rows": 8}, resources=RESOURCES | {"micro_batch_rows": 2})
    large = again.tree.runs[0].rounds["202302"]
    about = again.records[large].about
    assert (about["steps"], about["tokens"]) == (2, again.tree.rounds[large].budget)


@pytest.mark.parametrize(
    ("changes", "resources", "said"),
    [
        ({"batch_rows": 0}, {}, "batch_rows"),
        ({"batch_rows": 4000}, {}, "too small for one step of 4000 rows"),
        ({"batch_rows": 2}, {"workers": 4}, "methods.own.batch_rows: resources.workers: 4 workers"),
        ({"batch_rows": 2}, {"workers": 2, "micro_batch_rows": 2}, "methods.own.batch_rows: resources.workers: 2"),
    ],
)
def test_a_batch_that_cannot_be_is_refused_in_a_line(
    toy_study: MakeStudy, toy_root: Path, changes: dict[str, Any], resources: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as error:
        made(toy_study, toy_root, PLAIN | {"name": "own"} | changes, resources=RESOURCES | resources)
    assert said in str(error.value) and "\n" not in str(error.value)
