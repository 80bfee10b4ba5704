"""The numbers that the paper prints, beside those of a report."""

import dataclasses
import itertools
import json
from pathlib import Path

import pandas as pd
import pytest
from publishedfiles import loss, write
from reports import tic_lm
from typer.testing import CliRunner

from ticlm.methods.catalog import CATALOG
from ticlm.platform.analysis.conventions import named
from ticlm.platform.analysis.numbers import HEADINGS
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.cli.main import app
from ticlm.platform.papers.tic_lm.printed import COLUMNS, PrintedTable, compared, describe, printed
from ticlm.platform.results.of_published import studies
from ticlm.platform.results.published_files import read
from ticlm.platform.results.study_result import StudyResult


@pytest.fixture(scope="module")
def oracles(tmp_path_factory: pytest.TempPathFactory) -> StudyResult:
    (study,) = studies(read([str(write(tmp_path_factory.mktemp("published")))]))
    return study


def against(*results: StudyResult, preset: str = "paper-1b") -> pd.DataFrame:
    return compared(summarize(results, named(preset)), results)


def test_every_printed_row_is_a_method_of_the_catalogue() -> None:
    for one in printed().tables:
        assert set(one.rows) <= set(CATALOG) and set(one.core) <= set(one.rows), one.table
    rows = {(one.table, one.model, one.tokens): len(one.rows) for one in printed().tables if one.study is None}
    assert rows == {
        ("2", "1b", 223_674_572_800): 11,
        ("2", "3b", 223_674_572_800): 11,
        ("2", "3b", 447_349_145_600): 11,
        ("3", "3b", 447_349_145_600): 11,
        ("8", "3b", 447_349_145_600): 11,
        ("9", "3b", 223_674_572_800): 14,
        ("10", "3b", 447_349_145_600): 3,
        ("11", "3b", 223_674_572_800): 11,
        ("11", "1b", 223_674_572_800): 11,
    }


def values(one: PrintedTable) -> dict[tuple[str, str, str], float]:
    """(method, task, mean) -> what the table prints, CORE included."""
    found = {(m, "core", ""): value for m, value in one.core.items()}
    for method, task, mean in itertools.product(one.rows, one.tasks, HEADINGS):
        value = one.value(method, task, mean)
        assert value is not None
        found[method, task, mean] = value
    return found


def test_the_paper_contradicts_itself_in_these_places_alone() -> None:
    """Tables of one size and budget; an Oracle series is the same at both budgets."""
    found = set()
    for a, b in itertools.combinations([one for one in printed().tables if one.study is None], 2):
        if a.model == b.model:
            first, second = values(a), values(b)
            for place in first.keys() & second.keys():
                if (a.tokens == b.tokens or place[0] == "oracle") and first[place] != second[place]:
                    found.add((a.table, b.table, *place, first[place], second[place]))
    assert found == {
        ("3", "10", "replay-half+ar", "core", "", 49.3, 49.2),
        ("9", "11", "replay-equal", "tic-math", "forward", 0.006, -0.006),
        ("9", "11", "replay-half", "tic-wiki-diff", "backward", 0.034, 0.032),
        ("9", "11", "replay-half", "tic-wiki-diff", "in_distribution", 0.05, 0.047),
        ("9", "11", "replay-half", "tic-wiki-diff", "forward", 0.088, 0.086),
        ("9", "11", "replay-half", "tic-wiki-unchanged", "in_distribution", 0.048, 0.047),
        ("9", "11", "replay-half", "tic-wiki-unchanged", "forward", 0.074, 0.072),
    }


def test_the_27_numbers_of_the_1b_oracles_stand_beside_ours(oracles: StudyResult) -> None:
    found = against(oracles)
    regret = found[found["task"] != "core"].set_index(["task", "mean"])
    assert len(regret) == 27 and set(found["table"]) == {"2", "11"}
    assert regret.loc[("tic-cc", "forward"), "paper"] == 0.154
    assert regret.loc[("tic-stackoverflow", "in_distribution"), "paper"] == 0.089
    assert (regret["ours"] - regret["paper"] == regret["difference"]).all()
    assert found.set_index("task").loc["core", "paper"] == 46.7
    assert regret.loc[("tic-codedocs-pytorch", "in_distribution"), "ours"] == 0  # the reference minus itself
    assert loss("tic-cc", "202407", ("202407", "202407")) > 0, "ours are made up, so they differ"


def test_what_is_no_regret_relative_to_the_papers_oracle_is_not_compared(oracles: StudyResult) -> None:
    raw = dataclasses.replace(oracles, reference=None)
    other = dataclasses.replace(oracles, reference=("oracle", 0, "202301"))
    assert list(against(raw)["task"]) == list(against(other)["task"]) == ["core"]
    earlier = dataclasses.replace(oracles, static=oracles.static.assign(trained="202301"))
    assert "core" not in set(against(earlier)["task"])
    small = dataclasses.replace(raw, parameters=7, static=oracles.static.iloc[:0])
    found = against(small)
    assert list(found.columns) == list(COLUMNS) and not len(found)
    (line,) = describe(found)
    assert "1b with 224B tokens, 3b with 224B tokens, 3b with 447B tokens" in line


def test_a_continual_run_stands_beside_the_row_of_its_size_and_budget() -> None:
    study = tic_lm(8, ["tic-cc@1", "wiki-diff@1"])  # 3B, 440B tokens
    found = against(study).set_index(["method", "task", "mean"])
    assert found.loc[("cyclic-cosine", "tic-cc", "backward"), "paper"] == 0.082
    assert found.loc[("replay-half+ar", "tic-cc", "forward"), "paper"] == 0.154
    assert found.loc[("oracle", "tic-cc", "forward"), "paper"] == 0.163
    assert set(found.index.get_level_values("task")) == {"tic-cc"}, "wiki-diff is none of the paper's names"
    shorter = dataclasses.replace(study, target_tokens=223_674_572_800)
    assert (
        against(shorter).set_index(["method", "task", "mean"]).loc[("cyclic-cosine", "tic-cc", "backward"), "paper"]
        == 0.072
    )


def test_a_table_of_one_study_is_for_that_study_alone() -> None:
    task = "stackexchange-math@1"
    plain = tic_lm(7, [task])
    windowed = dataclasses.replace(plain, name="tic-lm-table-10-windowed", cells=plain.cells.assign(study="x"))
    key = ("replay-half", "tic-math", "backward")
    for study, paper in ((plain, 0.0), (windowed, 0.011)):
        assert against(study).set_index(["method", "task", "mean"]).loc[key, "paper"] == paper


def test_a_contradiction_is_said_where_it_applies() -> None:
    study = dataclasses.replace(tic_lm(7, ["stackexchange-math@1"]), target_tokens=223_674_572_800)
    lines = [line for line in describe(against(study)) if "prints" in line]
    assert lines == ["TiC-LM: tic-lm-3b, replay-equal, tic-math, Fwd.: Table 9 prints 0.006, Table 11 -0.006"]


def test_the_command_shows_them_on_demand(tmp_path: Path) -> None:
    tree, root = write(tmp_path / "files"), str(tmp_path / "runs")
    command = ["report", "--import", str(tree), "--preset", "paper-1b", "--root", root]
    without = CliRunner().invoke(app, command)
    shown = CliRunner().invoke(app, [*command, "--paper"])
    assert "paper:" not in without.output and "paper: TiC-LM: 28 numbers compared" in shown.output, shown.output
    assert "Printed numbers: TiC-LM, CORE in percent" in shown.output and "paper: paper:" not in shown.output
    (core,) = [line.split() for line in shown.output.splitlines() if line.split()[-3:-1] == ["35.5", "46.7"]]
    assert core[-4] == "11" and core[-1].endswith("11.2"), "Table 11, and the difference"
    page = next(tmp_path.glob("runs/reports/published-1b-*/index.html")).read_text()
    section = page.split('<section id="paper"')[1].split("</section>")[0]
    assert "TiC-LM: 28 numbers compared" in section and "CORE in percent" in section and ">46.7<" in section
    told = json.loads(CliRunner().invoke(app, [*command, "--paper", "--json"]).output)
    assert len(told["paper"]) == 28 and told["paper"][0]["paper"] == -0.003
    table = pd.read_csv(next(tmp_path.glob("runs/reports/published-1b-*/paper.csv")), dtype={"table": str})
    assert list(table.columns) == list(COLUMNS) and len(table) == 28
