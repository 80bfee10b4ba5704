"""Studies of many methods: which pairs are compared, with the same numbers, and what is said of the others."""

import dataclasses
import json
from itertools import combinations

import pandas as pd
import pytest
from reports import tic_lm

from ticlm.platform.analysis import paired_bootstrap
from ticlm.platform.analysis.leaders import best_overall, leaders
from ticlm.platform.report.page_data import payload
from ticlm.platform.report.report import Report
from ticlm.platform.report.request import ReportRequest
from ticlm.platform.report.write import as_json


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paired_bootstrap, "COMPARED", 4)


@pytest.mark.usefixtures("few")
def test_of_many_methods_the_best_are_compared_with_all_others_and_nothing_else_changes() -> None:
    result = tic_lm(methods=7, tasks=["tic-cc@1", "wiki-qa@1"])
    some, every = Report([result]), Report([result], request=ReportRequest(all_pairs=True))
    whole = every.differences
    for view in some.views[0]:
        first = leaders(view, some.summary)
        assert {"oracle", best_overall(view, some.summary)} <= set(first) and len(first) < 8
        names = [method.name for method in result.methods]
        wanted = [pair for pair in combinations(names, 2) if set(pair) & set(first)]
        own = some.differences.query("task == @view.task and source == @view.source and mean == 'forward'")
        assert list(zip(own["method_a"], own["method_b"])) == wanted
    keys = ["task", "source", "mean", "method_a", "method_b"]
    same = some.differences[keys].merge(whole, on=keys)
    numbers = ["difference", "low", "high", "cells", "missing"]
    pd.testing.assert_frame_equal(some.differences[numbers], same[numbers], rtol=1e-12)
    assert len(whole) == len(some.views[0]) * 3 * 28 > len(some.differences)
    assert some.answers == every.answers


@pytest.mark.usefixtures("few")
def test_what_is_not_compared_is_said_with_the_way_to_ask_for_it() -> None:
    some = Report([tic_lm(methods=7, tasks=["tic-cc@1"])])
    (line,) = some.left_out
    assert "of 28 pairs" in line and "--all-pairs" in line and line in some.missing
    assert line in json.loads(as_json(some))["missing"]
    view = payload(some)["studies"][0]["views"][0]
    positions = {*range(8)}
    for against in view["differences"]["against"]:  # the page offers only what has a difference from every other
        beside = {(a, b) for a, b, *_ in view["differences"]["forward"] if against in (a, b)}
        assert {place for pair in beside for place in pair} == positions


def test_up_to_thirty_two_methods_every_two_are_compared() -> None:
    some = Report([tic_lm(methods=7, tasks=["tic-cc@1"])])
    assert some.left_out == [] and "against" not in payload(some)["studies"][0]["views"][0]["differences"]


def test_beside_a_method_with_missing_cells_the_best_without_any_leads() -> None:
    result = tic_lm(methods=3, tasks=["stackoverflow@1"])
    cells = result.cells
    lower = cells["method"] == "cyclic-rsqrt"
    cells = cells.assign(value=cells["value"].where(~lower, cells["value"] - 1))
    result = dataclasses.replace(result, cells=cells.drop(cells.index[lower][[0, -1]]))
    report = Report([result])
    (view,), rows = report.views[0], report.summary.set_index("method")
    assert rows["backward_missing"].to_dict()["cyclic-rsqrt"] > 0
    others = rows.loc[["cyclic-cosine", "cyclic-cosine+ar"], "backward"]
    assert best_overall(view, report.summary) == "cyclic-rsqrt"
    assert {"cyclic-rsqrt", "oracle", others.idxmin()} <= set(leaders(view, report.summary))
