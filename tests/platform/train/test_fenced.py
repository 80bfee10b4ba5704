"""Workers and evaluators know the lease that they write under, and change nothing once it is lost."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ticlm.core import paths
from ticlm.core.errors import TakenOver
from ticlm.core.store import Store
from ticlm.platform.models.sharding import Workers
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.work import ChainWork, work_of
from ticlm.platform.train import trainer

MakeStudy = Callable[..., Study]
RunUntil = Callable[[ChainWork, int], None]
METHOD = {"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}}


def under_a_lease(toy_study: MakeStudy, root: Path, cadence: int) -> plan.Plan:
    """The plan of a study of one chain, on a root whose lease this process holds."""
    resources = {"trainer": "process", "device": "cpu", "cadence": {"steps": cadence}}
    periods = {"initial": "202301", "last": "202302"}
    made = plan.make(toy_study(methods=[METHOD], periods=periods, resources=resources), str(root))
    assert made.store is not None
    made.store.write(paths.lease(7), b"")
    made.store.lease = 7
    return made


@pytest.mark.parametrize("cadence", [1, 10_000], ids=["at a checkpoint", "at the end of a round"])
def test_workers_of_a_writer_that_was_succeeded_publish_and_remove_nothing(
    toy_root: Path, toy_study: MakeStudy, run_until: RunUntil, cadence: int
) -> None:
    made = under_a_lease(toy_study, toy_root, 1)
    (chain,) = made.chains
    run_until(work_of(made, chain), 2)  # as the successor's attempt
    made = under_a_lease(toy_study, toy_root, cadence)
    store = Store(toy_root)
    before = {path for path in store.walk(paths.ROUNDS) if "/files/" not in path}
    assert any(path.endswith("steps/00000001/record.json") for path in before)
    store.write(paths.lease(8), b"")
    with pytest.raises(TakenOver, match="was taken over by another writer while this process stood still"):
        trainer.run_chain(work_of(made, chain), Workers())
    after = set(store.walk(paths.ROUNDS))
    assert before <= after and {path for path in after - before if path.endswith(paths.RECORD)} == set()


def test_evaluators_of_a_writer_that_was_succeeded_keep_no_cell(toy_root: Path, toy_study: MakeStudy) -> None:
    made = under_a_lease(toy_study, toy_root, 10_000)
    driver.train(made)
    Store(toy_root).write(paths.lease(8), b"")
    with pytest.raises(TakenOver):
        driver.evaluate(made)
    assert Store(toy_root).walk(paths.CELLS) == []
