"""Scoring a cell again: the same number, from the same weights, without a change of what is kept."""

from collections.abc import Callable
from pathlib import Path

import pytest
from toys import make_toy_study

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.eval import again
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.cells.files import read_cells, write_cells

EVALUATIONS = [{}, {"kind": "perplexity", "name": "tuning", "split": "tune"}]


@pytest.fixture
def done(toy_root: Path, toy_study: Callable[..., Study]) -> Plan:
    """A study of two months and two tasks, trained and scored."""
    periods = {"initial": "202301", "last": "202302"}
    method = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}, "seeds": [1, 2]}
    study = make_toy_study(periods=periods, methods=[method], evaluations=EVALUATIONS)
    driver.train(plan.make(study, str(toy_root)))
    driver.evaluate(plan.make(study, str(toy_root)))
    return plan.make(study, str(toy_root))


def files(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in (root / "cells").rglob("*") if path.is_file()}


def test_a_cell_has_the_same_value_again_and_nothing_is_written(done: Plan, toy_root: Path) -> None:
    assert done.store is not None
    before = files(toy_root)
    (row,) = again.score_again(done.store, again.works(done, "cyclic-cosine@202302", "202301", "perplexity"))
    assert (row.task, row.label, row.metric) == ("perplexity@1", "202301", "nll")
    assert row.value == row.kept and files(toy_root) == before
    every = again.score_again(done.store, again.works(done, "cyclic-cosine@202302"))
    assert {(one.task, one.label) for one in every} == {
        (task, label) for task in ("perplexity@1", "tuning@1") for label in ("202301", "202302")
    }


def test_it_is_scored_anew_and_not_read_from_what_is_kept(done: Plan) -> None:
    assert done.store is not None
    (work,) = again.works(done, "cyclic-cosine@202302", "202301", "perplexity@1", seed=2)
    (true,) = again.score_again(done.store, [work])
    (record,) = [r for r in done.records.values() if weights_of(r) == work.weights]
    cells = read_cells(done.store, weights_of(record))
    wrong = [cell.model_copy(update={"value": cell.value + 1}) for cell in cells]
    for name in done.store.files(f"cells/{work.weights[:16]}"):
        done.store.remove(f"cells/{work.weights[:16]}/{name}")
    write_cells(Store(done.store.root), wrong)
    (row,) = again.score_again(done.store, [work])
    assert row.value == true.value and row.kept == pytest.approx(true.value + 1)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        (("nobody@202302",), "expected METHOD@PERIOD with one of the methods cyclic-cosine"),
        (("cyclic-cosine@202312",), "cyclic-cosine has checkpoints of 202301, 202302"),
        (("cyclic-cosine@202302", "202312"), "--on 202312: perplexity@1 is scored on 202301, 202302"),
        (("cyclic-cosine@202302", None, "core"), "is scored on perplexity@1, tuning@1"),
        (("cyclic-cosine@202302", None, None, 3), "--seed 3: the seeds of cyclic-cosine are 1, 2"),
    ],
)
def test_what_the_study_does_not_have_is_refused_in_one_line(
    toy_root: Path, asked: tuple[str, str | None, str | None, int | None], told: str
) -> None:
    method = {"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}, "seeds": [1, 2]}
    study = make_toy_study(periods={"initial": "202301", "last": "202302"}, methods=[method], evaluations=EVALUATIONS)
    made = plan.make(study, str(toy_root))
    if "--on" in told or "scored on" in told:
        driver.train(made)
        made = plan.make(study, str(toy_root))
    with pytest.raises(InputError, match=told.replace("(", r"\(")):
        again.works(made, *asked)
    with pytest.raises(InputError, match="not trained yet"):
        again.works(plan.make(study.model_copy(update={"batch_rows": 2}), str(toy_root)), "cyclic-cosine@202301")
