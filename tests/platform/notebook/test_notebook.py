"""`import ticlm` in a notebook: the same numbers as the report, figures, a checkpoint, and mistakes in one line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from finished import run
from paths import ROOT
from toys import TOY_STUDY, build_toy_corpus

import ticlm
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.notebook.open_study import OpenStudy
from ticlm.platform.report.report import Report
from ticlm.platform.report.write import write
from ticlm.platform.results.begun import note_begun
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.results.setup import StudyRequest
from ticlm.platform.study import settings as studies

NOTEBOOK = ROOT / "examples/a_study_in_a_notebook.ipynb"
SMALL = TOY_STUDY | {
    "periods": {"initial": "202301", "last": "202302"},
    "methods": [*TOY_STUDY["methods"][:2], {"base": "oracle", "cutoffs": ["202301", "202302"]}],
}


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A root with a finished study, and the study's file."""
    folder = tmp_path_factory.mktemp("notebook")
    build_toy_corpus(folder / "runs/corpora/toy@1", periods=("202301", "202302"))
    (folder / "toy.yaml").write_text(json.dumps(SMALL))  # JSON is YAML
    study, request = studies.load(f"{folder}/toy.yaml"), StudyRequest(f"{folder}/toy.yaml", (), f"{folder}/runs")
    note_begun(Store(folder / "runs"), study, request)
    run(study, folder / "runs")
    return folder / "runs", f"{folder}/toy.yaml"


@pytest.fixture
def study(trained: tuple[Path, str]) -> OpenStudy:
    return ticlm.open(trained[0]).study(trained[1])


def test_a_root_knows_its_studies_by_name_and_opens_them_by_file_or_by_name(trained: tuple[Path, str]) -> None:
    root = ticlm.open(trained[0])
    assert root.studies() == ["toy"]
    assert root.study("toy").matrix("oracle").equals(root.study(trained[1]).matrix("oracle"))
    assert repr(root.study("toy")) == "<study toy: 4 of 4 rounds are done>"


def test_a_study_whose_file_is_gone_is_opened_by_its_name(trained: tuple[Path, str], tmp_path: Path) -> None:
    gone = tmp_path / "gone.yaml"
    gone.write_text(json.dumps(SMALL | {"name": "gone"}))
    note_begun(Store(trained[0]), studies.load(str(gone)), StudyRequest(str(gone), (), str(trained[0])))
    gone.unlink()
    try:
        assert ticlm.open(trained[0]).study("gone").matrix("oracle").shape == (2, 2)
    finally:
        for file in (trained[0] / "studies").glob("gone-*"):
            file.unlink()


def test_a_run_here_comes_before_a_packaged_study_of_its_name(trained: tuple[Path, str], tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text(json.dumps(SMALL | {"name": "demo"}))
    note_begun(Store(trained[0]), studies.load(str(own)), StudyRequest(str(own), (), str(trained[0])))
    try:
        assert repr(ticlm.open(trained[0]).study("demo")) == "<study demo: 4 of 4 rounds are done>"
        with pytest.raises(InputError, match="settings are changed in its file"):
            ticlm.open(trained[0]).study("demo", "batch_rows=8")
    finally:
        for file in (trained[0] / "studies").glob("demo-*"):
            file.unlink()


def test_its_frames_are_those_of_the_report(trained: tuple[Path, str], study: OpenStudy, tmp_path: Path) -> None:
    request = StudyRequest(trained[1], (), str(trained[0]))
    write(Report([study_result(study._plan, request)]), tmp_path)
    assert list(study.results().columns) == list(pd.read_csv(tmp_path / "results.csv").columns)
    assert len(study.results()) == len(pd.read_csv(tmp_path / "results.csv")) > 0
    assert list(study.summary()["method"]) == list(pd.read_csv(tmp_path / "summary.csv")["method"])
    assert len(study.differences()) == len(pd.read_csv(tmp_path / "differences.csv"))
    assert {f"{name}.svg" for name in study.figures()} == {path.name for path in tmp_path.glob("figures/*.svg")}
    cost = study.figure("cost")
    assert cost._repr_svg_() == (tmp_path / f"figures/{cost.name}.svg").read_text()


def test_a_matrix_holds_the_cells_by_trained_and_evaluated_period(study: OpenStudy) -> None:
    raw, cells = study.matrix("replay-half", "perplexity", relative=False), study.results()
    own = cells[(cells["method"] == "replay-half") & (cells["trained"] == "202302") & (cells["evaluated"] == "202301")]
    assert raw.index.name == "trained" and raw.columns.name == "evaluated"
    assert raw.loc["202302", "202301"] == own["value"].item()
    last = study.matrix("oracle", relative=False).loc["202302"]
    pd.testing.assert_frame_equal(study.matrix("replay-half", seed=0), raw - last)


def test_a_plan_is_a_row_for_each_round(study: OpenStudy) -> None:
    plan = study.plan()
    assert len(plan) == 4 and plan["done"].all() and set(plan["period"]) == {"202301", "202302"}


def test_what_is_changed_in_a_frame_does_not_come_back(study: OpenStudy) -> None:
    frame = study.summary()
    frame["method"] = "x"
    assert "x" not in set(study.summary()["method"])


@pytest.mark.parametrize(
    ("ask", "parts"),
    [
        (lambda study: study.matrix("replay-halv"), ("no method 'replay-halv'", "did you mean replay-half?")),
        (lambda study: study.matrix("oracle", "perplexiti"), ("no task 'perplexiti'", "perplexity@1")),
        (lambda study: study.matrix("oracle", source="wiki"), ("no source of perplexity@1 'wiki'", "there are none")),
        (lambda study: study.matrix("oracle", seed=7), ("oracle has no seed 7; its seeds: 0",)),
        (lambda study: study.figure("coast"), ("no figure 'coast'", "cost-toy-perplexity-1")),
        (lambda study: study.checkpoint("oracle", "209901"), ("toy/oracle has no checkpoint of 209901",)),
        (lambda study: ticlm.open("/nowhere"), ("root /nowhere: there is nothing", "ticlm run")),
    ],
)
def test_a_mistake_is_one_line(study: OpenStudy, ask: Callable[[OpenStudy], Any], parts: tuple[str, ...]) -> None:
    with pytest.raises(InputError) as error:
        ask(study)
    assert "\n" not in str(error.value) and all(part in str(error.value) for part in parts)


def test_a_study_of_which_nothing_is_finished_says_how_to_run_it(trained: tuple[Path, str]) -> None:
    root = ticlm.open(trained[0])
    with pytest.raises(InputError, match="nothing of study demo is finished yet: ticlm run demo"):
        root.study("demo").results()
    with pytest.raises(InputError, match=r"toi: no file, no packaged study, none that was run here .*those: toy"):
        root.study("toi")


def test_importing_ticlm_loads_nothing_and_hides_no_builtin() -> None:
    code = (
        "import sys, ticlm\n"
        "print([name for name in ('pydantic', 'numpy', 'torch', 'yaml') if name in sys.modules])\n"
        "from ticlm import *\n"
        "import builtins\n"
        "print(open is builtins.open, 'open' in dir(ticlm), hasattr(ticlm, 'nothing'))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["[]", "True True False"], done.stderr


def test_the_example_notebook_runs_from_its_first_cell_to_its_last(trained: tuple[Path, str]) -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert all(not cell["outputs"] for cell in cells if cell["cell_type"] == "code")
    asked = {"ROOT": str(trained[0]), "STUDY": trained[1], "PERIOD": "202302"}
    names: dict[str, Any] = {}
    exec(codes[0], names)
    assert asked.keys() < names.keys()
    names.update(asked)
    for code in codes[1:]:
        exec(code, names)
    assert names["apart"].loc["202302"].notna().all() and isinstance(names["model"].config.vocab_size, int)
