"""The page of a study with TiC-LM's many evaluations: what it holds, and what its tables say."""

import base64
import dataclasses
import io
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from calendars import CHECKPOINTS
from reports import PRESET, TASKS, page, tic_lm, with_examples, with_static
from rich.console import Console

from ticlm.platform.analysis.conventions import Convention, Preset
from ticlm.platform.analysis.matrix import views
from ticlm.platform.analysis.paired_bootstrap import differences
from ticlm.platform.analysis.summary import summarize
from ticlm.platform.display.page_tables import as_text, tables
from ticlm.platform.display.table_rows import scores
from ticlm.platform.report.report import Report
from ticlm.platform.report.write import as_json, table, write
from ticlm.platform.results.study_result import STATIC_COLUMNS, StudyResult, TaskMetric


def data(html: str) -> dict[str, Any]:
    """The numbers of the page's charts."""
    found: dict[str, Any] = json.loads(html.split('id="data">')[1].split("</script>")[0])
    return found


def view(html: str, name: str) -> dict[str, Any]:
    found: dict[str, Any] = next(one for one in data(html)["studies"][0]["views"] if one["name"] == name)
    return found


def matrix(seen: dict[str, Any], text: str) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    steps = np.frombuffer(base64.b64decode(text), "<u2").astype(float)
    shaped: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = (seen["low"] + seen["step"] * steps).reshape(
        -1, len(seen["evaluated"])
    )
    return shaped


def text_of(html: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", html.split("<main>")[1].split("<script")[0]).split())


def test_every_evaluation_has_its_own_metric_calendar_and_nearest_line() -> None:
    html = page(tic_lm(2))
    names = [one["name"] for one in data(html)["studies"][0]["views"]]
    assert names == ["tic-cc@1", "tic-cc@1 · wiki", *list(TASKS)[1:]]
    loss, accuracy = view(html, "codedocs-numpy@1"), view(html, "wiki-qa@1")
    assert loss["metric"]["name"] == "log-perplexity" and loss["metric"]["log"] and not loss["metric"]["higher"]
    assert accuracy["metric"]["titled"] == "accuracy, %" and accuracy["metric"]["higher"]
    assert len(loss["evaluated"]) == 16 and loss["nearest"] == [0, 0, 0, 0, 1, 3, 5, 7, 9, 11, 14, 14]
    assert view(html, "tic-cc@1")["nearest"] == list(range(12))


def test_shares_are_held_in_percent_and_their_regret_is_what_is_lacking() -> None:
    result = tic_lm(1, ["wiki-qa@1"])
    seen = view(page(result), "wiki-qa@1")
    (raw,) = views(result)
    held = [matrix(seen, text) for text in (*seen["matrices"], seen["reference"])]
    assert np.allclose(held[0], 100 * raw.methods[0].mean, atol=seen["step"])
    summary = summarize([result]).set_index("method")
    means = dict(part.split("\u00a0") for part in seen["means"][0].split(" · "))
    assert means["ID"] == f"{100 * summary['in_distribution'].to_dict()['cyclic-cosine']:.1f}"
    regret = held[2] - held[0]  # where more is better, the reference less the value
    assert seen["widest"] == pytest.approx(max(np.abs(regret).max(), np.abs(held[2] - held[1]).max()), rel=1e-3)


def test_cells_that_no_mean_is_over_are_told_from_the_others() -> None:
    late = Preset(by_task={"codedocs-*": Convention(first_checkpoint="201701")})
    result = tic_lm(1, ["codedocs-pytorch@1"])
    seen = view(page(result, preset=late), "codedocs-pytorch@1")
    kinds = np.frombuffer(base64.b64decode(seen["kinds"]), np.uint8).reshape(len(CHECKPOINTS), -1)
    assert (kinds[:3] == 3).all() and not (kinds[3:] == 3).any()
    everything = view(page(result), "codedocs-pytorch@1")
    assert 3 not in set(base64.b64decode(everything["kinds"]))


def test_periods_lie_on_the_axis_where_they_lie_in_time() -> None:
    seen = view(page(tic_lm(1, ["codedocs-numpy@1"])), "codedocs-numpy@1")
    apart = np.diff(seen["places"])
    # 201706, 201801; 202309, 202406, 202408
    assert apart[[0, -2, -1]] == pytest.approx([7, 9, 2], abs=0.1)


def test_tables_hold_three_evaluations_each_and_costs_and_core_once() -> None:
    result = with_static(tic_lm(2))
    summary = summarize([result])
    main = [score for score in scores(summary) if not score.source]
    found = tables([result], summary, main)
    assert [(one.name, len(one.scores), one.costs, len(one.static)) for one in found] == [
        ("On the periods of the study", 1, True, 0),
        ("On periods of their own", 3, False, 0),
        ("", 3, False, 0),
        ("", 1, False, 1),
    ]
    wide = [len(as_text(one, {s: "t" for s in one.scores}).columns) for one in found]
    assert wide == [8, 9, 9, 4]


def test_core_has_a_table_of_its_own_where_the_last_one_lacks_the_study() -> None:
    own = with_static(tic_lm(1, ["tic-cc@1"]))
    other = tic_lm(1, ["wiki-diff@1"], name="published")
    summary = summarize([own, other])
    *_, last = tables([own, other], summary, scores(summary))
    assert (last.name, last.scores, len(last.static)) == ("Tasks without periods", (), 1)
    assert {line.study for block in last.blocks for line in block.lines} == {"tic-lm-3b"}
    assert re.search(r"Tasks without periods.*46\.0.*\(1\.0\)", page(own, other), re.DOTALL)


def test_a_period_that_is_missing_does_not_move_a_task_to_another_table() -> None:
    result = tic_lm(1, ["tic-cc@1", "wiki-diff@1"])
    own = {**result.evaluated_by_task, "tic-cc@1": (*CHECKPOINTS[1:], "201305")}
    fewer = dataclasses.replace(result, evaluated_by_task=own)
    summary = summarize([fewer])
    found = [(one.name, [score.task for score in one.scores]) for one in tables([fewer], summary, scores(summary))]
    assert found == [
        ("On the periods of the study", ["tic-cc@1", "tic-cc@1"]),
        ("On periods of their own", ["wiki-diff@1"]),
    ]


def only_static(name: str, task: str = "core") -> StudyResult:
    """A study whose checkpoints were scored on tasks without periods alone."""
    whole = with_static(tic_lm(2, ["tic-cc@1"], name=name))
    static = whole.static.assign(metric=whole.static["metric"].replace("core", task))
    return dataclasses.replace(whole, cells=whole.cells[:0], static=static)


def test_a_study_of_static_tasks_alone_has_its_table_and_no_charts(tmp_path: Path) -> None:
    files = write(Report([only_static("general")]), tmp_path)
    assert [path.name for path in files if path.parent == tmp_path] == ["index.html", "results.csv", "summary.csv"]
    html = (tmp_path / "index.html").read_text()
    assert re.search(r"cyclic-cosine <small[^>]*>3 seeds.*?46\.0.*?\(1\.0\)", html, re.DOTALL)
    assert "arc_easy" in html and 'id="matrices"' not in html and "no cells" not in html and "<script" not in html
    said = " ".join(shown([only_static("general")]).split())
    assert "CORE" in said and "46.0" in said and "Higher is better." in said and "Bwd." not in said
    named = shown([only_static("general", "mmlu")])
    assert "mmlu" in named and "46.0" in named and "CORE" not in named
    row = json.loads(as_json(Report([only_static("general")])))["summary"][0]
    assert (row["task"], row["backward"], row["core"]) == ("", None, pytest.approx(0.46))


def shown(results: list[StudyResult]) -> str:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(table(summarize(results), results=results))
    return console.export_text()


def test_a_study_of_static_tasks_stands_beside_one_with_periods() -> None:
    other, own = tic_lm(1, ["tic-cc@1"], name="other"), only_static("general")
    summary = summarize([other, own])
    *_, last = tables([other, own], summary, scores(summary))
    assert {line.study for block in last.blocks for line in block.lines} == {"general"}
    html = page(other, own)
    assert "general" not in " ".join(one["name"] for one in data(html)["studies"])
    parts = html.split('class="static"')[1].split("</details>")[0]
    assert "56.0" in parts and "replay" not in parts and "(other)" not in parts
    assert "general: no cells" not in html


def test_the_parts_of_static_tasks_are_accuracies_of_those_that_have_them() -> None:
    first = with_static(tic_lm(1, ["tic-cc@1"], name="first"))
    counted = [("cyclic-cosine", 1, "202407", "core@1", "copa", "left out: no answer", 12.0, 12, None)]
    static = pd.concat([first.static, pd.DataFrame(counted, columns=list(STATIC_COLUMNS))])
    first = dataclasses.replace(first, static=static)
    html = page(first, tic_lm(1, ["wiki-diff@1"], name="second"))
    parts = html.split('class="static"')[1].split("</details>")[0]
    assert parts.count(">copa<") == parts.count(">arc_easy<") == 1 and "1200.0" not in parts
    assert "cyclic-cosine (first)" in parts and "(second)" not in parts


def test_regret_and_raw_values_of_one_block_do_not_compete() -> None:
    """A study whose reference was not scored on the task shows it raw, in the block of those that have regret."""
    own = tic_lm(2, ["tic-cc@1", "wiki-qa@1"], name="own")
    mine = own.cells["method"] != "oracle"
    lacking = own.cells[mine | (own.cells["task"] == "tic-cc@1")]
    lacking = lacking.assign(method=lacking["method"].replace("oracle", "theirs"))
    borrowed = dataclasses.replace(
        own, name="borrowed", cells=lacking, methods=own.methods[:-1], reference=("theirs", 1, "202407")
    )
    rows = summarize([own, borrowed]).query("task == 'wiki-qa@1' and not is_oracle")
    assert rows["block"].nunique() == 1 and rows.groupby("study")["relative"].first().to_dict() == {
        "own": True,
        "borrowed": False,
    }
    for name, one in rows.groupby("study"):
        means = one.set_index("method")["in_distribution"]
        best = means.idxmin() if name == "own" else means.idxmax()
        assert one.set_index("method")["in_distribution_best"].to_dict() == {m: m == best for m in means.index}


def test_core_is_the_mean_at_the_last_checkpoint_in_percent() -> None:
    html = page(with_static(tic_lm(2, ["tic-cc@1"])))
    row = re.search(r"cyclic-cosine <small[^>]*>3 seeds.*?</tr>", html, re.DOTALL)
    assert row and re.search(r"46\.0.*\(1\.0\)", row[0], re.DOTALL)  # seeds 1 to 3: 45, 46, 47 %
    parts = html.split('class="static"')[1].split("</details>")[0]
    assert "arc_easy" in parts and "56.0" in parts and "copa" in parts and "36.0" in parts


def test_a_loss_without_periods_is_in_nats() -> None:
    result = with_static(tic_lm(2, ["tic-cc@1"]))
    rows = result.static[result.static["metric"] == "accuracy"].replace({"accuracy": "nll", "core@1": "facts@1"})
    metrics = {**result.metrics, "facts@1": TaskMetric()}
    html = page(dataclasses.replace(result, static=pd.concat([result.static, rows]), metrics=metrics))
    parts = html.split('class="static"')[1].split("</details>")[0]
    assert "0.560" in parts and "56.0" in parts, "of a loss, and of an accuracy"
    assert 'title="facts@1, nats">arc_easy' in parts and 'title="core@1, percent">arc_easy' in parts


def test_accuracy_is_in_points_of_regret_or_in_percent_and_says_which_way_is_better() -> None:
    relative, raw = tic_lm(2, ["wiki-qa@1"]), dataclasses.replace(tic_lm(2, ["wiki-qa@1"]), reference=None)
    assert "wiki-qa regret, points ↓" in text_of(page(relative))
    said = text_of(page(raw))
    assert "wiki-qa accuracy, % ↑" in said
    both = text_of(page(relative, dataclasses.replace(raw, name="raw")))
    assert "wiki-qa regret, points ↓" in both and "wiki-qa accuracy, % ↑" in both, "a table for each kind of value"
    assert " or accuracy, %" not in both


def test_differences_are_held_for_every_two_methods_and_the_best_comes_first() -> None:
    result = tic_lm(3, ["wiki-diff@1", "wiki-qa@1"])
    html = page(result)
    found = view(html, "wiki-diff@1")["differences"]
    assert {len(found[mean]) for mean in ("backward", "in_distribution", "forward")} == {6}  # of three and the Oracle
    frame = differences([result], PRESET)
    one = frame[(frame["task"] == "wiki-qa@1") & (frame["mean"] == "forward")].iloc[0]
    a, b, *ends = view(html, "wiki-qa@1")["differences"]["forward"][0]
    assert (a, b) == (0, 1)
    assert ends == pytest.approx([100 * one[name] for name in ("difference", "low", "high")], rel=1e-3)
    means = summarize([result]).query("task == 'wiki-diff@1' and not is_oracle").set_index("method")
    total = means[["backward", "in_distribution", "forward"]].sum(axis=1)
    assert result.methods[found["best"]].name == total.idxmin()
    alone = dataclasses.replace(
        result, methods=result.methods[:1], cells=result.cells.query("method == 'cyclic-cosine'")
    )
    assert 'id="differences"' in html and 'id="differences"' not in page(dataclasses.replace(alone, reference=None))


def test_the_examples_are_shown_where_the_study_has_any() -> None:
    html = page(with_examples(tic_lm(1, ["tic-cc@1"])))
    wiki, frames = data(html)["studies"][0]["examples"]
    assert [one["name"] for one in wiki["tallies"]] == ["examples", "pages"]
    assert wiki["tallies"][1]["parts"]["classes"] == ["changed", "new", "deleted"]
    assert [(one["name"], one["log"]) for one in frames["tallies"]][1:] == [
        ("answers per question", False),
        ("questions by site", True),
    ]
    assert 'href="#examples"' in html and 'id="examples"' not in page(tic_lm(1, ["tic-cc@1"]))


@pytest.mark.slow
def test_twelve_methods_on_nine_evaluations_stay_a_small_page() -> None:
    assert len(page(with_static(with_examples(tic_lm())))) < 600_000
