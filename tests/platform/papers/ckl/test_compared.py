"""The numbers that CKL prints, beside those of a report."""

import math
from typing import Any

import pytest
from parts import wanted
from probesets import RIGHT, one_phase
from rich.console import Console

from ticlm.platform.display.text_tables import terminal
from ticlm.platform.papers.ckl.compared import COLUMNS, _code, _percent, beside_printed
from ticlm.platform.papers.ckl.part import Fuar
from ticlm.platform.papers.ckl.study_fuar import fuar_tables
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest


def test_scores_and_fuar_stand_beside_table_2_where_the_methods_have_its_names() -> None:
    study = one_phase({"ckl-vanilla": RIGHT["vanilla"], "lora": RIGHT["lora"], "mine": RIGHT["kept"]})
    found = beside_printed(fuar_tables(wanted(Fuar, study)))
    frame: Any = found.frame.set_index(["method", "score"])
    assert list(found.frame.columns) == list(COLUMNS) and set(found.frame["table"]) == {"2"}
    assert set(found.frame["method"]) == {"ckl-vanilla", "lora"}, "the paper has no method `mine`"
    assert frame.loc[("ckl-vanilla", "IL"), ["ours", "paper"]].tolist() == pytest.approx([13.0, 12.89])
    assert frame.loc[("ckl-vanilla", "FUAR"), "difference"] == pytest.approx(11 / 12 - 1.08)
    assert frame.loc[("lora", "NL"), "paper"] == 4.52
    assert found.table is not None and [name for name, _ in found.table.groups] == ["IL", "NL", "UL", "FUAR"]
    console = Console(width=200, record=True)
    console.print(terminal(found.table))
    assert "12.89" in console.export_text() and "CKL: 8 numbers compared" in found.lines


def test_a_fuar_without_gain_is_infinite_and_its_difference_unknown() -> None:
    study = one_phase({"vanilla": RIGHT["broken"]})
    frame: Any = beside_printed(fuar_tables(wanted(Fuar, study))).frame.set_index("score")
    assert math.isinf(frame.loc["FUAR", "ours"]) and frame.loc["FUAR", "paper"] == 1.08


def test_other_probe_sets_and_metrics_are_not_compared() -> None:
    study = one_phase({"mine": RIGHT["vanilla"]})
    found = beside_printed(fuar_tables(wanted(Fuar, study)))
    assert not len(found.frame) and found.table is None and "no number here" in found.lines[0]


@pytest.mark.parametrize(
    ("score", "code"),
    [
        ("lama@1/invariant", "IL"),
        ("lama@1/new-easy-p2", "NLE-P2"),
        ("il@1/invariant", "IL"),
        ("nqe@1/new-easy", "NQE"),
        ("nqe@1/new-easy-p1", "NQE"),
        ("facts@1/kept", "kept"),
    ],
)
def test_probe_sets_have_the_names_of_the_paper(score: str, code: str) -> None:
    assert _code(score) == code


def test_the_two_phases_of_a_set_that_the_paper_takes_as_one_are_pooled() -> None:
    asked = [("il@1/invariant", 0.5, 10), ("nqe@1/new-easy-p1", 10 / 529, 529), ("nqe@1/new-easy-p2", 21 / 201, 201)]
    scores = [{"score": name, "score_after": value, "n": n} for name, value, n in asked]
    assert _percent(scores) == pytest.approx({"IL": 50.0, "NQE": 100 * 31 / 730})
    none = [{"score": "il@1/invariant", "score_after": math.nan, "n": 0}]
    assert math.isnan(_percent(none)["IL"])


def test_a_report_has_them_on_demand() -> None:
    study = one_phase({"vanilla": RIGHT["vanilla"]})
    plain, asked = (Report([study], request=ReportRequest(paper=paper)) for paper in (False, True))
    assert plain.printed is None and "paper_ckl" not in plain.files
    assert len(asked.files["paper_ckl"]) == 4 and asked.sections[-1].id == "paper"
    assert asked.printed is not None and any(line.startswith("TiC-LM: no number") for line in asked.printed[1])
