"""All benchmarks of a report in one table, and TemporalWiki's: on the page, in the terminal, in files and answers."""

import csv
import dataclasses
import io
import json
import re
from html.parser import HTMLParser
from math import exp
from pathlib import Path

import pytest
from factsets import MONTHS, every_benchmark, facts, study
from parts import tables_of, terminal_tables
from reports import page, tic_lm
from rich.console import Console

from ticlm.core.store import Store
from ticlm.platform.cli.report import publish
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable, split, terminal
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.report.write import as_json, write
from ticlm.platform.results.study_result import TaskMetric


@pytest.fixture(scope="module")
def report() -> Report:
    return Report([every_benchmark()], request=ReportRequest())


@pytest.fixture(scope="module")
def html(report: Report) -> str:
    return page(*report.results)


@pytest.fixture(scope="module")
def pair_report() -> Report:
    return Report([study()], request=ReportRequest())


def cells(table: TextTable) -> dict[tuple[str, ...], list[str]]:
    return {line.names: [cell.text for cell in line.cells] for line in table.lines}


class Tables(HTMLParser):
    """The widths in columns of the rows of each table, and headings without a scope."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tables: list[list[int]] = []
        self.bare: list[str] = []
        self._held: dict[int, int] = {}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = dict(attrs)
        if tag == "table":
            self.tables.append([])
            self._held = {}
        elif tag == "tr":
            self.tables[-1].append(self._held.get(len(self.tables[-1]), 0))
        elif tag in ("th", "td"):
            wide, high = (int(found.get(name) or 1) for name in ("colspan", "rowspan"))
            row = len(self.tables[-1]) - 1
            self.tables[-1][row] += wide
            for below in range(row + 1, row + high):
                self._held[below] = self._held.get(below, 0) + wide
            if tag == "th" and not found.get("scope"):
                self.bare.append(str(found))


def test_the_table_of_all_benchmarks_has_a_group_of_columns_for_each(report: Report) -> None:
    (table,) = tables_of(report, "benchmarks")
    assert table.groups == (
        ("TiC-LM: held-out text, log-perplexity, nats", 3),
        ("FUAR", 1),
        ("EvolvingQA: exact match, %", 4),
        ("TemporalWiki: perplexity", 3),
    )
    assert table.columns == (
        *("Bwd. ↓", "ID ↓", "Fwd. ↓", "ckl ↓", "UNCHANGED ↑", "NEW ↑", "OUTDATED ↓", "UPDATED ↑", "Un. ↓", "C. ↓"),
        "Avg. ↓",
    )
    assert [line.names for line in table.lines] == [("INITIAL",), ("FULL",), ("Mix-Review",), ("K-Adapter",)]
    shown = cells(table)
    assert shown["INITIAL",][:4] == ["–"] * 4 and shown["FULL",][:4] == ["3.267", "3.000", "3.400", "0.55"]
    below = {line.names: [cell.under for cell in line.cells] for line in table.lines}["FULL",]
    assert below[3] == "0.19 to 1.27" and below[4] == "± 7.00" and below[5] == "± 4.95"


def test_the_pairs_of_a_block_stand_by_month_and_over_all_months(pair_report: Report) -> None:
    table, apart = tables_of(pair_report, "temporalwiki")
    assert table.groups == (("2023-03", 3), ("2023-04", 3), ("all months", 3)) and table.title == "Perplexity"
    kept, moved = (exp(9 / 6), exp(12 / 6)), (exp(9 / 6), exp(6 / 6))
    by_month = [(a, b, (a + b) / 2) for a, b in zip(kept, moved)]
    over = [sum(one) / 2 for one in zip(*by_month)]
    assert cells(table)["a",] == [f"{x:.2f}" for row in (*by_month, over) for x in row]
    held = {line.names: line.cells for line in table.lines}
    assert held["INITIAL",][0] == TextCell(f"{exp(1):.2f}", f"± {exp(1) / 10:.2f}", stands_out=True)
    assert [cell.stands_out for cell in held["b",]] == [False] * 3 + [True, False, True] + [False, False, True]
    assert held["b",][3].text == held["INITIAL",][3].text and held["INITIAL",][3].stands_out, "both are best"
    assert apart.title == "Ratio to the perplexity of a" and list(cells(apart)) == [("INITIAL",), ("b",)]
    assert cells(apart)["b",] == [f"{exp(x):.3f}" for x in (-2 / 6, 2 / 6, -1, 3 / 6)]
    assert "arithmetic mean" in table.notes[0] and "delta method" in table.notes[1]


def test_a_cell_that_is_missing_is_a_dash_and_a_line(pair_report: Report) -> None:
    of = pair_report.results[0]
    gone = (of.cells["method"] == "b") & (of.cells["task"] == "moved@1") & (of.cells["trained"] == "202303")
    lost = Report([dataclasses.replace(of, cells=of.cells[~gone])])
    table = tables_of(lost, "temporalwiki")[0]
    assert cells(table)["b",][1:3] == ["–", "–"] and cells(table)["b",][7:] == [f"{exp(9 / 6):.2f}†", "–"]
    assert table.notes[-1].startswith("† a month is missing")
    assert "temporalwiki, b: no C. (moved) at 202303" in lost.missing
    other = of.cells[of.cells["task"] == "kept@1"].assign(task="perplexity@1")
    nothing = Report([dataclasses.replace(of, cells=other, predictions=None)])
    assert "temporalwiki: has no scores yet" in nothing.missing and tables_of(nothing, "temporalwiki") == []


def test_the_page_has_all_benchmarks_before_the_charts_and_temporalwiki_behind_evolvingqa(html: str) -> None:
    order = [html.index(f'id="{name}"') for name in ("benchmarks", "choice", "evolving", "temporalwiki", "facts")]
    assert order == sorted(order)
    assert all(f'<a href="#{name}">' in html for name in ("benchmarks", "temporalwiki", "facts", "matrices"))
    own = html.split('<section id="benchmarks">')[1].split("</section>")[0]
    told = " ".join(re.sub(r"<[^>]+>", " ", own).split())
    assert "TiC-LM held-out text, log-perplexity, nats" in told and "0.55 (0.19 to 1.27)" in told
    assert own.count('<i class="swatch"') == 3, "INITIAL is no method"
    assert own.count('aria-label="lower is better"') == 8 and own.count('aria-label="higher is better"') == 3


def test_every_row_of_a_table_is_as_wide_as_its_head_and_every_heading_has_a_scope(html: str) -> None:
    found = Tables(
        "".join(part.split("</section>")[0] for part in re.split(r'<section id="(?=bench|temp|facts)', html)[1:])
    )
    assert found.bare == [] and len(found.tables) == 4
    assert all(len(set(widths)) == 1 for widths in found.tables) and found.tables[0][0] == 12


def test_facts_that_two_benchmarks_ask_for_stand_with_their_agreement(report: Report) -> None:
    (table,) = tables_of(report, "facts")
    assert table.names == ("Method", "First task", "Second task") and len(table.lines) == 9
    found = {line.names: line.cells for line in table.lines}["FULL", "kept, 2023-04", "new, 2023-04"]
    assert [cell.text for cell in found[:2]] == ["2023-04", "40"] and found[2].text.startswith("PPL ")
    assert table.columns[4] == "agreement", "no column for what is right in both where one is a perplexity"
    assert found[4].text.startswith("ρ") and " to " in found[4].under
    assert len(table.notes) == 3, "φ is not explained where it is not used"


def test_wide_tables_are_split_on_the_page_and_their_notes_stand_once() -> None:
    of = every_benchmark()
    twice = of.tables[-1].model_copy(update={"name": "again"})
    shown = page(dataclasses.replace(of, tables=(*of.tables, twice)))
    own = shown.split('<section id="benchmarks">')[1].split("</section>")[0]
    assert [widths[0] for widths in Tables(own).tables] == [12, 4] and own.count('class="note"') == 1


def test_a_share_of_nothing_right_has_a_bound_or_no_error() -> None:
    of = every_benchmark()
    none = of.cells["task"].isin(["unchanged@1", "new@1"]) & (of.cells["method"] == "FULL")
    cells = of.cells.assign(value=of.cells["value"].where(~none, 0.0), stderr=of.cells["stderr"].where(~none, 0.0))
    (table,) = tables_of(Report([dataclasses.replace(of, cells=cells)]), "benchmarks")
    below = {line.names: [cell.under for cell in line.cells] for line in table.lines}["FULL",]
    bounds = [100 * (1 - 0.05 ** (1 / n)) for n in (40, 80)]
    assert below[4:6] == [f"≤ {bound:.2f}" for bound in bounds], "the questions of UNCHANGED are always the same"
    wrong = study().cells.assign(metric="exact-match", value=0.0, stderr=0.0)
    right = {f"{name}@1": TaskMetric("exact-match", True) for name in ("kept", "moved")}
    table = tables_of(Report([study(cells=wrong, metrics=right)]), "temporalwiki")[0]
    assert {(cell.text, cell.under) for line in table.lines for cell in line.cells} == {("0.00", "")}


def test_the_terminal_shows_the_overview_and_the_pairs_in_parts_that_fit(report: Report) -> None:
    tables = [table for table in terminal_tables(report) if table.groups]
    assert [table.title for table in tables] == [
        *("All benchmarks", "", "", "TemporalWiki: Perplexity", "", "TemporalWiki: Ratio to the perplexity of FULL")
    ]
    assert all(len(table.columns) <= 6 for table in tables)
    out = io.StringIO()
    for table in tables:
        Console(file=out, width=100).print(terminal(table))
    assert "2023-03" in out.getvalue() and "EvolvingQA: exact match, %" in out.getvalue()


def test_a_table_is_split_between_its_groups() -> None:
    line = TextLine(("a",), tuple(TextCell(str(k)) for k in range(5)))
    whole = TextTable("t", ("m",), tuple("vwxyz"), (line,), groups=(("one", 2), ("two", 1), ("three", 2)))
    parts = split(whole, 3)
    assert [part.columns for part in parts] == [("v", "w", "x"), ("y", "z")]
    assert [part.groups for part in parts] == [(("one", 2), ("two", 1)), (("three", 2),)]
    assert [cell.text for cell in parts[1].lines[0].cells] == ["3", "4"]
    plain = dataclasses.replace(whole, groups=())
    assert [part.columns for part in split(plain, 2)] == [("v", "w"), ("x", "y"), ("z",)]
    assert split(whole, 1)[0].columns == ("v", "w"), "a group stays whole"


def test_the_files_and_the_json_hold_every_frame_and_old_files_go(tmp_path: Path) -> None:
    same = facts([(task, month, "f0", "Q1/P19") for task in ("kept", "moved") for month in MONTHS])
    report = Report([study(facts=same)], request=ReportRequest())
    write(report, tmp_path)
    files = {"overview", "pairs", "pair_means", "pair_differences", "facts"}
    assert {path.stem for path in tmp_path.glob("benchmarks_*")} == {f"benchmarks_{name}" for name in files}
    rows = list(csv.DictReader((tmp_path / "benchmarks_pairs.csv").open()))
    assert {row["part"] for row in rows} == {"Un.", "C.", "Avg."} and float(rows[0]["value"]) > 1
    told = json.loads(as_json(report))
    assert {name for name in told if name.startswith("benchmarks_")} == {f"benchmarks_{name}" for name in files}
    own = {(row["benchmark"], row["part"], row["row"]): row for row in told["benchmarks_overview"]}
    assert own["TemporalWiki", "C.", "INITIAL"]["value"] == pytest.approx(exp(2))
    assert own["TiC-LM", "ID", "a"]["stderr"] is None
    write(Report([study(tables=())], request=ReportRequest()), tmp_path)
    assert list(tmp_path.glob("benchmarks_*")) == []


def test_the_command_prints_both_and_what_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of = study()
    gone = (of.cells["method"] == "b") & (of.cells["trained"] == "202304")
    publish(Report([dataclasses.replace(of, cells=of.cells[~gone])], request=ReportRequest()), Store(tmp_path))
    printed = capsys.readouterr().out
    assert "All benchmarks" in printed and "TemporalWiki: Perplexity" in printed
    assert "missing: temporalwiki, b: no Un. (kept) at 202304" in printed


def test_the_answer_names_the_best_on_changed_and_on_unchanged_facts(pair_report: Report) -> None:
    (answer,) = pair_report.answers
    changed, kept = (exp(9 / 6) + exp(6 / 6)) / 2, exp(1)
    assert f"{answer.sentence} {answer.more}".endswith(
        f"On TemporalWiki's facts, a has the lowest perplexity of those that changed ({changed:.2f}), "
        f"INITIAL of those that did not ({kept:.2f}), in the mean over months."
    )
    of = pair_report.results[0]
    shares = of.cells.assign(metric="exact-match", value=[0.1 + 0.01 * k for k in range(len(of.cells))])
    right = {f"{name}@1": TaskMetric("exact-match", True) for name in ("kept", "moved")}
    (shown,) = Report([dataclasses.replace(of, cells=shares, metrics=right)]).answers
    assert "b has the highest exact match of those that changed (24.00 %) and of those that did not (23.00 %)" in (
        f"{shown.sentence} {shown.more}"
    )
    alike = Report([dataclasses.replace(of, cells=of.cells.assign(value=1.0))]).answers
    assert "TemporalWiki" not in " ".join(f"{one.sentence} {one.more}" for one in alike)


def test_studies_stand_side_by_side_with_their_names(report: Report) -> None:
    both = Report([*report.results, every_benchmark("again", 1)])
    (table,) = tables_of(both, "benchmarks")
    assert table.names == ("Method", "Study")
    assert [line.names for line in table.lines[:5:4]] == [("INITIAL", "all"), ("INITIAL", "again")]
    titles = [(one.heading, one.title) for one in tables_of(both, "temporalwiki") if one.main]
    assert titles[::2] == [("temporalwiki (all)", "Perplexity"), ("temporalwiki (again)", "Perplexity")]


def test_a_report_of_one_benchmark_is_as_before() -> None:
    plain = Report([tic_lm(1, ["wiki-qa@1"])])
    assert [one.id for one in plain.sections] == ["ages"] and terminal_tables(plain) == []
    shown = page(*plain.results)
    assert 'id="benchmarks"' not in shown and 'id="temporalwiki"' not in shown
    assert not any(name.startswith("benchmarks") for name in json.loads(as_json(plain)))
