"""The scores that EvolvingQA prints, beside those of a report."""

from typing import Any

import pytest
from evolvingsets import whole
from parts import wanted

from ticlm.platform.papers.evolvingqa.compared import COLUMNS, beside_printed
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.evolvingqa.tables import evolving_tables


def test_scores_of_the_papers_months_stand_beside_table_3() -> None:
    scores = evolving_tables(wanted(Evolving, whole())).scores
    found = beside_printed(scores)
    frame: Any = found.frame.set_index(["row", "set", "metric", "month"])
    assert list(found.frame.columns) == list(COLUMNS)
    exact = frame.loc[("full", "NEW", "exact-match", "202304")]
    assert (exact["ours"], exact["paper"]) == (pytest.approx(40.0), 4.64)
    assert frame.loc[("INITIAL", "UNCHANGED", "exact-match", "202303"), "paper"] == 5.17
    assert frame.loc[("DPR", "NEW", "exact-match", "202303"), "paper"] == 18.54
    assert found.table is not None and "by month" in found.lines[0]
    assert all(len(line.cells) == len(found.table.columns) for line in found.table.lines)


def test_of_other_months_the_means_are_compared() -> None:
    scores = evolving_tables(wanted(Evolving, whole())).scores
    found = beside_printed(scores.assign(month=scores["month"].str.replace("2023", "1999")))
    frame: Any = found.frame.set_index(["row", "set", "metric"])
    new = frame.loc[("full", "NEW", "exact-match")]
    assert (new["month"], new["ours"], new["paper"]) == ("", pytest.approx(35.0), pytest.approx(27.03 / 6))
    assert "means over the months" in found.lines[0]


def test_rows_without_a_printed_name_are_left_out() -> None:
    scores = evolving_tables(wanted(Evolving, whole())).scores
    found = beside_printed(scores.assign(row="mine"))
    assert found.table is None and not len(found.frame) and "no row here" in found.lines[0]
