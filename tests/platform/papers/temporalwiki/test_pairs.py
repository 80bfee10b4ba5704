"""TemporalWiki's tables on a study made by hand: perplexities, their means and errors, and differences."""

import dataclasses
import math
from math import exp
from typing import Any

import numpy as np
import pandas as pd
import pytest
from factsets import INITIAL, LOSSES, MONTHS, PAIRS, cell, joined, study
from parts import wanted

from ticlm.platform.analysis.paired_bootstrap import paired
from ticlm.platform.display.claims.part import Claims
from ticlm.platform.display.claims.verdicts import judge
from ticlm.platform.papers.temporalwiki.pair_differences import DRAWN, pair_differences, ratio_interval
from ticlm.platform.papers.temporalwiki.pairs import PairReader, pairs
from ticlm.platform.papers.temporalwiki.part import FactPairs
from ticlm.platform.papers.temporalwiki.settings import AVERAGE, CHANGED, UNCHANGED
from ticlm.platform.papers.tic_lm.borrowed_reference import renamed
from ticlm.platform.results.study_result import StudyResult, TaskMetric
from ticlm.platform.study.tables import check_tables
from ticlm.platform.tasks.facts import FactPerplexity


def table(of: StudyResult, metric: str = "nll") -> dict[tuple[str, str, str], dict[str, Any]]:
    rows = pairs(*map(PairReader, *zip(*wanted(FactPairs, of))))[0]
    return {(r["row"], r["part"], r["month"]): r for r in rows if r["metric"] == metric}


def means(of: StudyResult) -> dict[tuple[str, str], dict[str, Any]]:
    found = pairs(*map(PairReader, *zip(*wanted(FactPairs, of))))[1]
    return {(r["row"], r["part"]): r for r in found if r["metric"] == "nll"}


def test_perplexities_are_of_initial_at_every_month_and_of_a_method_at_its_own() -> None:
    found = table(study())
    values = {key: row["value"] for key, row in found.items()}
    assert [values["INITIAL", UNCHANGED, month] for month in MONTHS] == pytest.approx([exp(1), exp(1)])
    assert [values["INITIAL", CHANGED, month] for month in MONTHS] == pytest.approx([exp(2), exp(2)])
    assert [values["a", UNCHANGED, month] for month in MONTHS] == pytest.approx([exp(9 / 6), exp(12 / 6)])
    assert [values["a", CHANGED, month] for month in MONTHS] == pytest.approx([exp(9 / 6), exp(6 / 6)])
    assert [values["b", UNCHANGED, month] for month in MONTHS] == pytest.approx([exp(7 / 6), exp(6 / 6)])
    assert {row["trained"] for (name, *_), row in found.items() if name == "INITIAL"} == {INITIAL}
    assert found["b", CHANGED, "202304"]["trained"] == "202304" and len(found) == 3 * 3 * 2


def test_the_average_is_that_of_the_perplexities_and_errors_follow_the_delta_method() -> None:
    found = table(study())
    one, other = exp(12 / 6), exp(6 / 6)
    both = found["a", AVERAGE, "202304"]
    assert both["value"] == pytest.approx((one + other) / 2) and both["n"] == 12
    assert found["a", UNCHANGED, "202304"]["stderr"] == pytest.approx(one * 0.1)
    assert both["stderr"] == pytest.approx(math.hypot(one * 0.1, other * 0.1) / 2)


def test_a_run_has_the_change_of_each_part_from_its_first_model_for_claims() -> None:
    of, forgot, learned = study(seeds=(1, 2)), (exp(9 / 6) + exp(12 / 6)) / 2, (exp(9 / 6) + exp(6 / 6)) / 2
    for seed in (1, 2):  # the second seed loses more everywhere, in nats as much before and after
        assert PAIRS.number_of(of, "a", seed, UNCHANGED) == pytest.approx(math.log(forgot) - 1)
        assert PAIRS.number_of(of, "a", seed, CHANGED) == pytest.approx(math.log(learned) - 2)
        both = math.log((forgot + learned) / (exp(1) + exp(2)))
        assert PAIRS.number_of(of, "a", seed, AVERAGE) == pytest.approx(both)
    without = {key: losses for key, losses in LOSSES.items() if key != ("a", "kept", "202304", "202304")}
    assert math.isnan(PAIRS.number_of(study(without), "a", 1, UNCHANGED))
    said = [{"says": "it forgets", "number": "temporalwiki/Un.", "higher": ["a"], "lower": ["base"]}]
    claims = Claims.model_validate({"kind": "claims", "claims": said})
    tasks = [FactPerplexity(name=name, examples="x") for name in ("kept", "moved")]
    check_tables((PAIRS, claims), tasks, MONTHS, ("a",))
    (judged,) = (judge(one, claims, of) for one in claims.claims)
    assert judged.pairs[0].difference == pytest.approx(math.log(forgot) - 1)


def test_means_over_months_are_arithmetic_and_unchanged_facts_make_no_smaller_error() -> None:
    found = means(study())
    kept, moved = (exp(9 / 6), exp(12 / 6)), (exp(9 / 6), exp(6 / 6))
    assert found["a", UNCHANGED]["value"] == pytest.approx(sum(kept) / 2)
    assert found["a", UNCHANGED]["stderr"] == pytest.approx(0.1 * sum(kept) / 2)
    assert found["a", CHANGED]["stderr"] == pytest.approx(0.1 * math.hypot(*moved) / 2)
    assert found["a", AVERAGE]["value"] == pytest.approx((sum(kept) + sum(moved)) / 4)
    assert {(row["months"], row["complete"]) for row in found.values()} == {(2, True)}


def test_seeds_are_averaged_as_perplexities_with_their_deviation() -> None:
    row = table(study(seeds=(1, 2)))["b", UNCHANGED, "202304"]
    values = [exp(6 / 6), exp(6.3 / 6)]
    assert row["value"] == pytest.approx(np.mean(values)) and row["std"] == pytest.approx(np.std(values, ddof=1))
    assert row["stderr"] == pytest.approx(np.mean(values) * 0.1) and row["seeds"] == 2
    assert math.isnan(table(study())["b", UNCHANGED, "202304"]["std"])


def test_a_score_that_is_missing_is_named_and_no_average_is_taken() -> None:
    held = {key: losses for key, losses in LOSSES.items() if key != ("b", "moved", "202303", "202303")}
    rows, over_months, missing = pairs(PairReader(study(held), PAIRS))
    assert missing == ["temporalwiki, b: no C. (moved) at 202303"]
    assert [r["part"] for r in rows if (r["row"], r["month"]) == ("b", "202303")] == [UNCHANGED]
    found = {r["part"]: (r["months"], r["complete"]) for r in over_months if r["row"] == "b"}
    assert found == {UNCHANGED: (2, True), CHANGED: (1, False)}, "an average of different months is none"


def test_shares_stay_shares_and_further_metrics_stand_beside_the_compared_one() -> None:
    cells = study().cells
    shares = cells.assign(metric="exact-match", value=0.25, stderr=0.05)
    of = study(cells=shares, metrics={f"{name}@1": TaskMetric("exact-match", True) for name in ("kept", "moved")})
    row = table(of, "exact-match")["a", AVERAGE, "202304"]
    assert (row["value"], row["higher_is_better"]) == (0.25, True)
    assert row["stderr"] == pytest.approx(math.hypot(0.05, 0.05) / 2)
    extra = [cell("a", "kept", "202303", "202303", "nll-mean", 2.0, 0.1)]
    more = study(cells=joined(cells, pd.DataFrame(extra)))
    assert {key: r["value"] for key, r in table(more, "nll-mean").items()} == {
        ("a", UNCHANGED, "202303"): pytest.approx(exp(2))
    }
    assert next(iter(pairs(PairReader(more, PAIRS))[0]))["metric"] == "nll", "the compared metric comes first"


def test_differences_are_of_the_same_facts_and_their_exp_is_the_ratio_of_perplexities() -> None:
    of = study()
    rows = {(r["row"], r["part"], r["month"]): r for r in pair_differences(PairReader(of, PAIRS))}
    assert {r["against"] for r in rows.values()} == {"a"} and ("a", UNCHANGED, "202303") not in rows
    values = table(of)
    for (name, part, month), row in rows.items():
        ratio = values[name, part, month]["value"] / values["a", part, month]["value"]
        assert exp(row["difference"]) == pytest.approx(ratio)
    row = rows["b", CHANGED, "202304"]
    apart, tokens = np.array([1.0, 1.0, 1.0]), np.array([1.0, 2.0, 3.0])
    _, low, high = paired(apart[:, None], tokens[:, None])
    assert (row["low"], row["high"]) == pytest.approx((low[0], high[0])) and row["n"] == 3
    assert row["interval"] == "paired bootstrap" and row["low"] < row["difference"] < row["high"]


def test_differences_leave_out_facts_that_one_side_lacks_and_need_predictions() -> None:
    held = {**LOSSES, ("b", "kept", "202304", "202304"): (1.0, 2.0)}
    rows = pair_differences(PairReader(study(held), PAIRS))
    (row,) = (r for r in rows if (r["row"], r["part"], r["month"]) == ("b", UNCHANGED, "202304"))
    assert row["n"] == 2 and row["difference"] == pytest.approx(((1 - 2) + (2 - 3)) / 3)
    assert pair_differences(PairReader(study(predictions=None), PAIRS)) == []


def test_the_normal_interval_of_many_facts_is_near_that_of_the_bootstrap() -> None:
    random = np.random.default_rng(1)
    counts = random.integers(1, 6, DRAWN + 1).astype(float)
    sums = counts * random.normal(0.1, 1.0, DRAWN + 1)
    ratio, low, high, kind = ratio_interval(sums, counts)
    *drawn, bootstrap = ratio_interval(sums[:-1], counts[:-1])
    assert (kind, bootstrap) == ("normal", "paired bootstrap")
    assert (high - low) == pytest.approx(drawn[2] - drawn[1], rel=0.05) and ratio == pytest.approx(drawn[0], abs=0.01)
    assert math.isnan(ratio_interval(2 * counts, counts)[1]), "all facts have the same difference"


def test_a_task_under_another_name_keeps_its_table() -> None:
    (of,) = renamed([study()], ["kept@1=facts-kept@1"])
    ((_, asked),) = wanted(FactPairs, of)
    assert asked.unchanged == "facts-kept@1"
    assert table(of)["a", UNCHANGED, "202304"]["value"] == pytest.approx(exp(2))


def test_values_over_seeds_say_from_how_many_first_models_they_are() -> None:
    for models, told in ((1, "The runs of a method share one first model"), (2, "start from 2 first models")):
        of = study(seeds=(1, 2))
        of = dataclasses.replace(of, methods=tuple(dataclasses.replace(m, first_models=models) for m in of.methods))
        part = FactPairs.of_all(wanted(FactPairs, of))
        assert any(told in note for one in part.sections for table in one.tables for note in table.notes)
        assert {*part.frames["benchmarks_pairs"]["first_models"]} == {models}
