"""FUAR in a report: on the page, in the terminal, in the files beside it, and in the answer."""

import csv
import dataclasses
import io
import json
import re
from pathlib import Path

import pytest
from parts import part_of, tables_asked, tables_of
from probesets import CKL, RIGHT, months, one_phase
from reports import page, tic_lm
from rich.console import Console

from ticlm.core.store import Store
from ticlm.platform.cli.report import publish
from ticlm.platform.display.text_tables import terminal
from ticlm.platform.papers.ckl.part import Fuar
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.report.write import as_json, write
from ticlm.platform.results.study_result import StudyResult


def without_base(study: StudyResult) -> StudyResult:
    static = study.static
    gone = (static["method"] == "vanilla") & (static["trained"] == "outside") & (static["source"] == "new")
    return dataclasses.replace(study, static=static[~gone])


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html.split('<section id="fuar">')[1].split("</section>")[0]).split())


def test_the_table_has_the_scores_the_ratio_and_its_base() -> None:
    (table,) = tables_of(Report([one_phase()]), "fuar")
    assert table.title == "ckl: exact-match, %"
    assert table.columns == (
        *("forgotten: lama/invariant", "updated: lama/updated", "new: lama/new"),
        *("FUAR", "forgotten", "gained", "base"),
    )
    cells = {line.names[0]: [cell.text for cell in line.cells] for line in table.lines}
    assert cells["vanilla"] == ["24.00 → 13.00", "2.00 → 12.00", "2.00 → 4.00", "0.92", "11.00", "12.00", "outside"]
    assert [cells[method][3] for method in RIGHT] == ["0.92", "0.50", "0.00", "no gain"]
    assert table.lines[0].cells[0].under == "1,000 probes" and " to " in table.lines[0].cells[3].under
    assert [line.names[0] for line in table.lines if line.cells[3].stands_out] == ["kept"]


def test_what_is_missing_is_a_dash_and_said_once_with_its_reason() -> None:
    report = Report([without_base(one_phase())])
    (table,) = tables_of(report, "fuar")
    assert [cell.text for cell in table.lines[0].cells][2:6] == ["– → 4.00", "–", "–", "–"]
    assert table.notes[-1] == "vanilla at 2021-04: missing: lama@1/new at outside."
    assert report.missing == ["FUAR ckl, vanilla at 2021-04: lama@1/new at outside"]


def test_the_page_the_terminal_and_the_answer_say_the_same() -> None:
    study = one_phase({name: RIGHT[name] for name in ("vanilla", "lora", "broken")})
    shown, report = text_of(page(study)), Report([study])
    assert "24.00 → 13.00" in shown and "0.92" in shown and "no gain" in shown
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(terminal(tables_of(report, "fuar")[0]))
    printed = console.export_text()
    assert "24.00 → 13.00" in printed and "0.92" in printed and "no gain" in printed
    (answer,) = report.answers
    assert answer.sentence.startswith("lora has the lowest FUAR (ckl), 0.50 (95 %: ")
    assert "; vanilla is next with 0.92 (95 %: " in answer.sentence and answer.sentence.endswith("no gain: broken.")


def test_the_command_prints_the_table_and_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    publish(Report([without_base(one_phase())], request=ReportRequest()), Store(tmp_path))
    printed = capsys.readouterr().out
    assert "kept has the lowest FUAR (ckl), 0.00" in printed and "FUAR: ckl: exact-match, %" in printed
    assert "missing: FUAR ckl, vanilla at 2021-04: lama@1/new at outside" in printed


def test_the_files_hold_every_number(tmp_path: Path) -> None:
    report = Report([one_phase({name: RIGHT[name] for name in ("vanilla", "broken")})])
    write(report, tmp_path)
    rows = list(csv.DictReader((tmp_path / "fuar.csv").open()))
    assert [row["method"] for row in rows] == ["vanilla", "broken"]
    assert float(rows[0]["value"]) == pytest.approx(0.11 / 0.12) and rows[1]["value"] == ""
    assert rows[1]["reason"] == "no gain" and rows[0]["base"] == "outside"
    scores = list(csv.DictReader((tmp_path / "fuar_scores.csv").open()))
    assert len(scores) == 6 and (scores[0]["score_before"], scores[0]["score_after"]) == ("0.24", "0.13")
    told = json.loads(as_json(report))
    assert told["fuar"][1]["value"] is None and len(told["fuar_scores"]) == 6
    write(Report([one_phase(fuar=())]), tmp_path)
    assert not (tmp_path / "fuar.csv").exists() and not (tmp_path / "fuar_scores.csv").exists()


def test_a_report_without_fuar_is_as_before() -> None:
    report = Report([tic_lm(1, ["wiki-qa@1"])])
    assert 'id="fuar"' not in page(*report.results) and "fuar" not in json.loads(as_json(report))


def test_a_chain_has_a_column_for_each_checkpoint() -> None:
    shares = {
        (trained, evaluated, source): value
        for trained, value in (("202301", 0.3), ("202302", 0.2), ("202303", 0.25))
        for evaluated, source in (("202301", "invariant"),)
    }
    learned = {
        (trained, evaluated, "new"): 0.4 if trained >= evaluated else 0.1
        for trained in ("202301", "202302", "202303")
        for evaluated in ("202302", "202303")
    }
    asked = Fuar(name="months", invariant=("facts/invariant",), new=("facts/new",), chain="so-far")
    study = months(shares | learned, [asked])
    (table,) = tables_asked(Fuar, study)
    assert table.columns == ("2023-02", "2023-03")
    assert [cell.text for cell in table.lines[0].cells] == ["0.33", "0.17"]


def test_two_studies_are_told_apart() -> None:
    first = one_phase({"lora": RIGHT["lora"]}, fuar=[CKL, CKL.model_copy(update={"name": "micro", "average": "micro"})])
    second = dataclasses.replace(first, name="again")
    report = Report([first, second])
    titles = [table.title.partition(":")[0] for table in tables_of(report, "fuar")]
    assert titles == ["ckl (ckl)", "micro (ckl)", "ckl (again)", "micro (again)"]
    assert len(report.answers) == 2 and "FUAR (micro)" in report.answers[0].more
    assert len(part_of(report, "FUAR").frames["fuar"]) == 4
