"""The tables of EvolvingQA in a report: on the page, in the terminal, and in the files beside it."""

import csv
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from evolvingsets import ASKED, RIGHT, study, whole
from parts import part_of, section_of, tables_asked, tables_of, terminal_tables
from quickjs import Context
from reports import page, tic_lm

from ticlm.core.store import Store
from ticlm.platform.cli.report import publish
from ticlm.platform.display.templates import asset
from ticlm.platform.display.text_tables import TextCell, TextTable
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.evolvingqa.writing import BOUND, uncertain
from ticlm.platform.report.figures import CHARTS
from ticlm.platform.report.page_data import payload
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.report.write import as_json, write
from ticlm.platform.results.study_result import TaskMetric


@pytest.fixture(scope="module")
def report() -> Report:
    return Report([whole()], request=ReportRequest())


@pytest.fixture(scope="module")
def tables(report: Report) -> dict[str, TextTable]:
    return {table.title: table for table in tables_of(report, "evolving")}


@pytest.fixture(scope="module")
def html() -> str:
    return page(whole()).split('<section id="evolving">')[1].split("</section>")[0]


def cells(table: TextTable) -> dict[tuple[str, ...], list[str]]:
    return {line.names: [cell.text for cell in line.cells] for line in table.lines}


def test_every_table_of_a_block_is_there_and_those_of_the_sets_come_last(report: Report) -> None:
    (name, block), (built_name, built) = section_of(report, "evolving").by_heading
    assert (name, built_name) == ("evolving", "How the sets were built")
    assert [table.title for table in block if table.main] == [
        *("Exact match, %", "OUTDATED − UPDATED, exact match", "Learned and kept: exact match, %"),
        *("Preferred answers, %", "Time prompt: exact match, %", "By difficulty: hardest − easiest, exact match"),
    ]
    assert [table.title for table in block if not table.main] == [
        *("F1, %", "OUTDATED − UPDATED, F1", "Exact match by category of the answer, %"),
        *("Answers that stand in their questions", "Some that INITIAL answers"),
        *("Words that questions share with their contexts, %", "Gradient norms", "Exact match by distance, %"),
    ]
    assert [table.title for table in built] == ["Examples", "Left out", "Counts"]


def test_scores_stand_as_in_the_paper_with_errors_arrows_and_counts(tables: dict[str, TextTable]) -> None:
    table = tables["Exact match, %"]
    assert table.columns == ("2023-03", "2023-04") and table.names == ("Method", "Set")
    shown = cells(table)
    assert shown["full", "NEW ↑"] == ["30.00", "40.00"] and shown["full", "OUTDATED ↓"] == ["80.00", "10.00"]
    assert shown["DPR", "NEW ↑"] == ["40.00", "–"] and shown["questions", "NEW"] == ["10", "10"]
    held = {line.names: line.cells for line in table.lines}
    assert held["full", "NEW ↑"][0] == TextCell("30.00", "± 14.49") and held["full", "NEW ↑"][1].stands_out
    assert held["full", "OUTDATED ↓"][1].stands_out and not held["INITIAL", "OUTDATED ↓"][1].stands_out
    apart = {line.names: line.cells for line in tables["OUTDATED − UPDATED, exact match"].lines}
    assert [cell.text for cell in apart["full",]] == ["+70.00", "−70.00"]
    assert all(cell.stands_out for cell in apart["full",]) and apart["full",][0].under == "+30.00 to +100.00"


def test_where_all_answers_are_alike_a_bound_stands_in_the_place_of_an_error() -> None:
    """Of n answers without a right one, a share at the bound would leave all wrong with a chance of 5 %."""
    assert uncertain(0.0, 0.0, 1672) == "≤ 0.18" and uncertain(1.0, 0.0, 10) == "≥ 74.11"
    assert 0.048 < (1 - 0.0018) ** 1672 < 0.052
    assert uncertain(0.0, math.nan, 1) == "≤ 95.00" and uncertain(0.25, 0.1, 10) == "± 10.00"
    assert uncertain(0.25, math.nan, 1) == ""
    right = {**RIGHT, ("new", "202303", "202303"): [0] * 10}
    tables = tables_asked(Evolving, study(right))
    shown = {table.title: {line.names: line.cells for line in table.lines} for table in tables}
    assert shown["Exact match, %"]["full", "NEW ↑"][0] == TextCell("0.00", "≤ 25.89")
    assert shown["F1, %"]["full", "NEW ↑"][0] == TextCell("0.00", "± 0.00"), "an F1 is no count"
    assert BOUND in tables[0].notes


def test_the_other_tables_hold_their_numbers(tables: dict[str, TextTable]) -> None:
    assert cells(tables["Preferred answers, %"])["INITIAL", "sum"] == ["75.00 / 25.00"]
    prompted = cells(tables["Time prompt: exact match, %"])["INITIAL", "NEW ↑"]
    assert prompted == ["20.00", "10.00", "−10.00", "25.00", "–", "1"]
    category = tables["Exact match by category of the answer, %"]
    assert cells(category)["full", "NEW", "Person"] == ["30.00"] and "assumptions" in category.notes[0]
    leaked = tables["Answers that stand in their questions"]
    assert cells(leaked)["NEW", "2023-03", "INITIAL"] == ["10", "1", "2", "1", "11.11"]
    overlaps = {line.names: line.cells for line in tables["Words that questions share with their contexts, %"].lines}
    assert overlaps["DPR", "NEW"] == (TextCell("25.00", "hits 40.00 %, right 75.00 and 16.67 %"),)
    norms = cells(tables["Gradient norms"])["norm", "2023-03", "INITIAL"]
    assert norms == ["5.000", "3.500", "−1.500", "−2.500", "2"]
    effects = tables["By difficulty: hardest − easiest, exact match"]
    assert effects.columns == ("distance",) and cells(effects)["full", "NEW"] == ["−60.00"]
    groups = {line.names: line.cells for line in tables["Exact match by distance, %"].lines}["full", "NEW"]
    assert [cell.text for cell in groups] == ["60.00", "–", "0.00", "−60.00", "−60.00"]
    assert [cell.under for cell in groups][:3] == ["± 24.49, 0, n 5", "", "≤ 45.07, 1, n 5"]
    assert cells(tables["Examples"]) == {("questions@1", "new"): ["30"]}
    assert tables["Left out"].lines[0].cells == (TextCell("10", "25.0 % of 40"),)
    assert list(cells(tables["Counts"])) == [("questions@1", "calls", "judge")]
    assert tables["Counts"].notes == ("Not listed, as they have more than 8 classes: words of questions@1.",)


def test_the_page_shows_main_tables_at_once_and_others_on_demand(html: str) -> None:
    told = " ".join(re.sub(r"<[^>]+>", " ", html).split())
    assert "Exact match, %" in told and "30.00 (± 14.49)" in told and "+70.00 (+30.00 to +100.00)" in told
    assert [html.count(f"<summary>{name}") for name in ("F1, %", "Exact match, %", "Gradient norms")] == [1, 0, 1]
    assert '<td class="prose">q0 &lt;b&gt;' in html and "q0 <b>" not in html
    assert 'class="num first best">40.00' in html and 'id="evolving-charts"' in html


def test_the_charts_have_f1_by_set_and_the_gradients_of_both_sets(report: Report) -> None:
    bars, gradients = (one["charts"] for one in payload(report)["sections"] if one["id"] != "ages")
    assert [one["title"].split(",")[0] for one in bars] == [
        f"F1 on {name}" for name in ("UNCHANGED", "NEW", "OUTDATED", "UPDATED")
    ]
    assert {one["name"]: one["y"] for one in bars[1]["series"]} == {
        **{"INITIAL": [20, 20], "full": [30, 40], "DPR": [40, None]}
    }
    assert len({one["color"] for one in bars[1]["series"]}) == 3
    (scatter,) = gradients
    assert [(one["name"], list(map(round, one["x"])), one["y"]) for one in scatter["series"]] == [
        ("NEW", [1, 1, 5], [2, 4, 9]),
        ("EDITED", [1, 5], [1, 6]),
    ]


def js(expression: str, data: dict[str, Any]) -> Any:
    engine = Context()
    engine.set("input", json.dumps(data))
    scripts = [asset(name).read_text(encoding="utf-8") for name in CHARTS]
    engine.eval("\n".join(["'use strict'; const report = JSON.parse(input);", *scripts]))
    return json.loads(engine.eval(f"JSON.stringify({expression})"))


def test_bars_beside_each_other_are_as_high_as_their_values(report: Report) -> None:
    data = payload(report)
    data["sections"] = [one for one in data["sections"] if one["id"] != "ages"]
    body = js("barChart(specOf(report.sections[0].charts[1]), 500).body", data)
    bars = [(float(x), float(h)) for x, h in re.findall(r'<rect x="([\d.]+)"[^>]* height="([\d.]+)"', body)]
    assert len(bars) == 5  # DPR was not asked in April
    assert [round(h / bars[0][1], 2) for _, h in bars] == [1, 1, 1.5, 2, 2]
    assert len({x for x, _ in bars}) == 5
    charts = js("report.sections[1].charts.map((one) => lineChart(specOf(one), 500).body)", data)
    assert len(charts) == 1 and charts[0].count("<circle") == 5 and 'class="line"' not in charts[0]
    new, edited = (
        [float(x) for x in re.findall(r'cx="([\d.]+)"', part)] for part in charts[0].split('class="series"')[1:]
    )
    ticks = [(int(text), float(x)) for x, text in re.findall(r'x="([\d.]+)"[^>]*"middle">(\w+)<', charts[0])]
    (a, left), (b, right) = ticks[0], ticks[-1]
    one, five = (left + (count - a) * (right - left) / (b - a) for count in (1, 5))
    assert max(new[:2]) < one < edited[0] and new[2] < five < edited[1] and new[0] != new[1], "beside their numbers"


def test_the_answer_says_who_gives_outdated_answers_at_the_last_month(report: Report) -> None:
    (answer,) = report.answers
    assert f"{answer.sentence} {answer.more}".strip().endswith(
        "On the edited questions of 2023-04, full (−70.00 points, 95 %: −100.00 to −30.00) gives outdated answers "
        "less often than updated ones; INITIAL (+70.00 points, 95 %: +30.00 to +100.00) gives outdated answers more "
        "often than updated ones."
    )
    metrics = report.results[0].metrics
    even = study(stale={key: held[::-1] for key, held in RIGHT.items() if key[0] == "edited"}, metrics=metrics)
    (same,) = Report([even]).answers
    told = "INITIAL (0.00 points, 95 %: −30.00 to +30.00) and full (0.00 points"
    assert told in f"{same.sentence} {same.more}"
    assert "give outdated answers about as often as updated ones." in f"{same.sentence} {same.more}"
    early = study({key: held for key, held in RIGHT.items() if key[1] != "202304"}, metrics=metrics)
    (before,) = Report([early]).answers
    assert "On the edited questions of 2023-03, INITIAL (+70.00" in f"{before.sentence} {before.more}"


def test_without_any_right_answer_no_row_is_called_best_nor_as_outdated_as_updated() -> None:
    wrong = {key: [0] * 10 for key in RIGHT}
    metrics = {"new@1": TaskMetric("exact-match", True)}
    none = Report([study(wrong, {key: [0] * 10 for key in RIGHT if key[0] == "edited"}, metrics=metrics)])
    assert "edited questions" not in " ".join(f"{one.sentence} {one.more}" for one in none.answers)
    tables = tables_of(none, "evolving")
    assert not any(cell.stands_out for table in tables for line in table.lines for cell in line.cells)
    (apart,) = (one for one in tables if one.title == "OUTDATED − UPDATED, exact match")
    assert {cell for line in apart.lines for cell in line.cells} == {TextCell("0.00")}


def test_the_files_and_the_json_hold_every_frame(report: Report, tmp_path: Path) -> None:
    write(report, tmp_path)
    found = {path.name for path in tmp_path.glob("evolving_*.csv")}
    assert found == {f"{name}.csv" for name in part_of(report, "EvolvingQA").files()} and len(found) == 15
    rows = list(csv.DictReader((tmp_path / "evolving_scores.csv").open()))
    assert {row["set"] for row in rows} == {"UNCHANGED", "NEW", "OUTDATED", "UPDATED"} and rows[0]["n"] == "10"
    told = json.loads(as_json(report))
    assert told["evolving_differences"][0]["difference"] == pytest.approx(0.7)
    assert (tmp_path / "figures" / "evolving-wiki.svg").exists()
    assert (tmp_path / "figures" / "gradients-wiki-initial-before-2023-03.png").exists()


def test_the_command_prints_the_main_tables_and_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = ASKED.model_copy(update={"preferred": "choose"})
    plain = study(asked=[asked], metrics={"new@1": TaskMetric("exact-match", True)})
    publish(Report([plain], request=ReportRequest()), Store(tmp_path))
    printed = capsys.readouterr().out
    assert "EvolvingQA, evolving: Exact match, %" in printed and "evolving: OUTDATED − UPDATED" in printed
    assert "missing: evolving: preferred has no scores yet" in printed and "F1, %" not in printed


def test_a_report_without_the_block_is_as_before() -> None:
    plain = Report([tic_lm(1, ["wiki-qa@1"])])
    assert tables_of(plain, "evolving") == [] and terminal_tables(plain) == []
    assert 'id="evolving"' not in page(*plain.results)
    assert not any(name.startswith("evolving") for name in json.loads(as_json(plain)))
