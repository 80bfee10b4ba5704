"""Tables of the user's own: how they are named, what is refused, and how parts of several studies become one."""

import dataclasses
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from parts import part_of, tables_of
from reports import page, tic_lm
from rich.console import Console

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.platform.display.charts import Chart, Series
from ticlm.platform.display.markdown import markdown
from ticlm.platform.display.parts import Headline, Part, Section, Tables, joined
from ticlm.platform.display.text_tables import TextCell, TextLine, TextTable, terminal
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.report.write import as_json, as_markdown, write
from ticlm.platform.results.study_result import StudyResult
from ticlm.platform.study.settings import Study

MODULE = """
from ticlm.platform.display.parts import Part, Section, Tables

class Mine(Tables):
    name: str = "mine"
    fails: bool = False

    def named(self):
        yield "task", "wiki-qa"

    def part(self, study):
        if self.fails:
            raise KeyError("no such column")
        return None

class NoPart(Tables):
    name: str = "none"

    def named(self):
        return ()
"""


class Own(Tables):
    """One number of each method: how many cells it has."""

    name: str = "own"

    def named(self) -> list[tuple[str, str]]:
        return [("task", "wiki-qa")]

    def part(self, study: StudyResult) -> Part:
        cells = study.cells.groupby(["study", "method"], sort=False).size().rename("cells").reset_index()
        lines = tuple(TextLine((m,), (TextCell(str(n), mark="★"),)) for m, n in zip(cells["method"], cells["cells"]))
        table = TextTable("Cells", ("Method",), ("cells",), lines, main=True)
        chart = Chart("Cells", "bar", (Series("cells", list(map(float, cells["cells"]))),), tuple(cells["method"]))
        headline = tuple(
            Headline(study.name, m, self.name, "cells", float(n), str(n))
            for m, n in zip(cells["method"], cells["cells"])
        )
        sections = (Section("own", "Mine", (table,), (chart,)),)
        return Part("Own", {"own": cells}, sections, ((study.name, "It has cells."),), headline)


def of(*tables: Tables, name: str = "tic-lm-3b") -> StudyResult:
    return dataclasses.replace(tic_lm(2, ["wiki-qa@1", "wiki-diff@1"], name=name), tables=tables)


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine_tables.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "mine_tables", raising=False)


def test_a_part_of_ones_own_is_on_the_page_in_the_terminal_in_files_and_in_the_headline(tmp_path: Path) -> None:
    report = Report([of(Own())], request=ReportRequest())
    files = {path.name for path in write(report, tmp_path)}
    assert {"own.csv", "benchmarks_overview.csv", "own-cells.svg", "own-cells.png"} <= files
    html = (tmp_path / "index.html").read_text()
    assert '<section id="own">' in html and '<a href="#own">Mine</a>' in html and 'id="own-charts"' in html
    assert json.loads(as_json(report))["own"][0]["cells"] > 0
    assert "**Cells**" in as_markdown(report) and "| cyclic-cosine |" in as_markdown(report)
    (overview,) = tables_of(report, "benchmarks")
    assert [name for name, _ in overview.groups] == ["TiC-LM: wiki-diff, regret, nats", "Own"]
    assert report.answers[0].more.endswith("It has cells.")


def test_parts_of_several_studies_are_one() -> None:
    report = Report([of(Own()), of(Own(), name="again")], request=ReportRequest())
    own = part_of(report, "Own")
    assert set(own.frames["own"]["study"]) == {"tic-lm-3b", "again"}
    (section,) = own.sections
    assert len(section.tables) == len(section.charts) == 2 and len(own.sentences) == 2
    again = joined([Part("x", missing=("a",)), Part("x", missing=("a", "b"))])
    assert again.missing == ("a", "b")


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (
            [{"kind": "fuarr"}],
            "tables.0: no kind 'fuarr' (did you mean fuar?); there are fuar, probes, evolving, temporalwiki, claims",
        ),
        (
            [{"name": "x"}],
            "evolving, temporalwiki, claims, kept, hops, says, and module:Class",
        ),
        ([3], "tables.0: must be a mapping of settings, got 3"),
        ([{"kind": "mine_tables:Mine"}], "tables.mine.task: no evaluation wiki-qa; there are perplexity@1"),
        ([{"kind": "mine_tables:NoPart"}], "mine_tables:NoPart has no method part, which every Tables needs"),
        ([{"kind": "json:JSONDecoder"}], "json:JSONDecoder is no Tables: derive it from ticlm.platform.display.parts"),
        ([{"kind": "fuar", "invarant": []}], "tables.0.invarant: unknown key (did you mean invariant?)"),
    ],
)
def test_what_is_no_table_is_refused_in_one_line(
    module: None, toy_study: Callable[..., Study], tables: list[Any], said: str
) -> None:
    with pytest.raises(InputError) as found:
        parse(Study, toy_study().model_dump(mode="json") | {"tables": tables}, "study.yaml")
    assert said in str(found.value) and "\n" not in str(found.value)


@pytest.mark.parametrize("key", ["fuar", "evolving", "temporalwiki"])
def test_a_key_of_before_says_what_to_write(toy_study: Callable[..., Study], key: str) -> None:
    with pytest.raises(InputError, match=rf"{key} is no key any more: write tables: \[{{kind: {key}, …}}\]") as found:
        parse(Study, toy_study().model_dump(mode="json") | {key: [{"name": "x"}]}, "study.yaml")
    assert "\n" not in str(found.value)


def test_a_table_of_ones_own_is_written_back_by_its_import_path(module: None, toy_study: Callable[..., Study]) -> None:
    from ticlm.core.extensions import class_at

    kind = class_at("mine_tables:Mine", Tables)
    study = toy_study().model_copy(update={"tables": (kind.model_validate({"fails": True}),)})
    (entry,) = study.model_dump(mode="json")["tables"]
    assert entry == {"kind": "mine_tables:Mine", "name": "mine", "fails": True}


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        (True, "tables.mine: mine_tables:Mine.part raised KeyError: 'no such column' (mine_tables.py:13)"),
        (False, "tables.mine: part of mine_tables:Mine must return a Part, it returned NoneType"),
    ],
)
def test_a_table_that_fails_or_returns_no_part_is_one_line(module: None, fails: bool, said: str) -> None:
    from ticlm.core.extensions import class_at

    kind = class_at("mine_tables:Mine", Tables)
    with pytest.raises(InputError) as found:
        _ = Report([of(kind.model_validate({"fails": fails}))]).parts  # type: ignore[arg-type]
    assert str(found.value) == said


def test_two_tables_of_one_name_and_two_parts_with_one_file_are_refused(toy_study: Callable[..., Study]) -> None:
    fuar = {"kind": "fuar", "name": "x", "invariant": ["perplexity/a"], "new": ["perplexity/b"]}
    with pytest.raises(InputError, match="tables: x is named twice; give each its own name"):
        parse(Study, toy_study().model_dump(mode="json") | {"tables": [fuar, fuar]}, "study.yaml")

    class Other(Own):
        def part(self, study: StudyResult) -> Part:
            return dataclasses.replace(super().part(study), name="Other")

    with pytest.raises(InputError, match=r"tables: Own and Other both have a file own; give one another name"):
        _ = Report([of(Own(), Other(name="other"))]).parts


def test_a_page_without_matrices_draws_its_charts() -> None:
    study = of(Own())
    bare = dataclasses.replace(study, cells=study.cells.assign(source="wiki"))
    html = page(bare)
    assert "drawSections" in html and 'id="own-charts"' in html


def test_a_table_reads_the_same_in_markdown_and_in_the_terminal() -> None:
    lines = (
        TextLine(("a",), (TextCell("1.0", "± 0.1", True, "★"), TextCell("x|y")), "2 seeds", "first"),
        TextLine(("b",), (TextCell("2.0"), TextCell("–")), block="second"),
    )
    table = TextTable("T", ("Method",), ("Bwd.", "ID"), lines, ("Note.",), groups=(("text: nats", 2),))
    assert markdown(table).splitlines() == [
        *("**T**", "", "| Method | text Bwd. | text ID |", "| --- | ---: | ---: |", "| *first* |  |  |"),
        *("| a · 2 seeds | **1.0★** (± 0.1) | x\\|y |", "| *second* |  |  |", "| b | 2.0 | – |", "", "Note."),
    ]
    console = Console(width=80, record=True)
    console.print(terminal(table))
    said = console.export_text()
    assert all(text in said for text in ("first", "second", "2 seeds", "(± 0.1)", "1.0★", "text: nats"))


def test_names_that_are_no_file_and_no_link_are_refused() -> None:
    with pytest.raises(InputError, match=r"part Own: file must be letters, .*, got '\.\./a'"):
        Part("Own", {"../a": pd.DataFrame()})
    with pytest.raises(InputError, match=r"section Mine: id must be letters, .*, got 'my section'"):
        Section("my section", "Mine")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"frames": {"summary": pd.DataFrame({"x": [1]})}}, "every report and Own both have a file summary"),
        ({"sections": (Section("matrices", "Mine"),)}, "every report and Own both have a section matrices"),
    ],
)
def test_what_every_report_has_is_not_overwritten(change: dict[str, Any], said: str) -> None:
    class Taken(Own):
        def part(self, study: StudyResult) -> Part:
            return dataclasses.replace(super().part(study), **change)

    with pytest.raises(InputError, match=f"tables: {said}; give one another name"):
        _ = Report([of(Taken())]).parts


def test_two_entries_of_one_class_have_one_part_and_so_one_name() -> None:
    class Named(Own):
        def part(self, study: StudyResult) -> Part:
            return dataclasses.replace(super().part(study), name=self.name)

    with pytest.raises(InputError, match="all parts of one class must have one name, got a, b; put"):
        _ = Report([of(Named(name="a"), Named(name="b"))]).parts
