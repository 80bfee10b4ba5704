"""The numbers that EvolvingQA prints, beside those of a report."""

import dataclasses
from typing import Any

import pytest
from evolvingsets import whole
from parts import wanted

from ticlm.platform.display.parts import Printed
from ticlm.platform.papers.evolvingqa.compared import COLUMNS, beside_printed
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.evolvingqa.settings import EvolvingRequest
from ticlm.platform.papers.evolvingqa.tables import evolving_tables
from ticlm.platform.study.settings import load


def compared(tables: tuple[str, ...] = ("3", "5"), **changes: Any) -> Printed:
    """The comparison of the whole study; `changes` are of all columns of its scores and preferred answers."""
    asked = [(study, one.model_copy(update={"printed": tables})) for study, one in wanted(Evolving, whole())]
    found = evolving_tables(asked)
    frames = {name: getattr(found, name).assign(**changes) for name in ("scores", "preferred")}
    return beside_printed(asked, dataclasses.replace(found, **frames))


def test_scores_of_the_papers_months_stand_beside_table_3() -> None:
    found = compared(("3",))
    frame: Any = found.frame.set_index(["row", "set", "metric", "month"])
    assert list(found.frame.columns) == list(COLUMNS) and set(found.frame["table"]) == {"3"}
    exact = frame.loc[("full", "NEW", "exact-match", "202304")]
    assert (exact["ours"], exact["paper"]) == (pytest.approx(40.0), 4.64)
    assert frame.loc[("INITIAL", "UNCHANGED", "exact-match", "202303"), "paper"] == 5.17
    assert frame.loc[("DPR", "NEW", "exact-match", "202303"), "paper"] == 18.54
    (table,) = found.tables
    assert "by month" in found.lines[0] and any("Table 3 gives no number of questions" in note for note in table.notes)
    assert all(len(line.cells) == len(table.columns) for line in table.lines)


def test_preferred_answers_stand_beside_table_5() -> None:
    found = compared()
    frame: Any = found.frame[found.frame["table"] == "5"].set_index(["row", "set", "month"])
    assert [table.title for table in found.tables] == ["EvolvingQA, Table 3", "EvolvingQA, Table 5"]
    stale, right = (frame.loc[("INITIAL", name, "202303")] for name in ("OUTDATED", "UPDATED"))
    assert (stale["paper"], right["paper"]) == (53.33, 46.67)
    assert (stale["ours"], right["ours"]) == (pytest.approx(75), pytest.approx(25))


def test_of_other_months_the_means_are_compared() -> None:
    found = compared(month=lambda frame: frame["month"].str.replace("2023", "1999"))
    frame: Any = found.frame.set_index(["table", "row", "set", "metric"])
    new = frame.loc[("3", "full", "NEW", "exact-match")]
    assert (new["month"], new["ours"], new["paper"]) == ("", pytest.approx(35.0), pytest.approx(27.03 / 6))
    assert "means over the months" in found.lines[0]


def test_a_study_that_names_no_table_shows_no_printed_number() -> None:
    found = compared(())
    assert not found.tables and not len(found.frame) and 'printed: ["3"]' in found.lines[0]


def test_rows_without_a_printed_name_are_left_out() -> None:
    found = compared(row="mine")
    assert not found.tables and not len(found.frame) and "no row here" in found.lines[0]


@pytest.mark.parametrize(
    ("study", "tables"), [("evolvingqa", ("3", "5")), ("evolvingqa-dpr", ("3",)), ("evolvingqa-synthetic", ())]
)
def test_packaged_studies_name_the_tables_that_they_are_runs_of(study: str, tables: tuple[str, ...]) -> None:
    (asked,) = (one for one in load(study).tables if isinstance(one, EvolvingRequest))
    assert asked.printed == tables
