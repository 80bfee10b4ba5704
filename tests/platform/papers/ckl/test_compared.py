"""The numbers that CKL prints, beside those of a report."""

import dataclasses
import math
from typing import Any

import pandas as pd
import pytest
from parts import wanted
from probesets import RIGHT, one_phase, result, static_row
from probesets import frame as static_frame
from rich.console import Console

from ticlm.core.errors import InputError
from ticlm.platform.display.parts import Printed
from ticlm.platform.display.text_tables import terminal
from ticlm.platform.papers.ckl.compared import COLUMNS, _code, beside_printed
from ticlm.platform.papers.ckl.part import Fuar
from ticlm.platform.papers.ckl.printed import ckl_tables
from ticlm.platform.papers.ckl.settings import FuarRequest, PrintedName
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.study.settings import load

TABLE_2 = Fuar(name="ckl", invariant=("lama/invariant",), updated=("lama/updated",), new=("lama/new",), printed=("2",))


def compared(study: StudyResult) -> Printed:
    return beside_printed(wanted(Fuar, study))


def test_scores_and_fuar_stand_beside_the_table_that_a_study_names() -> None:
    right = {"ckl-vanilla": RIGHT["vanilla"], "lora": RIGHT["lora"], "mine": RIGHT["kept"]}
    found = compared(one_phase(right, [TABLE_2]))
    frame: Any = found.frame.set_index(["method", "score"])
    assert list(found.frame.columns) == list(COLUMNS) and set(found.frame["table"]) == {"2"}
    assert list(dict.fromkeys(found.frame["method"])) == ["initial", "ckl-vanilla", "lora"], "no method `mine` there"
    assert frame.loc[("initial", "IL"), ["ours", "paper"]].tolist() == pytest.approx([24.0, 24.17])
    assert frame.loc[("ckl-vanilla", "IL"), ["ours", "paper"]].tolist() == pytest.approx([13.0, 12.89])
    assert frame.loc[("ckl-vanilla", "FUAR"), "difference"] == pytest.approx(11 / 12 - 1.08)
    assert frame.loc[("lora", "NL"), "paper"] == 4.52
    (table,) = found.tables
    assert [name.partition(":")[0] for name, _ in table.groups] == ["IL", "UL", "NL", "FUAR"]
    console = Console(width=200, record=True)
    console.print(terminal(table))
    assert "12.89" in console.export_text() and "CKL: 11 numbers compared" in found.lines
    assert [cell.text for cell in table.lines[1].cells[:2]] == ["13.00", "12.89"]
    assert table.lines[1].cells[0].under == "+0.11" and len(table.notes) == 1, "the model is as large as the paper's"


def test_a_model_of_another_size_is_said() -> None:
    small = dataclasses.replace(one_phase({"lora": RIGHT["lora"]}, [TABLE_2]), parameters=220_160)
    note = "ckl: its model has 220,160 parameters, the paper's T5-large 737,668,096."
    found = compared(small)
    assert found.tables[0].notes[-1] == note and note in found.lines


def test_sets_that_the_fuar_does_not_read_are_compared_too() -> None:
    study = one_phase({"vanilla": RIGHT["vanilla"]}, [TABLE_2])
    more = [
        static_row("vanilla", 1, trained, "new-easy", right, 100) for trained, right in (("outside", 9), ("202104", 20))
    ]
    whole = dataclasses.replace(study, static=pd.concat([study.static, pd.DataFrame(more)], ignore_index=True))
    frame: Any = compared(whole).frame.set_index(["method", "score"])
    assert frame.loc[("vanilla", "NLE"), ["ours", "paper"]].tolist() == pytest.approx([20.0, 17.75])


def test_halves_of_a_set_are_pooled_for_a_table_that_prints_the_whole() -> None:
    asked = Fuar(
        invariant=("lama/invariant",), new=("lama/new-easy-p1", "lama/new-easy-p2"), average="micro", printed=("7",)
    )
    study = one_phase({"vanilla-1e-3": RIGHT["vanilla"]}, [asked])
    more = [
        static_row("vanilla-1e-3", 1, trained, f"new-easy-p{part}", right, n)
        for trained in ("outside", "202104")
        for part, right, n in ((1, 30, 300), (2, 40, 100))
    ]
    whole = dataclasses.replace(study, static=pd.concat([study.static, pd.DataFrame(more)], ignore_index=True))
    found = compared(whole)
    frame: Any = found.frame.set_index(["method", "score"])
    assert frame.loc[("vanilla-1e-3", "NLE"), ["ours", "paper"]].tolist() == pytest.approx([17.5, 18.77])
    assert any("micro average" in line for line in found.lines), "the note of the table"


def test_a_table_of_one_phase_is_about_the_first_checkpoint_after_the_base() -> None:
    asked = Fuar(invariant=("lama/invariant",), new=("lama/new-easy-p1",), chain="so-far", printed=("3 SMALL-P1",))
    rows = [
        static_row("vanilla", 1, trained, label, right, 100)
        for trained, invariant, new in (("outside", 24, 10), ("202010", 20, 30), ("202104", 10, 20))
        for label, right in (("invariant", invariant), ("new-easy-p1", new), ("new-easy-p2", new))
    ]
    study = result(["vanilla"], (1,), ("outside", "202010", "202104"), tables=(asked,), static=static_frame(rows))
    frame: Any = compared(study).frame.set_index(["method", "score"])
    assert set(frame.loc["vanilla", "trained"]) == {"202010"}
    assert frame.loc[("vanilla", "NLE-P1"), ["ours", "paper"]].tolist() == pytest.approx([30.0, 20.6])
    assert frame.loc[("vanilla", "NLE-P2"), "paper"] == 11.44, "the FUAR does not read it, the table prints it"
    assert frame.loc[("vanilla", "FUAR"), ["ours", "paper"]].tolist() == pytest.approx([0.2, 1.22])


def test_a_printed_fuar_that_contradicts_its_scores_says_so() -> None:
    table_13 = TABLE_2.model_copy(update={"printed": ("13",)})
    study = one_phase({"lora": RIGHT["lora"]}, [table_13])
    found = compared(dataclasses.replace(study, static=study.static.assign(metric="f1")))
    frame: Any = found.frame.set_index(["method", "score"])
    assert frame.loc[("lora", "FUAR"), ["paper", "corrected"]].tolist() == [0.36, 0.486]
    (table,) = found.tables
    assert table.lines[-1].cells[-1].under == "0.486" and any(
        "No choice of its columns" in note for note in table.notes
    )


def test_a_fuar_without_gain_is_infinite_and_its_difference_unknown() -> None:
    frame: Any = compared(one_phase({"vanilla": RIGHT["broken"]}, [TABLE_2])).frame.set_index(["method", "score"])
    fuar = frame.loc[("vanilla", "FUAR")]
    assert math.isinf(fuar["ours"]) and fuar["paper"] == 1.08 and math.isnan(fuar["difference"])


def test_a_study_that_names_no_table_shows_no_printed_number() -> None:
    found = compared(one_phase({"vanilla": RIGHT["vanilla"]}))
    assert not len(found.frame) and not found.tables and 'printed: ["2"]' in found.lines[0]
    other = compared(one_phase({"mine": RIGHT["vanilla"]}, [TABLE_2]))
    assert not other.tables and "no method here" in other.lines[0]


def test_a_table_that_the_paper_does_not_have_is_refused() -> None:
    names = {one.table for one in ckl_tables().tables}
    assert set(PrintedName.__args__) == names  # type: ignore[attr-defined]
    with pytest.raises(InputError, match="printed"):
        load("ckl", sets=['tables=[{kind: fuar, invariant: [lama/invariant], new: [lama/new], printed: ["99"]}]'])


@pytest.mark.parametrize(
    ("study", "tables"),
    [
        ("ckl", ["2", "13"]),
        ("ckl-small", ["3 SMALL"]),
        ("ckl-phases", ["3 SMALL-P1", "3 SMALL-P1 to SMALL-P2"]),
        ("ckl-learning-rate", ["7"]),
        ("ckl-light-tuning", ["10"]),
    ],
)
def test_packaged_studies_name_the_tables_that_they_are_runs_of(study: str, tables: list[str]) -> None:
    made = load(study)
    asked = [one for one in made.tables if isinstance(one, FuarRequest)]
    assert [name for one in asked for name in one.printed] == tables
    printed = {name for one in tables for name in ckl_tables().table(one).rows}
    assert {method.name.removeprefix("ckl-") for method in made.methods} <= printed


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


def test_a_report_has_them_on_demand_also_on_its_page() -> None:
    study = one_phase({"vanilla": RIGHT["vanilla"]}, [TABLE_2])
    plain, asked = (Report([study], request=ReportRequest(paper=paper)) for paper in (False, True))
    assert plain.printed is None and "paper_ckl" not in plain.files
    assert len(asked.files["paper_ckl"]) == 7 and asked.sections[-1].id == "paper"
    assert asked.printed is not None and not any(line.startswith("TiC-LM") for line in asked.printed[1])
    assert not any(line.startswith("paper:") for line in asked.printed[1]), "the terminal begins the line so"
    assert any(note.startswith("CKL: 7 numbers") for note in asked.sections[-1].notes)


def test_what_cannot_be_compared_is_said_on_the_page_too() -> None:
    report = Report([one_phase({"vanilla": RIGHT["vanilla"]})], request=ReportRequest(paper=True))
    notes = report.sections[-1].notes
    assert any("TiC-LM: no number here" in note for note in notes) and any("CKL: none of" in note for note in notes)
