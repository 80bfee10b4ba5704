"""The headline numbers of all benchmarks in one table."""

import dataclasses
import math
from typing import Any

import numpy as np
import pytest
from factsets import every_benchmark, study
from parts import part_of
from reports import tic_lm, with_static

from ticlm.platform.display.parts import Part
from ticlm.platform.papers.ckl.part import NAME as FUAR
from ticlm.platform.papers.evolvingqa.part import NAME as EVOLVING
from ticlm.platform.papers.temporalwiki.part import NAME as TEMPORALWIKI
from ticlm.platform.papers.tic_lm.part import NAME as TIC_LM
from ticlm.platform.papers.tic_lm.part import STATIC
from ticlm.platform.papers.together.overview import TITLE
from ticlm.platform.report.report import Report
from ticlm.platform.results.study_result import StudyResult

FILE = "benchmarks_overview"


def overview(*of: StudyResult) -> Part:
    return part_of(Report(of), TITLE)


def rows(found: Part) -> dict[tuple[str, str, str], Any]:
    held = found.frames[FILE].to_dict("records")
    return {(r["row"], r["benchmark"], r["part"]): r for r in held}


@pytest.fixture(scope="module")
def report() -> Report:
    return Report([every_benchmark()])


@pytest.fixture(scope="module")
def whole(report: Report) -> Part:
    return part_of(report, TITLE)


def test_each_benchmark_has_its_headline_numbers(whole: Part) -> None:
    found = rows(whole)
    assert list(dict.fromkeys((b, p) for _, b, p in found)) == [
        *((TIC_LM, "Bwd."), (TIC_LM, "ID"), (TIC_LM, "Fwd."), (FUAR, "FUAR")),
        *((EVOLVING, "UNCHANGED"), (EVOLVING, "NEW"), (EVOLVING, "OUTDATED"), (EVOLVING, "UPDATED")),
        *((TEMPORALWIKI, "Un."), (TEMPORALWIKI, "C."), (TEMPORALWIKI, "Avg.")),
    ]
    assert {name for name, benchmark, _ in found if benchmark == EVOLVING} == {
        *("INITIAL", "FULL", "Mix-Review", "K-Adapter")
    }
    ways = {(b, p): r["higher_is_better"] for (_, b, p), r in found.items()}
    assert [key for key, up in ways.items() if up] == [(EVOLVING, name) for name in ("UNCHANGED", "NEW", "UPDATED")]


def test_the_numbers_are_those_of_each_benchmarks_own_table(report: Report, whole: Part) -> None:
    found = rows(whole)
    text = report.summary.query("method == 'FULL' and task == 'perplexity@1'").iloc[0]
    assert found["FULL", TIC_LM, "Bwd."]["value"] == text["backward"] == pytest.approx(3 + 0.2 * 4 / 3)
    assert found["FULL", FUAR, "FUAR"]["value"] == pytest.approx(6 / 11)
    exact = report.files["evolving_scores"].query("row == 'FULL' and set == 'NEW' and metric == 'exact-match'")
    new = found["FULL", EVOLVING, "NEW"]
    assert new["value"] == pytest.approx(exact["value"].mean()) and new["stderr"] == pytest.approx(0.07 / math.sqrt(2))
    assert found["FULL", EVOLVING, "UNCHANGED"]["stderr"] == pytest.approx(0.07), "the same questions every month"
    pair = report.files["benchmarks_pair_means"].query("row == 'FULL' and part == 'Avg.'").iloc[0]
    assert found["FULL", TEMPORALWIKI, "Avg."]["value"] == pair["value"]


def test_the_best_of_a_column_is_by_its_direction_and_among_complete_rows(whole: Part) -> None:
    frame = whole.frames[FILE]
    for _, held in frame[frame["benchmark"] != TIC_LM].groupby(["benchmark", "part"]):
        best = held.loc[held["best"], "value"]
        assert set(best) == {(max if held["higher_is_better"].iloc[0] else min)(held["value"])}
    of = every_benchmark()
    lost = (of.cells["task"] == "moved@1") & (of.cells["method"] == "FULL") & (of.cells["trained"] == "202304")
    found = overview(dataclasses.replace(of, cells=of.cells[~lost]))
    partial = rows(found)["FULL", TEMPORALWIKI, "C."]
    assert not partial["complete"] and not partial["best"] and rows(whole)["FULL", TEMPORALWIKI, "C."]["best"]
    lines = Report([dataclasses.replace(of, cells=of.cells[~lost])]).missing
    assert "temporalwiki, FULL: no C. (moved) at 202304" in lines


def test_what_a_method_lacks_is_named(whole: Part) -> None:
    assert whole.missing == ()
    of = every_benchmark()
    gone = of.cells["task"].isin(["kept@1", "moved@1"]) & (of.cells["method"] == "K-Adapter")
    static = of.static[of.static["method"] != "K-Adapter"]
    found = overview(dataclasses.replace(of, cells=of.cells[~gone], static=static))
    assert found.missing[-1] == (
        "all benchmarks, all: K-Adapter has no FUAR ckl, TemporalWiki temporalwiki Un., "
        "TemporalWiki temporalwiki C., TemporalWiki temporalwiki Avg."
    )


def test_a_report_of_one_benchmark_has_no_overview() -> None:
    assert overview(tic_lm(2, ["tic-cc@1"])).frames == {}, "CORE is read with TiC-LM's"
    assert overview(with_static(tic_lm(2, ["tic-cc@1"]))).frames == {}
    found = overview(study())
    assert found.frames[FILE].groupby("benchmark", sort=False).size().to_dict() == {TIC_LM: 6, TEMPORALWIKI: 9}
    assert set(found.frames[FILE].query("benchmark == 'TiC-LM'")["block"]) == {"kept@1"}, "the first task with a loss"


def test_several_studies_stand_below_each_other_and_static_tasks_beside() -> None:
    first, second = every_benchmark("one"), with_static(tic_lm(1, ["tic-cc@1"]))
    found = overview(first, second)
    assert list(dict.fromkeys(found.frames[FILE]["study"])) == ["one", "tic-lm-3b"]
    core = found.frames[FILE][found.frames[FILE]["benchmark"] == STATIC].query("part == 'core'").set_index("row")
    assert core.loc["cyclic-cosine", "value"] == pytest.approx(0.46) and core.loc["oracle", "trained"] == "202407"
    assert core.loc["cyclic-cosine", "std"] == pytest.approx(np.std([0.45, 0.46, 0.47], ddof=1))
    assert [line for line in found.missing if "tic-lm-3b" in line] == [], "other studies' benchmarks are not missed"
