"""The first model of a study, never updated, as a rival: its name, its cells, its cost, and when there is none."""

import dataclasses
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from ticlm.core.store import Store
from ticlm.platform.analysis.matrix import views
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.report.report import Report
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study

FAST = {"kind": "cosine", "max_rate": 1e-3, "warmup_steps": 1}
LABELS = ("202301", "202302", "202303", "202304")


@pytest.fixture(scope="module")
def root(toy_template: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A root in which each study of this file is trained once."""
    import shutil

    return str(shutil.copytree(toy_template, tmp_path_factory.mktemp("frozen") / "root"))


def result(root: str, study: Study) -> StudyResult:
    made = plan.make(study, root)
    driver.train(made)
    driver.evaluate(made)
    return study_result(plan.make(study, Store(root)))


def methods(*names: str, seeds: tuple[int, ...] = (0,)) -> list[dict[str, object]]:
    return [{"base": "cyclic-cosine", "name": name, "schedule": FAST, "seeds": seeds} for name in names]


def test_its_row_is_the_first_model_on_every_period_and_nothing_is_added_to_the_cells(
    root: str, toy_study: Callable[..., Study]
) -> None:
    found = result(root, toy_study(methods=methods("plain", seeds=(1, 2)), reference="raw"))
    assert found.frozen is not None and found.frozen.name == "frozen" and found.frozen.seeds == (1,)
    assert set(found.cells["method"]) == {"plain"} and found.missing == ()
    (view,) = (one for one in views(found) if not one.source)
    assert view.frozen is not None and view.frozen.labels == LABELS[:1]
    first = found.cells.query("seed == 1 and trained == '202301' and source == ''").set_index("evaluated")["value"]
    for row in view.frozen.mean:
        assert row.tolist() == [first[label] for label in LABELS]
    rows = summarize([found]).query("source == ''").set_index("method")
    paid = found.costs.query("method == 'plain' and seed == 1 and trained == '202301'")["tokens"].item()
    assert (rows.loc["frozen", "tokens"], rows.loc["frozen", "executed_tokens"]) == (paid, 0)
    by_seed = found.cells[(found.cells["source"] == "") & (found.cells["trained"] == found.cells["evaluated"])]
    own = by_seed.groupby("evaluated")["value"].mean()
    better = sum(own[label] < first[label] for label in LABELS[1:])
    counted = ["periods_better_than_frozen", "periods_compared"]
    assert rows[counted].to_numpy().tolist() == [[better, 3], [0, 0]]
    assert Report([found]).missing == []


def test_a_method_of_that_name_keeps_it_and_oracles_alone_have_none(root: str, toy_study: Callable[..., Study]) -> None:
    named = plan.make(toy_study(methods=methods("frozen")), root)
    driver.train(named)
    first = study_result(named).frozen
    assert first is not None and (first.name, first.frozen_of) == ("never-updated", "frozen")
    alone = plan.make(toy_study(methods=[{"base": "oracle", "cutoffs": ["202301"]}]), root)
    driver.train(alone)
    assert study_result(alone).frozen is None


def test_an_oracle_of_the_first_period_is_known_as_the_first_model(root: str, toy_study: Callable[..., Study]) -> None:
    oracle = {"base": "oracle", "cutoffs": ["202301", "202303"]}
    made = plan.make(toy_study(methods=[*methods("plain"), oracle]), root)
    driver.train(made)
    found = study_result(made)
    assert [one.first_cutoff for one in found.methods] == ["", "202301"]


def test_without_a_scored_first_period_there_is_none_and_one_line_says_so(
    root: str, toy_study: Callable[..., Study]
) -> None:
    made = plan.make(toy_study(methods=methods("plain"), evaluate={"checkpoints": LABELS[1:]}), root)
    driver.train(made)
    found = study_result(made)
    assert found.frozen is None
    assert [line for line in found.missing if line.startswith("frozen")] == [
        "frozen: evaluate.checkpoints leaves out 202301, so no row says what doing nothing would give"
    ]


def test_a_model_of_no_known_date_was_there_before_the_first_period(root: str, toy_study: Callable[..., Study]) -> None:
    found = result(root, toy_study(methods=methods("plain"), reference="raw"))
    start = {"trained": {"202301": "outside"}}
    outside = dataclasses.replace(found, cells=found.cells.replace(start), costs=found.costs.replace(start))
    (view,) = (one for one in views(outside) if not one.source)
    assert view.frozen is not None and view.frozen.labels == ("outside",)
    assert np.array_equal(view.frozen.mean, views(found)[0].frozen.mean)  # type: ignore[union-attr]
    assert isinstance(summarize([outside]), pd.DataFrame)
