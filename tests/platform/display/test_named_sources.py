"""A report names the ten largest sources of text, and compares a source over the periods that have its text."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from report_kinds import MONTHS, made_up

from ticlm.platform.analysis.numbers import TableColumn
from ticlm.platform.display.named_sources import named
from ticlm.platform.report.page_data import payload
from ticlm.platform.report.report import Report
from ticlm.platform.report.write import write
from ticlm.platform.results.study_result import PeriodText, StudyResult

TASK = "perplexity@1"
SILENT = "202303"


@pytest.fixture(scope="module")
def study() -> StudyResult:
    """A study with twelve sources of text, of which s00 is the smallest; s11 has no text in one month."""
    whole = made_up("demo", MONTHS, cutoffs=(0, 11))
    names = [f"s{k:02}" for k in range(12)]
    parts = [
        whole.cells.assign(source=name, value=whole.cells["value"] + 0.1, n=100 + k) for k, name in enumerate(names)
    ]
    cells = pd.concat([whole.cells, *parts], ignore_index=True)
    cells = cells[(cells["source"] != "s11") | (cells["evaluated"] != SILENT)]
    shares = {name: (k + 1) / 100 for k, name in enumerate([*names, "trained-on-alone"])}
    text = tuple(PeriodText(one.label, one.tokens, shares) for one in whole.text)
    return dataclasses.replace(whole, cells=cells, text=text)


def test_the_sources_with_most_train_tokens_are_shown_and_the_others_are_counted(study: StudyResult) -> None:
    report = Report([study])
    assert [one.source for one in report.columns] == ["", *(f"s{k:02}" for k in range(11, 1, -1))]
    assert report.other_sources == ["2 smaller sources are in summary.csv alone"]
    assert len(set(report.summary["source"])) == 13


def test_without_train_tokens_the_size_is_what_was_scored(study: StudyResult) -> None:
    published = dataclasses.replace(study, text=())
    columns = [TableColumn(TASK, source) for source in study.cells["source"].unique()]
    found = [one.source for one in named(columns, [published])]
    assert found[:2] == ["", "s10"] and "s00" not in found and found[-2:] == ["s02", "s11"]


def test_charts_and_figures_are_those_of_the_sources_that_are_shown(study: StudyResult, tmp_path: Path) -> None:
    report = Report([study])
    (shown,) = payload(report)["studies"]
    assert [view["name"] for view in shown["views"]][:2] == [TASK, f"{TASK} · s11"]
    assert len(shown["views"]) == 11 and len(shown["text"]["subsets"]) == 10
    assert shown["views"][1]["title"] == "held-out text · s11 (11 of 12 periods)"
    assert not np.any(shown["views"][1]["curves"][0]["missing"])


def test_a_source_without_text_in_a_period_is_marked_and_compared_over_the_others(study: StudyResult) -> None:
    report = Report([study])
    rows = report.summary[report.summary["source"] == "s11"].set_index("method")
    assert rows["backward_missing"].tolist() == [0, 0, 0] and rows["backward_best"].tolist() == [False, True, False]
    assert rows["periods"].tolist() == [11] * 3 and rows["evaluated_periods"].tolist() == [12] * 3
    apart = report.differences[report.differences["source"] == "s11"]
    assert apart["missing"].tolist() == [0] * len(apart)


def test_a_cell_that_one_method_lacks_is_still_missing(study: StudyResult) -> None:
    cells = study.cells
    lost = (cells["source"] == "s10") & (cells["method"] == "replay-half") & (cells["evaluated"] == SILENT)
    report = Report([dataclasses.replace(study, cells=cells[~lost])])
    rows = report.summary[report.summary["source"] == "s10"].set_index("method")
    assert rows["backward_missing"].to_dict() == {"cyclic-cosine": 0, "replay-half": 9, "oracle": 0}
    assert any(line.startswith("demo, perplexity@1 · s10, replay-half: ") for line in report.missing)


def test_a_period_without_any_text_stays_missing(study: StudyResult) -> None:
    cells = study.cells[(study.cells["source"] == "") & (study.cells["evaluated"] != SILENT)]
    summary = Report([dataclasses.replace(study, cells=cells)]).summary
    assert summary["backward_missing"].tolist() == [9, 9, 9] and not summary["backward_best"].any()


def test_one_line_says_which_sources_lack_held_out_text(study: StudyResult) -> None:
    (line,) = Report([study]).missing
    assert line == (
        "demo, perplexity@1: 1 of 13 sources have no held-out text in some periods, and are compared over the other "
        "periods (e.g. s11: none in 1 of 12); 1 have none at all"
    )


def test_the_page_says_where_the_other_sources_are(study: StudyResult, tmp_path: Path) -> None:
    made = write(Report([study]), tmp_path)
    page = (tmp_path / "index.html").read_text()
    assert "2 smaller sources are in summary.csv alone." in page and "s11 (11 of 12 periods)" in page
    assert not [path for path in made if "s00" in path.name]
