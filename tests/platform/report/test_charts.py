"""What the scripts of the charts decide: short labels, ticks, scales and places of names."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from quickjs import Context
from report_kinds import MONTHS, WEEKS, made_up, renamed
from reports import PRESET, page, tic_lm

from ticlm.platform.analysis.matrix import views
from ticlm.platform.analysis.metrics import worth
from ticlm.platform.display.templates import asset
from ticlm.platform.report.figures import CHARTS, _zoom, draw, drawn_pictures, pictures
from ticlm.platform.report.page_data import CONSTANTS, payload
from ticlm.platform.report.report import Report
from ticlm.platform.results.study_result import StudyResult

WEEKLY = WEEKS.timeline().labels
YEAR = MONTHS.timeline().labels


def data(*results: StudyResult) -> dict[str, Any]:
    return payload(Report(results, PRESET))


def js(expression: str, report: dict[str, Any] | None = None, **given: object) -> Any:
    """The value of a JavaScript expression beside the scripts of the charts, which may use what is `given`."""
    engine = Context()
    engine.set("input", json.dumps(report or {**CONSTANTS, "studies": []}))
    engine.set("given", json.dumps(given))
    scripts = [asset(name).read_text(encoding="utf-8") for name in CHARTS]
    names = f"const {{ {', '.join(given)} }} = JSON.parse(given);" if given else ""
    engine.eval("\n".join(["'use strict'; const report = JSON.parse(input);", names, *scripts]))
    return json.loads(engine.eval(f"JSON.stringify({expression})"))


@pytest.mark.parametrize(
    ("labels", "short"),
    [
        (WEEKLY[:3], ["…01-28", "01-29", "02-05"]),
        (YEAR[:3], ["Jan", "Feb", "Mar"]),
        (("202212", "202301"), ["2022-12", "2023-01"]),
        (("202301-202303", "202304-202306"), ["Q1", "Q2"]),
        (("202210-202212", "202301-202303"), ["’22 Q4", "’23 Q1"]),
        (("202201-202212", "202301-202312"), ["2022", "2023"]),
        (("20240226-20240303", "20240304-20240310"), ["02-26", "03-04"]),  # a week may lie in two months
        (("20231225-20231231", "20240101-20240107"), ["’23-12-25", "’24-01-01"]),
        (("changed", "new"), ["changed", "new"]),
        (("202301", "202301-202301"), ["2023-01", "2023-01…2023-01"]),  # short names would be the same
    ],
)
def test_a_label_is_as_short_as_it_can_be_told_apart(labels: Sequence[str], short: list[str]) -> None:
    assert js("shortLabels(labels)", labels=labels) == short


def test_the_year_that_labels_leave_out_stands_in_the_title() -> None:
    assert js("withYear('evaluated', labels)", labels=YEAR) == "evaluated, 2023"
    assert js("withYear('evaluated', labels)", labels=["202212", "202301"]) == "evaluated"


@pytest.mark.parametrize("width", [300, 700])
def test_a_year_of_months_has_four_names_or_more_on_any_axis(width: int) -> None:
    under = js("underAxis(labels, width)", labels=YEAR, width=width)
    assert not under["turned"] and 4 <= len(under["names"]) <= 12
    assert under["names"][0] == "Jan" and len(set(under["names"])) == len(under["names"])


def test_every_class_is_named_however_long() -> None:
    names = [f"site number {i}" for i in range(12)]
    assert js("underAxis(labels, 300)", labels=names)["names"] == names


def test_the_lag_counts_in_periods_and_has_whole_ticks() -> None:
    weekly, monthly = made_up("weeks", WEEKS, cutoffs=(0,)), made_up("months", MONTHS)
    report = data(weekly, monthly)
    assert [one["views"][0]["unit"] for one in report["studies"]] == ["week", "month"]
    lags = report["studies"][0]["views"][0]["lags"][0]
    assert lags["distances"][5:8] == pytest.approx([7, 6, 5], abs=0.1) and lags["told"].startswith("median +6 weeks")
    chart = "lagChart(report.studies[0], report.studies[0].views[0])"
    assert js(f"{chart}.y.label", report) == "weeks from the period to its best checkpoint"
    for high in (0.4, 1, 2, 7):
        assert all(float(tick).is_integer() for tick in js("rounds(0, high, 6, false, true)", high=high))
    svg = js(f"lineChart({chart}, 600).body", report)
    assert svg.count(">+1<") <= 1 and svg.count(">0<") == 1


@pytest.mark.parametrize("ends", [[0.0012, 0.0031], [-0.0004], [0.309, 0.191, 0.386], [-3, 4], [0], [0.013]])
@pytest.mark.parametrize("width", [120, 300])
def test_differences_have_three_ticks_that_do_not_touch(ends: list[float], width: int) -> None:
    axis = "axis([0, ...ends].map((x) => ({ x })), 'x', 0, width, { margin: 0.06 })"
    values, digits = js(f"differenceTicks({axis}, ends, width)", ends=ends, width=width)
    assert len(values) >= 3 and len({f"{value:.{digits}f}" for value in values}) == len(values)
    low, high = min(0, *ends), max(0, *ends) or (0 if min(ends) < 0 else 1)
    assert all(low - abs(high - low) <= value <= high + abs(high - low) for value in values)


def test_a_scale_without_values_below_zero_has_all_its_colours_above() -> None:
    report = data(made_up("demo", MONTHS, cutoffs=(0, 5, 11)))
    scale = js("scaleOf([report.studies[0].views[0]])", report)
    assert (scale["low"], scale["side"]) == (0, 1) and scale["stops"] == list(CONSTANTS["themes"]["light"]["worse"])  # type: ignore[index]
    text = js("scaleText(report.studies[0].views[0], scaleOf([report.studies[0].views[0]]))", report)
    assert text["means"] == "white: as the reference, the darker the worse" and text["ends"][0] == "0"
    both = js(
        "scaleOf([report.studies[0].views[0]])",
        data(dataclasses.replace(tic_lm(5, ["tic-cc@1"]), reference=("oracle", 1, "201901"))),
    )
    assert both["low"] == -both["high"] and both["side"] == 0


def test_a_scale_ends_at_its_largest_value_unless_that_is_far_from_the_others() -> None:
    scale = "scaleText(report.studies[0].views[0], scaleOf([report.studies[0].views[0]]))"
    whole = made_up("demo", MONTHS, cutoffs=(11,))
    near = js(scale, data(whole))
    assert not near["ends"][1].startswith("≥") and "beyond" not in near["means"]
    one = (
        (whole.cells["trained"] == "202301")
        & (whole.cells["evaluated"] == "202302")
        & (whole.cells["method"] != "oracle")
    )
    value = whole.cells["value"].where(~one, 9.0)
    far = js(scale, data(dataclasses.replace(whole, cells=whole.cells.assign(value=value))))
    assert far["ends"][1].startswith("≥ ") and "; 15 of 300 cells lie beyond, as far as " in far["means"]


def test_a_difference_matrix_says_both_values_and_who_is_better() -> None:
    report = data(made_up("demo", MONTHS, cutoffs=(11,)))
    one, other = (f"{{ study: report.studies[0], view: report.studies[0].views[0], index: {i} }}" for i in range(2))
    values = js(f"Array.from(differenceOf({one}, {other}))", report)
    (view,) = views(made_up("demo", MONTHS, cutoffs=(11,)))
    expected = (view.methods[0].mean - view.methods[1].mean).ravel()
    assert values == pytest.approx(expected, abs=1e-4)
    draw = f"heatmap(report.studies[0], report.studies[0].views[0], 0, 400, {{ minus: {other} }}).cell(11, 0)"
    first, a, b, where = js(draw, report)["lines"]
    assert first.startswith("difference +0.") and first.endswith("% higher)")
    assert a.startswith("cyclic-cosine: log-perplexity ") and b.startswith("replay-half: log-perplexity ")
    assert where == "trained to 2023-12, evaluated on 2023-01: backward"
    scale = js(f"differenceScale(differenceOf({one}, {other}))", report)
    assert scale["high"] == -scale["low"] == pytest.approx(np.abs(expected).max(), abs=1e-4)


def test_accuracy_differs_in_points_and_blue_is_still_better() -> None:
    report = data(tic_lm(2, ["wiki-qa@1"]))
    one, other = (f"{{ study: report.studies[0], view: report.studies[0].views[0], index: {i} }}" for i in range(2))
    (view,) = views(tic_lm(2, ["wiki-qa@1"]))
    expected = 100 * (view.methods[1].mean - view.methods[0].mean).ravel()
    assert js(f"Array.from(differenceOf({one}, {other}))", report) == pytest.approx(expected, abs=2e-3)
    draw = f"heatmap(report.studies[0], report.studies[0].views[0], 0, 400, {{ minus: {other} }}).cell(0, 0)"
    assert re.match(
        rf"difference {-expected[0]:+.1f} points".replace("+", r"\+").replace("-", "−"), js(draw, report)["lines"][0]
    )


def test_nats_are_worth_the_same_on_the_page_as_in_its_tables() -> None:
    report = data(made_up("demo", MONTHS))
    for nats in (0.143, -0.143, 0.01, 3.0, 0.0012, 0.0002):
        assert js("worth(report.studies[0].views[0], nats)", report, nats=nats) == worth(nats)


def test_rows_that_repeat_an_oracle_are_veiled_and_not_outlined() -> None:
    report = data(made_up("demo", MONTHS, cutoffs=(0, 5, 11)))
    drawn = "[0, 2].map((i) => heatmap(report.studies[0], report.studies[0].views[0], i, 320).body)"
    method, oracle = js(drawn, report)
    veils = re.findall(r'class="again" d="([^"]+)" stroke="([^"]+)"', oracle)
    rows = {y for path, _ in veils for y in re.findall(r"M\S+ (\S+?)l", path)}
    assert 'class="again"' not in method and len(rows) == 9  # of twelve rows, three are its own
    assert {stroke for _, stroke in veils} == {"#ffffff", "#1c1e22"}  # pale on dark cells, dark on pale ones
    assert oracle.count("″") == 9 and "″" not in method
    outlined = [len(re.findall(r"h[\d.]+v[\d.]+h-[\d.]+z", body)) for body in (method, oracle)]
    assert outlined == [12, 3]


def test_names_at_the_ends_of_lines_keep_their_distance() -> None:
    found = js("spreadOut([50, 51, 52, 90], 12, 0, 100)")
    assert all(b - a >= 12 - 1e-9 for a, b in pairwise(found)) and found[0] >= 0 and found[-1] <= 100
    assert js("spreadOut([1, 2, 3], 12, 0, 30)") is None


def test_lines_on_each_other_are_said() -> None:
    first = made_up("first", MONTHS)
    report = data(first, renamed(first, "second"))
    same = js("coinciding(costChart(report.studies, 'perplexity@1', 'tokens', true).series)", report)
    assert ["cyclic-cosine (first)", "cyclic-cosine (second)"] in same and len(same) == 3


def test_rates_of_many_rounds_are_peaks_over_a_band() -> None:
    chart = "ratesChart(report.studies, true).series"
    result = tic_lm(1, ["wiki-diff@1"])
    (few, *_), (many, *_) = js(chart, data(made_up("few", MONTHS))), js(chart, data(result))
    own = result.rates.query("seed == 1").groupby("period")["rate"]
    assert "band" not in few and len(many["band"]) == len(many["points"]) == 113
    assert [one["high"] for one in many["band"]] == pytest.approx(own.max().tolist(), rel=1e-4)
    assert [one["low"] for one in many["band"]] == pytest.approx(own.min().tolist(), rel=1e-4)


def test_text_on_a_cell_can_be_read_on_every_colour_of_a_scale() -> None:
    names = "['diverging', 'worse', 'better', 'sequential']"
    scales = f"Object.values(report.themes).flatMap((one) => {names}.map((name) => one[name]))"
    assert (
        js(f"Math.min(...{scales}.flatMap((stops) => ramp(stops, 255)).map((color) => contrast(color, inkOn(color))))")
        >= 4.5
    )


def test_figures_are_drawn_once_and_those_of_older_reports_are_removed(tmp_path: Path) -> None:
    report = data(made_up("demo", MONTHS))
    (tmp_path / "lag-older.svg").write_text("<svg/>")
    (tmp_path / "notes.txt").write_text("kept")
    first = draw(report, tmp_path)
    made = {path: path.stat().st_mtime_ns for path in first}
    assert not (tmp_path / "lag-older.svg").exists() and (tmp_path / "notes.txt").exists()
    assert draw(report, tmp_path) == first and {path: path.stat().st_mtime_ns for path in first} == made
    whole = first[0].read_bytes()
    first[0].write_bytes(whole[:-1])  # damaged: everything is drawn again
    assert draw(report, tmp_path) == first and first[0].read_bytes() == whole
    other = data(made_up("demo", MONTHS, shift=0.1))
    assert draw(other, tmp_path) == first and first[1].read_text() != ""
    assert {path.stat().st_mtime_ns for path in first}.isdisjoint(made.values())


def test_the_page_takes_its_pictures_from_the_files(tmp_path: Path) -> None:
    both = data(made_up("a b", MONTHS), made_up("a-b", MONTHS, shift=0.1))  # their files would have one name
    draw(both, tmp_path)
    assert drawn_pictures(tmp_path) == pictures(both)
    draw(data(made_up("demo", MONTHS)), tmp_path)
    draw(both, tmp_path)
    assert draw(both, tmp_path) and drawn_pictures(tmp_path) == pictures(both)


def test_names_beside_points_are_placed_as_if_every_box_was_compared() -> None:
    rng = np.random.default_rng(0)
    corners = rng.uniform(-50, 900, (400, 2))
    given = [[x, y, x + w, y + h] for (x, y), (w, h) in zip(corners, rng.uniform(1, 120, (400, 2)))]
    apart = [all(a[0] >= b[2] or a[2] <= b[0] or a[1] >= b[3] or a[3] <= b[1] for b in given[:20]) for a in given[20:]]
    assert js("given_.slice(20).map((box) => boxes(given_.slice(0, 20)).leaves(box))", given_=given) == apart
    assert 0 < sum(apart) < len(apart)


def test_a_large_picture_has_a_pixel_a_unit() -> None:
    assert [_zoom(f'<svg viewBox="0 0 {size}">') for size in ("1378 2000", "1000.5 900", "1378 9199")] == [2, 2, 1]


def test_a_reader_without_scripts_sees_the_pictures() -> None:
    html = page(made_up("demo", MONTHS))
    bare = [part.split("</noscript>")[0] for part in html.split("<noscript>")[1:]]
    pictures = [part for part in bare if "<svg" in part]
    assert len(pictures) == 2 and "cumulative cost, tokens" in pictures[0] and "<image" in pictures[1]
    assert "perplexity@1" not in "".join(pictures) and "held-out text" in pictures[0]
    assert sum(map(len, pictures)) < 50_000
