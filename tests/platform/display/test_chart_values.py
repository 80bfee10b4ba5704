"""Charts as values: what they refuse, and that one script draws each kind in the page and in files."""

import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from quickjs import Context

from ticlm.core.errors import InputError
from ticlm.platform.display.charts import Axis, Chart, Series
from ticlm.platform.display.palette import Style
from ticlm.platform.display.templates import asset
from ticlm.platform.report.figures import CHARTS, draw
from ticlm.platform.report.page_data import CONSTANTS

MONTHS = ("202301", "202302", "202303")
KINDS = {
    "line": Chart("loss", "line", (Series("a", [1.0, 2.0, 3.0]), Series("b", [3.0, None, 1.0])), MONTHS),
    "points": Chart("norms", "points", (Series("a", [1.0, 2.0], x=[0.5, 1.5]),), x=Axis("entities", "count")),
    "bar": Chart("F1", "bar", (Series("a", [1.0, 2.0, 3.0]), Series("b", [3.0, None, 1.0])), MONTHS),
    "heat": Chart("matrix", "heat", (Series("202301", [1.0, 2.0, 3.0]), Series("202302", [2.0, None, 1.0])), MONTHS),
}


def payload(chart: Chart) -> dict[str, Any]:
    return chart.payload(lambda study, method: None, "mine")


def report(*charts: Chart) -> dict[str, Any]:
    return {**CONSTANTS, "studies": [], "sections": [{"id": "mine", "charts": [payload(one) for one in charts]}]}


def drawn(chart: Chart) -> str:
    engine = Context()
    engine.set("input", json.dumps(report(chart), allow_nan=False))
    scripts = [asset(name).read_text(encoding="utf-8") for name in CHARTS]
    engine.eval("\n".join(["'use strict'; const report = JSON.parse(input);", *scripts]))
    body = engine.eval("drawOf(report.sections[0].charts[0])(specOf(report.sections[0].charts[0]), 500).body")
    assert isinstance(body, str) and "NaN" not in body
    return body


def test_a_line_has_a_gap_where_a_value_is_missing() -> None:
    first, second = re.findall(r'class="line" d="([^"]*)"', drawn(KINDS["line"]))
    assert (first.count("M"), first.count("L")) == (1, 2) and (second.count("M"), second.count("L")) == (2, 0)


def test_an_axis_goes_below_zero_and_marks_a_value_and_few_cells_are_hollow() -> None:
    line = Series("a", [0.1, 0.0, 0.3], x=[-5, 0, 5], hollow=[True, False, False])
    chart = Chart("age", "line", (line,), x=Axis("age", "plus", whole=True, line=0), y=Axis("regret", line=0))
    body = drawn(chart)
    assert body.count('stroke-dasharray="4 4"') == 2 and ">−5<" in body and ">+5<" in body
    assert body.count('r="3.2" fill="#ffffff"') == 1 and drawn(KINDS["line"]).count("stroke-dasharray") == 0


def test_bars_points_and_cells_are_as_many_as_their_values() -> None:
    assert drawn(KINDS["bar"]).count("<rect") == 5
    assert drawn(KINDS["points"]).count("<circle") == 2
    assert drawn(KINDS["heat"]).count("<rect") == 5
    stacked = Chart("F1", "bar", KINDS["bar"].series, MONTHS, stacked=True)
    heights = [float(h) for h in re.findall(r'height="([\d.]+)"', drawn(stacked))]
    assert len(heights) == 5 and heights[0] == pytest.approx(heights[3] / 3, rel=0.02), "1 of a stands under 3 of b"


def test_every_kind_is_a_file_and_charts_of_one_figure_share_it(tmp_path: Path) -> None:
    shared = [Chart(name, "line", KINDS["line"].series, MONTHS, figure=("both",)) for name in ("x", "y")]
    names = {path.name for path in draw(report(*KINDS.values(), *shared), tmp_path)}
    titles = ("loss", "norms", "f1", "matrix")
    assert names == {
        f"{name}.{ending}" for name in (*(f"mine-{one}" for one in titles), "both") for ending in ("svg", "png")
    }
    assert "loss" in (tmp_path / "mine-loss.svg").read_text(), "a file says what it shows"


def test_a_series_has_the_look_of_its_method_or_a_colour_of_its_own() -> None:
    chart = Chart(
        "c", "line", (Series("a", [1.0], method="a"), Series("b", [1.0]), Series("c", [1.0], color="#123456")), ("1",)
    )
    own = chart.payload(lambda study, method: Style("#ff0000", "4 3", "square") if method == "a" else None, "s")[
        "series"
    ]
    assert (own[0]["color"], own[0]["dash"], own[0]["marker"]) == ("#ff0000", "4 3", "square")
    assert own[1]["color"] not in ("#ff0000", "#123456") and own[2]["color"] == "#123456"


@pytest.mark.parametrize(
    ("series", "more", "said"),
    [
        (Series("a", [1.0, 2.0]), {"labels": MONTHS}, "chart c: series a has 2 values for 3 labels"),
        (Series("a", [1.0], x=[1.0, 2.0]), {}, "chart c: series a has 1 values for 2 x"),
        (Series("a", [1.0], tips=["x", "y"]), {"labels": ("1",)}, "chart c: series a has 2 tips for 1 values"),
        (Series("a", [math.inf]), {"labels": ("1",)}, "chart c: series a has an infinite value"),
        (Series("a", [1.0], x=[1.0]), {"kind": "bar"}, "chart c: bar needs labels, a name for each place along x"),
        (Series("a", [-1.0]), {"kind": "bar", "labels": ("1",)}, "chart c: series a has a value below 0, which no bar"),
        (Series("a", [1.0]), {"kind": "pie", "labels": ("1",)}, "chart c: no kind 'pie'; there are line, bar, points"),
        (
            Series("a", [1.0]),
            {"series": (), "labels": ("1",)},
            "chart c: series must be a tuple of at least one",
        ),
    ],
)
def test_series_that_do_not_fit_are_refused_in_one_line(series: Series, more: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError) as found:
        Chart(**{"title": "c", "kind": "line", "series": (series,), **more})
    assert str(found.value).startswith(said) and "\n" not in str(found.value)


def test_a_value_that_is_no_number_is_a_gap_and_a_line() -> None:
    chart = Chart("c", "line", (Series("a", [1.0, math.nan, None]), Series("b", [1.0, 2.0, None])), MONTHS)
    assert list(chart.faults()) == ["chart c: 1 of 3 values of a are not a number"]
    assert payload(chart)["series"][0]["y"] == [1.0, None, None]


def test_a_series_of_a_method_that_the_study_lacks_is_refused() -> None:
    chart = Chart("c", "line", (Series("a", [1.0], method="nobody"),), ("1",), study="demo")
    with pytest.raises(InputError, match="chart c: series a: nobody is no method of study demo"):
        payload(chart)


def test_a_bar_is_named_by_its_axis_and_a_line_of_periods_by_their_year_alone() -> None:
    named = Chart("Tokens by period", "bar", (Series("a", [1e6]),), ("202301",), y=Axis("tokens", "count"))
    assert "tokens" in drawn(named) and "Tokens by period" not in drawn(named)
    assert ">, 2023<" not in drawn(KINDS["line"]) and ">2023<" in drawn(KINDS["line"])
