"""The FUARs of a study, from frames of scores whose every number can be worked by hand."""

import dataclasses
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from parts import wanted
from probesets import CKL, FIRST, RIGHT, SIZES, TASK, frame, months, one_phase, static_row

from ticlm.platform.papers.ckl.part import Fuar
from ticlm.platform.papers.ckl.settings import LearnedIn
from ticlm.platform.papers.ckl.study_fuar import COLUMNS, SCORE_COLUMNS, fuar_tables
from ticlm.platform.papers.tic_lm.borrowed_reference import renamed
from ticlm.platform.results.study_result import StudyResult


def rows(study: StudyResult) -> dict[str, dict[str, Any]]:
    """The rows by method and trained period."""
    every = fuar_tables(wanted(Fuar, study)).rows.itertuples(index=False, name=None)
    found = [dict(zip(COLUMNS, row)) for row in every]
    return {f"{row['method']}@{row['trained']}": row for row in found}


def test_the_ratio_of_each_method_against_its_first_checkpoint() -> None:
    found = rows(one_phase())
    assert list(found) == ["vanilla@202104", "lora@202104", "kept@202104", "broken@202104"]
    one = found["vanilla@202104"]
    assert [one["numerator"], one["denominator"]] == pytest.approx([0.11, 0.10 + 0.02])
    assert one["value"] == pytest.approx(0.11 / 0.12)
    assert (one["base"], one["n"], one["reason"], one["interval"]) == ("outside", 1300, "", "binomial")
    assert one["low"] < one["value"] < one["high"]
    assert found["lora@202104"]["value"] == pytest.approx(0.07 / 0.14)
    assert found["kept@202104"]["value"] == 0 and found["kept@202104"]["low"] == 0
    assert math.isnan(found["broken@202104"]["value"]) and found["broken@202104"]["reason"] == "no gain"


def test_the_scores_stand_beside_it() -> None:
    found = fuar_tables(wanted(Fuar, one_phase()))
    assert tuple(found.rows.columns) == COLUMNS and tuple(found.scores.columns) == SCORE_COLUMNS
    own = found.scores[found.scores["method"] == "vanilla"]
    assert list(zip(own["role"], own["score"], own["before"], own["score_before"], own["score_after"], own["n"])) == [
        ("forgotten", "lama@1/invariant", "outside", 0.24, 0.13, 1000),
        ("updated", "lama@1/updated", "outside", 0.02, 0.12, 200),
        ("new", "lama@1/new", "outside", 0.02, 0.04, 100),
    ]


def test_a_study_that_asks_for_none_has_none() -> None:
    found = fuar_tables(wanted(Fuar, one_phase(fuar=())))
    assert not len(found.rows) and tuple(found.rows.columns) == COLUMNS


def test_a_missing_base_is_named_and_there_is_no_value() -> None:
    study = one_phase()
    static = study.static[~((study.static["trained"] == "outside") & (study.static["source"] == "updated"))]
    one = rows(dataclasses.replace(study, static=static))["vanilla@202104"]
    assert one["reason"] == "missing: lama@1/updated at outside"
    assert all(math.isnan(one[name]) for name in ("value", "numerator", "denominator", "low"))
    nothing = rows(dataclasses.replace(study, static=study.static[:0]))["vanilla@202104"]
    assert "lama/invariant at outside, lama/invariant at 202104" in nothing["reason"]


def test_a_score_that_is_no_number_is_missing() -> None:
    study = one_phase()
    gone = (study.static["trained"] == "202104") & (study.static["source"] == "invariant")
    one = rows(dataclasses.replace(study, static=study.static.assign(value=study.static["value"].where(~gone))))
    assert one["lora@202104"]["reason"] == "missing: lama@1/invariant at 202104"


def test_seeds_are_averaged_before_the_ratio_is_taken() -> None:
    one = rows(one_phase({"lora": RIGHT["lora"]}, seeds=(1, 3)))["lora@202104"]
    assert one["value"] == pytest.approx((0.24 - 0.171) / 0.14)
    assert one["std"] == pytest.approx(np.std([0.07 / 0.14, 0.068 / 0.14], ddof=1))
    study = one_phase({"lora": RIGHT["lora"]}, seeds=(1, 3))
    static = study.static[~((study.static["seed"] == 3) & (study.static["source"] == "new"))]
    assert "lama@1/new at outside" in rows(dataclasses.replace(study, static=static))["lora@202104"]["reason"]


def test_sub_sets_are_averaged_by_number_or_by_probes() -> None:
    def value(average: str) -> float:
        asked = {"invariant": ("lama/invariant",), "new": ("lama/updated", "lama@1/new"), "average": average}
        return float(rows(one_phase(fuar=[Fuar.model_validate(asked)]))["lora@202104"]["value"])

    assert value("macro") == pytest.approx(0.07 / ((0.10 + 0.04) / 2))
    assert value("micro") == pytest.approx(0.07 / ((200 * 0.10 + 100 * 0.04) / 300))


def answered() -> pd.DataFrame:
    """The predictions of LoRA, and of the model before it, behind the scores of `one_phase`."""
    return pd.DataFrame(
        {"method": "lora", "seed": 1, "trained": trained, "step": None, "task": TASK, "label": label}
        | {"id": f"{label}-{i:04}", "text": "x", "exact": float(i < counts[label]), "f1": 0.0}
        for trained, counts in (("outside", FIRST), ("202104", RIGHT["lora"]))
        for label, n in SIZES.items()
        for i in range(n)
    )


def test_predictions_of_single_probes_give_a_paired_interval() -> None:
    study = one_phase({"lora": RIGHT["lora"]})
    whole = answered()
    paired = rows(dataclasses.replace(study, predictions=whole.sample(frac=1, random_state=1)))["lora@202104"]
    alone = rows(study)["lora@202104"]
    assert paired["interval"] == "paired bootstrap" and paired["value"] == alone["value"]
    assert alone["low"] < paired["low"] < paired["high"] < alone["high"]
    half = dataclasses.replace(study, predictions=whole[whole["trained"] == "202104"])
    assert rows(half)["lora@202104"]["interval"] == "binomial"


def test_copies_of_several_seeds_are_one_score() -> None:
    """Five tuned copies that ask the same probes are no five sets of probes: neither n nor the interval changes."""
    study = one_phase({"lora": RIGHT["lora"]})
    whole = answered()
    one = rows(dataclasses.replace(study, predictions=whole))
    tasks = [f"{TASK.split('@')[0]}-seed-{seed}@1" for seed in range(5)]
    static, predictions = (
        pd.concat([frame.assign(task=task) for task in tasks], ignore_index=True) for frame in (study.static, whole)
    )
    five = rows(dataclasses.replace(study, static=static, predictions=predictions))["lora@202104"]
    for column in ("value", "low", "high", "numerator", "denominator", "n", "interval"):
        assert five[column] == one["lora@202104"][column]
    assert five["n"] == sum(SIZES.values()) and five["interval"] == "paired bootstrap"


def test_ids_that_come_twice_are_no_results_of_single_probes() -> None:
    study = one_phase({"lora": RIGHT["lora"]})
    twice = answered()
    number = twice["id"].str[-4:].astype(int)
    one = rows(dataclasses.replace(study, predictions=twice.assign(id=(number // 2).astype(str))))["lora@202104"]
    assert one["interval"] == "binomial"


# chains of months

SHARES = {  # (trained, evaluated, source): what is invariant stays in 202301
    ("202301", "202301", "invariant"): 0.50,
    ("202302", "202301", "invariant"): 0.40,
    ("202303", "202301", "invariant"): 0.35,
    ("202301", "202302", "new"): 0.10,
    ("202302", "202302", "new"): 0.30,
    ("202303", "202302", "new"): 0.20,
    ("202301", "202303", "new"): 0.10,
    ("202302", "202303", "new"): 0.15,
    ("202303", "202303", "new"): 0.40,
    ("202301", "202303", "updated"): 0.00,
    ("202302", "202303", "updated"): 0.01,
    ("202303", "202303", "updated"): 0.05,
}


def chain(how: str) -> dict[str, dict[str, Any]]:
    asked = {"invariant": ("facts/invariant",), "updated": ("facts/updated",), "new": ("facts/new",), "chain": how}
    return rows(months(SHARES, [Fuar.model_validate(asked)]))


def test_each_month_as_a_corpus_of_its_own() -> None:
    found = chain("phases")
    assert list(found) == ["vanilla@202302", "vanilla@202303"]
    assert found["vanilla@202302"]["value"] == pytest.approx(0.10 / 0.20)
    last = found["vanilla@202303"]  # forgotten of January, and of what February had taught
    assert last["numerator"] == pytest.approx(0.15 + 0.10)
    assert last["denominator"] == pytest.approx((0.30 + 0.05) + (0.25 + 0.04))


def test_all_months_so_far_as_one_corpus() -> None:
    asked = {"invariant": ("facts/invariant",), "new": ("facts/new",), "chain": "so-far"}
    found = rows(months(SHARES, [Fuar.model_validate(asked)]))
    assert found["vanilla@202302"]["value"] == pytest.approx(0.10 / 0.20)
    assert found["vanilla@202303"]["value"] == pytest.approx(0.15 / ((0.10 + 0.30) / 2))


def test_a_month_without_probes_has_no_value_and_says_why() -> None:
    asked = {"invariant": ("facts/invariant",), "updated": ("facts/updated",), "chain": "phases"}
    found = rows(months(SHARES, [Fuar.model_validate(asked)]))
    assert found["vanilla@202302"]["reason"] == "no probes of what 202302 updates or adds"
    assert found["vanilla@202303"]["denominator"] == pytest.approx(0.05)  # of February nothing is defined


def test_two_phases_with_and_without_knowledge_of_the_first() -> None:
    """CKL's Table 3 measures both sums against the initial model alone, as the first phase is n.d."""
    asked = Fuar(invariant=("facts/invariant",), new=("facts/new/202303",))
    assert rows(months(SHARES, [asked]))["vanilla@202303"]["value"] == pytest.approx(0.15 / 0.30)
    learned = (LearnedIn(period="202302", scores=("facts/202302",)),)
    both = rows(months(SHARES, [asked.model_copy(update={"phases": learned})]))["vanilla@202303"]
    assert [both["numerator"], both["denominator"]] == pytest.approx([0.15 + 0.10, 0.30 + 0.25])


def test_a_period_is_read_as_a_whole_and_not_by_its_relations() -> None:
    relations = {
        (trained, "202302", source): value
        for trained, whole in (("202301", 0.1), ("202302", 0.3))
        for source, value in (("", whole), ("P19", whole - 0.1), ("P20", whole + 0.1))
    }
    kept = {(trained, "202301", "invariant"): 0.5 for trained in ("202301", "202302")}
    study = months(kept | relations, [Fuar(invariant=("facts/invariant",), new=("facts/202302",))])
    found = fuar_tables(wanted(Fuar, study))
    assert found.scores["score"].tolist() == ["facts@1/invariant/202301", "facts@1/202302"]
    assert found.rows["denominator"].tolist() == pytest.approx([0.2])
    assert rows(dataclasses.replace(study, tables=(Fuar(invariant=("facts/invariant",), new=("facts/P19",)),)))[
        "vanilla@202302"
    ]["denominator"] == pytest.approx(0.2)


def test_another_base_is_named_by_its_period() -> None:
    asked = Fuar(invariant=("facts/invariant",), new=("facts/new/202303",), base="202302")
    one = rows(months(SHARES, [asked]))["vanilla@202303"]
    assert one["base"] == "202302" and one["value"] == pytest.approx(0.05 / 0.25)
    lost = rows(months(SHARES, [asked.model_copy(update={"base": "202212"})]))["vanilla@202303"]
    assert lost["reason"].startswith("missing: facts@1/invariant/202301 at 202212")


F1 = [
    (when, label, right[label], SIZES[label])
    for when, right in (("outside", FIRST), ("202104", RIGHT["lora"]))
    for label in SIZES
]


def test_an_f1_has_an_interval_by_its_standard_error() -> None:
    study = one_phase({"lora": RIGHT["lora"]}, fuar=[CKL.model_copy(update={"metric": "f1"})])
    static = frame([static_row("lora", 1, *where) for where in F1]).assign(metric="f1")
    one = rows(dataclasses.replace(study, static=static.assign(value=static["value"] + 0.0001)))["lora@202104"]
    assert one["interval"] == "normal" and one["low"] < one["value"] < one["high"]


def test_a_task_that_a_report_renames_keeps_its_fuar() -> None:
    asked = Fuar(invariant=("facts/invariant",), new=("facts@1/new/202303", "other/new"))
    learned = (LearnedIn(period="202302", scores=("facts/202302",)),)
    asked = asked.model_copy(update={"phases": learned})
    (study,) = renamed([months(SHARES, [asked])], ["facts@1:new=added"])
    assert study.tables == (asked,)  # a source alone is no task
    whole = {(trained, evaluated, ""): value for (trained, evaluated, _), value in SHARES.items()}
    (study,) = renamed([months(whole, [asked])], ["facts@1=facts-of-wikipedia"])
    ((_, named),) = wanted(Fuar, study)
    assert named.invariant == ("facts-of-wikipedia/invariant",)
    assert named.new == ("facts-of-wikipedia/new/202303", "other/new")
    assert named.phases[0].scores == ("facts-of-wikipedia/202302",)
