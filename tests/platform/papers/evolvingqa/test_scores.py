"""Table 3 of EvolvingQA on a study made by hand: which checkpoint answers when, and OUTDATED against UPDATED."""

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from evolvingsets import ASKED, INITIAL, MONTHS, RIGHT, cell, place, reader, study
from parts import wanted

from ticlm.platform.analysis.paired_bootstrap import mean_interval, paired
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.evolvingqa.scores import differences, gains, scores
from ticlm.platform.papers.evolvingqa.settings import Reader
from ticlm.platform.papers.tic_lm.borrowed_reference import renamed
from ticlm.platform.results.study_result import MethodResult, StudyResult
from ticlm.platform.tasks.base import Prediction


def table(of: StudyResult, metric: str = "exact-match") -> dict[tuple[str, str, str], dict[str, Any]]:
    return {(r["row"], r["set"], r["month"]): r for r in scores(reader(of))[0] if r["metric"] == metric}


def test_initial_is_asked_at_every_month_and_a_method_at_its_own() -> None:
    found = table(study())
    shown = {key: round(100 * row["value"]) for key, row in found.items()}
    assert [shown["INITIAL", "NEW", month] for month in MONTHS] == [20, 20]
    assert [shown["full", "NEW", month] for month in MONTHS] == [30, 40]
    assert [shown["full", "OUTDATED", month] for month in MONTHS] == [80, 10]
    assert [shown["full", "UPDATED", month] for month in MONTHS] == [10, 80]
    assert {row["trained"] for (name, *_), row in found.items() if name == "INITIAL"} == {INITIAL}
    three = found["full", "NEW", MONTHS[0]]
    assert three["n"] == 10 and three["stderr"] == pytest.approx(math.sqrt(0.3 * 0.7 / 10))
    assert len(found) == 2 * 4 * 2 and len(table(study(), "f1")) == 16


def test_unchanged_questions_of_one_period_are_asked_at_every_month() -> None:
    found = table(study())
    assert [found["full", "UNCHANGED", month]["value"] for month in MONTHS] == [0.5, 0.5]
    assert found["full", "UNCHANGED", MONTHS[1]]["trained"] == MONTHS[1]
    monthly = {(task, trained, trained if task == "unchanged" else at): x for (task, trained, at), x in RIGHT.items()}
    again = table(study(monthly))
    assert again["full", "UNCHANGED", MONTHS[0]]["value"] == 0.5
    assert ("INITIAL", "UNCHANGED", MONTHS[0]) not in again  # INITIAL was asked in February alone


def test_a_set_of_a_task_without_periods_may_be_named() -> None:
    static = study().cells.query("task == 'unchanged@1'").rename(columns={"evaluated": "of"})
    static = static.assign(source="kept")[
        ["method", "seed", "trained", "task", "source", "metric", "value", "n", "stderr"]
    ]
    rest = {key: held for key, held in RIGHT.items() if key[0] != "unchanged"}
    asked = ASKED.model_copy(update={"unchanged": "unchanged@1/kept"})
    assert table(study(rest, asked=[asked], static=static))["full", "UNCHANGED", MONTHS[1]]["value"] == 0.5


def test_seeds_are_averaged_and_one_that_lacks_a_score_is_missed() -> None:
    extra = [cell("new", "202303", "202303", "exact-match", 0.5, seed=2)]
    both = study(extra=extra)
    found, missing = scores(reader(study(extra=extra, methods=(MethodResult("full", "all", (1, 2)),))))
    assert [(r["row"], r["value"], r["seeds"]) for r in found] == [("full", pytest.approx(0.4), 2)]
    assert found[0]["std"] == pytest.approx(np.std([0.3, 0.5], ddof=1))
    assert "evolving, full: no NEW (new) at 202304" in missing
    assert scores(reader(both))[1] == []


def test_outdated_and_updated_are_compared_over_the_same_answers() -> None:
    found = {(r["row"], r["month"]): r for r in differences(reader(study())) if r["metric"] == "exact-match"}
    early, late = found["full", MONTHS[0]], found["full", MONTHS[1]]
    assert early["difference"] == pytest.approx(0.7) and early["low"] > 0 and early["n"] == 10
    assert late["difference"] == pytest.approx(-0.7) and late["high"] < 0
    assert (early["outdated"], early["updated"]) == (0.8, 0.1)
    even = study(stale={("edited", "202303", "202303"): RIGHT["edited", "202303", "202303"]})
    (same, _) = differences(reader(even))
    assert same["difference"] == 0 and math.isnan(same["low"]) and math.isnan(same["high"])


def test_what_a_method_learned_and_kept_is_paired_with_initial_by_question() -> None:
    found = {one["set"]: one for one in gains(reader(study()))}
    assert {one["row"] for one in found.values()} == {"full"}, "INITIAL has nothing to be compared with"
    apart = [
        after - before
        for month in MONTHS
        for before, after in zip(RIGHT["new", INITIAL, month], RIGHT["new", month, month], strict=True)
    ]
    new = found["NEW"]
    assert (new["n"], new["months"]) == (20, 2) and new["difference"] == pytest.approx(0.15)
    assert new["stderr"] == pytest.approx(np.std(apart, ddof=1) / math.sqrt(20))
    assert (new["before"], new["after"]) == (pytest.approx(0.2), pytest.approx(0.35))
    assert found["UNCHANGED"]["n"] == 10, "the same questions at both months"
    assert found["OUTDATED"]["after"] == pytest.approx(0.45) and found["UPDATED"]["after"] == pytest.approx(0.45)


def test_the_interval_is_that_of_a_bootstrap_of_the_units() -> None:
    values = np.random.default_rng(0).choice([-1.0, 0.0, 1.0], 200, p=[0.1, 0.6, 0.3])
    mean, low, high = mean_interval(values)
    (whole,), (bottom,), (top,) = paired(values[:, None], np.ones((200, 1)))
    assert mean == pytest.approx(whole) and (low, high) == pytest.approx((bottom, top), abs=0.006)
    assert low < mean < high and mean_interval(values) == (mean, low, high)
    assert math.isnan(mean_interval(np.ones(1))[1]) and math.isnan(mean_interval(np.ones(0))[0])
    assert mean_interval(np.ones(9))[0] == 1 and math.isnan(mean_interval(np.ones(9))[2]), "nothing varies"


def test_a_reader_is_a_further_row_where_it_was_asked() -> None:
    asked = Evolving(new="new", edited="edited", readers=(Reader(name="DPR", new="open", edited="open-edited"),))
    extra = [cell("open", INITIAL, month, "exact-match", 0.9) for month in MONTHS]
    found, missing = scores(reader(study(asked=[asked], extra=extra)))
    rows = [(r["month"], r["set"], r["value"]) for r in found if r["row"] == "DPR"]
    assert rows == [(month, "NEW", 0.9) for month in MONTHS] and missing == []
    more = [*extra, cell("open", "202303", "202303", "exact-match", 0.8)]
    names = {r["row"] for r in scores(reader(study(asked=[asked], extra=more)))[0]}
    assert names == {"INITIAL", "full", "DPR, INITIAL", "DPR, full"}


def test_two_first_checkpoints_are_two_rows() -> None:
    class Rounds:
        def round_of(self, method: str, seed: int, trained: str, task: str = "") -> str:
            return method if trained == INITIAL else f"{method}-{trained}"

    methods = [MethodResult(name, "all", (1,)) for name in ("full", "other")]
    costs = [{"method": m.name, "seed": 1, "trained": label} for m in methods for label in (INITIAL, *MONTHS)]
    of = study(methods=tuple(methods), costs=pd.DataFrame(costs))
    assert [row.name for row in reader(of).rows] == ["INITIAL", "full", "other"]
    apart = study(methods=tuple(methods), costs=pd.DataFrame(costs), setup=Rounds())
    assert [row.name for row in reader(apart).rows] == ["INITIAL of full", "INITIAL of other", "full", "other"]


def test_predictions_inside_rounds_are_no_rows() -> None:
    inside = (place("edited", "202303", "202303") | {"step": 3}, [Prediction("x", "", 1.0, 1.0)])
    plain, more = (differences(reader(of)) for of in (study(), study(answers=[inside])))
    assert plain == more


def test_a_task_that_is_shown_under_another_name_gives_the_same_tables() -> None:
    (named,) = renamed([study()], ["edited@1=theirs"])
    assert wanted(Evolving, named)[0][1].edited == "theirs" and "edited@1" not in set(named.cells["task"])
    assert scores(reader(named)) == scores(reader(study())) and len(differences(reader(named))) == 2 * 2 * 2
