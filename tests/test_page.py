"""The page of a study with TiC-LM's many evaluations: what it holds, and what its tables say."""

import base64
import dataclasses
import json
import re
from typing import Any

import numpy as np
import pytest
from reports import CHECKPOINTS, PRESET, TASKS, page, tic_lm, with_examples, with_static

from ticlm.platform.conventions import Convention, Preset
from ticlm.platform.differences import differences
from ticlm.platform.layout import scores
from ticlm.platform.matrix import views
from ticlm.platform.report import summarize
from ticlm.platform.tables import tables


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
    assert len(loss["evaluated"]) == 16 and loss["nearest"] == [0, 0, 0, 0, 1, 3, 5, 7, 9, 11, 14, 15]
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
    assert apart[0] == pytest.approx(7, abs=0.1) and apart[-1] == pytest.approx(6, abs=0.1)  # 201706, 201801; 202402


def test_tables_hold_three_evaluations_each_and_costs_and_core_once() -> None:
    result = with_static(tic_lm(2))
    summary = summarize([result])
    main = [score for score in scores(summary) if not score.source]
    found = tables([result], summary, main)
    assert [(one.name, len(one.scores), one.costs, len(one.static)) for one in found] == [
        ("Held-out text", 1, True, 0),
        ("Downstream", 3, False, 0),
        ("", 3, False, 0),
        ("", 1, False, 1),
    ]
    assert found[1].columns == 10 and found[0].columns == 9 and found[3].columns == 5


def test_core_has_a_table_of_its_own_where_the_last_one_lacks_the_study() -> None:
    own = with_static(tic_lm(1, ["tic-cc@1"]))
    other = tic_lm(1, ["wiki-diff@1"], name="published")
    summary = summarize([own, other])
    *_, last = tables([own, other], summary, scores(summary))
    assert (last.name, last.scores, last.columns) == ("Tasks without periods", (), 2)
    assert {line.study for block in last.blocks for line in block.lines} == {"tic-lm-3b"}
    assert re.search(r"Tasks without periods.*46\.0.*\(1\.0\)", page(own, other), re.DOTALL)


def test_core_is_the_mean_at_the_last_checkpoint_in_percent() -> None:
    html = page(with_static(tic_lm(2, ["tic-cc@1"])))
    row = re.search(r"cyclic-cosine <small>3 seeds.*?</tr>", html, re.DOTALL)
    assert row and re.search(r"46\.0.*\(1\.0\)", row[0], re.DOTALL)  # seeds 1 to 3: 45, 46, 47 %
    parts = html.split('class="static"')[1].split("</details>")[0]
    assert "arc_easy" in parts and "56.0" in parts and "copa" in parts and "36.0" in parts


def test_accuracy_is_in_points_of_regret_or_in_percent_and_says_which_way_is_better() -> None:
    relative, raw = tic_lm(2, ["wiki-qa@1"]), dataclasses.replace(tic_lm(2, ["wiki-qa@1"]), reference=None)
    assert "wiki-qa@1 ↓ points" in text_of(page(relative))
    said = text_of(page(raw))
    assert "wiki-qa@1 ↑ %" in said
    assert "wiki-qa@1 ↓ points or ↑ %" in text_of(page(relative, dataclasses.replace(raw, name="raw")))
    best = summarize([raw])
    highest = best[~best["is_oracle"]].set_index("method")["in_distribution"].idxmax()
    assert re.search(rf"Best in-distribution \(ID\)\s+\d\d\.\d\s+{highest}", said)


def test_differences_are_held_for_every_two_methods_and_the_best_comes_first() -> None:
    result = tic_lm(3, ["wiki-diff@1", "wiki-qa@1"])
    html = page(result, apart=True)
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
    assert 'id="differences"' in html and 'id="differences"' not in page(result)


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
    assert len(page(with_static(with_examples(tic_lm())), apart=True)) < 500_000
