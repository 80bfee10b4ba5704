"""A study whose tasks ask each checkpoint about its own month: a diagonal of cells, and nothing is called missing."""

from __future__ import annotations

import base64
import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from finished import run
from parts import wanted
from sets import kept_subsets

from ticlm.core.errors import InputError
from ticlm.core.examples import Example
from ticlm.core.settings import parse
from ticlm.methods.objectives import Causal
from ticlm.platform.analysis.conventions import named
from ticlm.platform.analysis.matrix import views
from ticlm.platform.analysis.missing import missing
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.display.view_data import KINDS
from ticlm.platform.eval import again
from ticlm.platform.eval.cells import units
from ticlm.platform.eval.wanted.counts import count
from ticlm.platform.models import build, folders
from ticlm.platform.models.settings import PresetModel
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.evolvingqa.rows import BlockReader
from ticlm.platform.papers.evolvingqa.tables import evolving_tables
from ticlm.platform.report.page_data import payload
from ticlm.platform.report.report import Report
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.study.plan import make
from ticlm.platform.study.settings import Study
from ticlm.platform.tasks.gradients import GradientNorms

MONTHS = ("202301", "202302", "202303")
ASKED = {(MONTHS[0], label) for label in MONTHS} | {(label, label) for label in MONTHS[1:]}
METHOD = {"base": "cyclic-cosine", "schedule": {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}}


def studied(toy_study: Callable[..., Study], evaluated: str, **more: Any) -> Study:
    rest = {"examples": "toy@1", "evaluated": evaluated}
    tasks = [
        {
            "kind": "generated-answers",
            "name": "qa",
            "form": "text",
            "tokens": 1,
            "time_prompt": "{year} {month} ",
            **rest,
        },
        {"kind": "preferred-answers", "name": "ranked", "form": "text", **rest},
        {"kind": "gradient-norms", "name": "gradients", **rest},
    ]
    periods = {"initial": MONTHS[0], "last": MONTHS[-1]}
    return toy_study(methods=[METHOD], periods=periods, evaluations=tasks, **more)


GRADIENTS = {"new": "gradients", "edited": "gradients"}
BLOCK = {"kind": "evolving", "edited": "qa", "preferred": "ranked", "gradients": GRADIENTS}


@pytest.fixture
def root(toy_root: Path) -> Path:
    """The toy's root with the same questions in every month."""
    about = {"input": "w1 <extra_id_0> w3", "target": "w2", "type": "DATE"}
    questions = [Example(f"q{i}", f"w{i}", f"w{i + 1}", outdated=("w0",), about=about) for i in range(1, 5)]
    kept_subsets(toy_root / "examples/toy@1", *[{"all": questions}] * 3)
    return toy_root


def test_own_periods_make_a_diagonal_and_the_first_checkpoint_a_row(
    root: Path, toy_study: Callable[..., Study]
) -> None:
    study = studied(toy_study, "own")
    assert count(make(study, str(root)))[:2] == (3 * len(ASKED), 3 * len(ASKED))
    made = run(study, root)
    assert count(made)[:2] == (3 * len(ASKED), 0)
    result, preset = study_result(made), named()
    assert result.missing == ()
    for task in ("qa@1", "ranked@1", "gradients@1"):
        mine = result.cells[result.cells["task"] == task]
        assert {*zip(mine["trained"], mine["evaluated"])} == ASKED
    assert missing([result], preset, [views(result)]) == []
    (view, *_) = (view for view in views(result) if view.task == "gradients@1")
    assert (view.cells(preset).counted == ~np.isnan(view.methods[0].mean)).all()
    rows = summarize([result])
    assert (rows["missing"] == 0).all() and (rows["in_distribution_missing"] == 0).all()
    predictions = result.predictions
    assert predictions is not None
    qa = predictions[predictions["task"] == "qa@1"]
    assert qa.groupby(["trained", "label"]).size().to_dict() == {place: 4 for place in ASKED}
    assert qa["numbers"].map(lambda one: set(one) == {"outdated-exact", "outdated-f1"}).all()
    gradients = predictions[predictions["task"] == "gradients@1"]["numbers"]
    assert gradients.map(lambda one: one["norm"] > 0 and one["entities"] == 1).all()
    with pytest.raises(InputError, match=r"--on 202303: qa@1 is scored on 202302$"):
        again.works(made, f"{study.methods[0].name}@202302", "202303", "qa")


def test_a_start_from_outside_is_asked_all_and_no_other_checkpoint_is(
    root: Path, toy_study: Callable[..., Study], tmp_path: Path
) -> None:
    config = build.config(PresetModel(name="tiny", changes='{"hidden_size": 16, "intermediate_size": 32}'), 64)
    folders.publish(build.scratch(config, Causal(), 0).state_dict(), config, Causal(), [], tmp_path / "model")
    model = {"kind": "folder", "path": str(tmp_path / "model"), "as_of": "202212"}
    initial = {"budget": 0, "schedule": METHOD["schedule"]}
    result = study_result(run(studied(toy_study, "own", model=model, initial=initial, tables=[BLOCK]), root))
    asked = {("202212", label) for label in MONTHS} | {(label, label) for label in MONTHS}
    mine = result.cells[result.cells["task"] == "qa@1"]
    assert {*zip(mine["trained"], mine["evaluated"])} == asked and result.missing == ()
    seen = views(result)
    assert missing([result], named(), [seen]) == []
    assert all((one.asked == np.eye(3, dtype=bool)).all() for one in seen)
    assert (summarize([result])["missing"] == 0).all()
    (study,) = payload(Report([result]))["studies"]
    view = next(one for one in study["views"] if one["name"] == "qa@1")
    assert np.frombuffer(base64.b64decode(view["kinds"]), np.uint8).reshape(3, 3).tolist() == [
        [KINDS["in_distribution"] if i == j else KINDS["unasked"] for j in range(3)] for i in range(3)
    ]
    curve, frozen = view["curves"]
    assert frozen["labels"] == ("202212",) and frozen["missing"] == [0], "the first model is asked about all periods"
    assert curve["labels"] == MONTHS and curve["missing"] == [0, 0, 0]
    found = evolving_tables(wanted(Evolving, result))
    assert found.missing == ("evolving, cyclic-cosine: no gradients before 202302, 202303",)
    for table in (found.scores, found.preferred):
        assert {*zip(table["row"], table["trained"], table["month"])} == {
            *(("INITIAL", "202212", label) for label in MONTHS),
            *(("cyclic-cosine", label, label) for label in MONTHS),
        }
    assert {*zip(found.gradients["row"], found.gradients["trained"], found.gradients["month"])} == {
        ("INITIAL", "202212", MONTHS[0])
    }
    alone = dataclasses.replace(result, tables=(Evolving(unchanged="qa"),))
    ((_, only),) = wanted(Evolving, alone)
    assert BlockReader(alone, only).months == MONTHS


def test_the_cells_of_all_periods_are_those_of_own_ones_and_more(root: Path, toy_study: Callable[..., Study]) -> None:
    """The same questions stand in every month, so that without a date they are scored only once a checkpoint."""
    run(studied(toy_study, "own"), root)
    left: dict[str, Any] = {}
    for unit in units(make(studied(toy_study, "all"), str(root))):
        for job in unit.jobs:
            left.setdefault(job.task.name, []).extend(label for label, _ in job.cells)
    assert {name: sorted(labels) for name, labels in left.items()} == {"qa": ["202301", "202301", "202302", "202303"]}


def test_subsets_have_no_own_period() -> None:
    given = {"name": "g", "examples": "toy", "sets": [{"subset": "new"}], "evaluated": "own"}
    with pytest.raises(InputError, match="evaluated: own needs periods as labels; leave out sets"):
        parse(GradientNorms, given, "study")
