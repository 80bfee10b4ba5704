"""Tables 5, Figures 5 to 7, 9 and 10 of EvolvingQA, on numbers made by hand."""

import math
from typing import Any

import numpy as np
import pytest
from evolvingsets import ASKED, INITIAL, MONTHS, RIGHT, cell, normed, questions, reader, study
from parts import wanted

from ticlm.platform.papers.evolvingqa.categories import by_category
from ticlm.platform.papers.evolvingqa.gradients import compared, gradients, van_elteren
from ticlm.platform.papers.evolvingqa.leakage import leakage, overlaps
from ticlm.platform.papers.evolvingqa.part import Evolving
from ticlm.platform.papers.evolvingqa.preferred import preferred
from ticlm.platform.papers.evolvingqa.settings import GradientTasks, QuestionTasks, Reader
from ticlm.platform.papers.evolvingqa.tables import evolving_tables
from ticlm.platform.papers.evolvingqa.time_prompt import time_prompt
from ticlm.platform.results.answer_categories import BY_LABEL, CATEGORIES, category

ONTONOTES = (
    *("PERSON", "NORP", "FAC", "ORG", "GPE", "LOC", "PRODUCT", "EVENT", "WORK_OF_ART", "LAW", "LANGUAGE", "DATE"),
    *("TIME", "PERCENT", "MONEY", "QUANTITY", "ORDINAL", "CARDINAL"),
)

# preferred answers


def shares(outdated: float, updated: float, tied: float, ending: str = "") -> list[dict[str, Any]]:
    values = {"outdated": outdated, "updated": updated, "tied": tied}
    return [cell("choose", INITIAL, "202303", f"{name}{ending}", value, 200) for name, value in values.items()]


def test_shares_of_preferred_answers_leave_ties_apart_and_sum_to_one() -> None:
    asked = ASKED.model_copy(update={"preferred": "choose"})
    extra = [*shares(0.6, 0.2, 0.2), *shares(0.5, 0.5, 0.0, "-pmi"), *shares(0.0, 0.0, 1.0, "-per-token")]
    found = {row["measure"]: row for row in preferred(reader(study(asked=[asked], extra=extra)))}
    summed = found["sum"]
    assert (summed["outdated"], summed["updated"], summed["tied"]) == pytest.approx((0.75, 0.25, 0.2))
    assert summed["stderr"] == pytest.approx(math.sqrt(0.75 * 0.25 / 160)) and summed["n"] == 200
    assert found["pmi"]["updated"] == 0.5 and math.isnan(found["per-token"]["updated"])
    assert found["per-token"]["tied"] == 1.0


# time prompt


def test_the_time_prompt_is_compared_over_the_months_that_have_both() -> None:
    asked = ASKED.model_copy(update={"time_prompt": QuestionTasks(new="dated", edited="dated-edited")})
    extra = [cell("dated", "202303", "202303", metric, value) for metric, value in [("exact-match", 0.1)]]
    extra += [cell("dated", INITIAL, month, "exact-match", 0.1) for month in MONTHS]
    extra += [cell("dated", INITIAL, month, "echoed-date", value) for month, value in zip(MONTHS, (0.2, 0.4))]
    found = {(row["row"], row["set"]): row for row in time_prompt(reader(study(asked=[asked], extra=extra)))}
    assert found.keys() == {("INITIAL", "NEW"), ("full", "NEW")}
    initial, full = found["INITIAL", "NEW"], found["full", "NEW"]
    assert (initial["without"], initial["with"], initial["months"]) == pytest.approx((0.2, 0.1, 2))
    assert initial["without_stderr"] == pytest.approx(math.sqrt(0.2 * 0.8 / 10) / math.sqrt(2))
    assert initial["echoed"] == pytest.approx(0.3) and math.isnan(initial["echoed_temporal"])
    assert (full["without"], full["months"]) == (0.3, 1) and full["difference"] == pytest.approx(-0.2)


def test_asking_the_same_unchanged_questions_again_makes_their_error_no_smaller() -> None:
    asked = ASKED.model_copy(update={"time_prompt": QuestionTasks(unchanged="dated")})
    extra = [cell("dated", INITIAL, month, "exact-match", 0.5) for month in MONTHS]
    one = next(row for row in time_prompt(reader(study(asked=[asked], extra=extra))) if row["row"] == "INITIAL")
    expected = math.sqrt(0.5 * 0.5 / 10)
    assert one["months"] == 2 and (one["without_stderr"], one["with_stderr"]) == pytest.approx((expected, expected))


# categories


def test_every_label_of_ontonotes_has_one_category_of_eight() -> None:
    labels = [label for held in CATEGORIES.values() for label in held]
    assert sorted(labels) == sorted(ONTONOTES) and len(labels) == 18 and len(CATEGORIES) == 8
    assert all(category(label, "7 May") == BY_LABEL[label] for label in labels)
    assert category("PERSON", "1999") == "Person" and category("gpe", "x") == "Locational"
    assert category("MONEY", "$5") == category("NUMBER", "5") == "Numerical" and category("UNKNOWN", "5") == "Etc"


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        *[(text, "Temporal") for text in ("May 2023", "12 July", "March", "1999", "the 1990s", "2023-05-01")],
        *[(text, "Numerical") for text in ("28", "3.14 million", "28th", "5,000")],
        *[(text, "Etc") for text in ("Theresa May", "Niimi station", "")],
    ],
)
def test_answers_without_a_label_go_by_rules(answer: str, kind: str) -> None:
    assert category("", answer) == kind


def test_exact_match_by_category_counts_each_question_once() -> None:
    kinds = ["Person"] * 2 + ["Numerical"] * 7
    about = [("new@1", "202303", str(i), "q", "a", kind, False, math.nan, math.nan) for i, kind in enumerate(kinds)]
    about += [("edited@1", "202303", str(i), "q", "a", "Temporal", False, math.nan, math.nan) for i in range(10)]
    rows = [row for row in by_category(reader(study(questions=questions(about)))) if row["row"] == "full"]
    found = {(row["set"], row["category"]): row for row in rows}
    assert found.keys() == {("NEW", "Person"), ("NEW", "Numerical"), ("NEW", "Etc"), ("EDITED", "Temporal")}
    person, number, rest = (found["NEW", kind] for kind in ("Person", "Numerical", "Etc"))
    assert (person["value"], person["n"]) == (1, 2) and (number["value"], number["n"]) == (1 / 7, 7)
    assert (rest["value"], rest["n"]) == (0, 1) and math.isnan(rest["stderr"])
    assert number["stderr"] == pytest.approx(math.sqrt(1 / 7 * 6 / 7 / 6))
    assert found["EDITED", "Temporal"]["value"] == 0.1 and found["EDITED", "Temporal"]["outdated"] == 0.8


# leakage


def test_right_answers_of_initial_that_stand_in_their_questions_are_counted_and_listed() -> None:
    easy = [True, False, True, *[False] * 7]
    about = [("new@1", "202303", str(i), f"q{i}", f"a{i}", "Etc", x, 0.5, math.nan) for i, x in enumerate(easy)]
    counts, listed = leakage(reader(study(questions=questions(about))))
    (one,) = counts
    assert (one["row"], one["month"], one["n"], one["in_question"]) == ("INITIAL", "202303", 10, 2)
    assert (one["right"], one["right_in_question"], one["share"], one["exact"]) == (2, 1, 0.5, 0.2)
    assert one["exact_without"] == pytest.approx(1 / 8)
    assert [(r["question"], r["answer"], r["in_question"]) for r in listed] == [("q0", "a0", True), ("q1", "a1", False)]


def test_where_initial_is_always_wrong_nothing_is_listed() -> None:
    about = [("new@1", "202303", str(i), f"q{i}", "a", "Etc", True, 0.5, math.nan) for i in range(10)]
    wrong = {**RIGHT, ("new", INITIAL, "202303"): [0] * 10}
    (one,), listed = leakage(reader(study(wrong, questions=questions(about))))
    assert (one["right"], one["in_question"], listed) == (0, 10, [])
    assert math.isnan(one["share"]) and math.isnan(one["exact_without"])


def test_overlap_and_hits_are_those_of_the_retrieved_text_for_a_reader() -> None:
    asked = ASKED.model_copy(update={"readers": (Reader(name="DPR", new="open"),)})
    about = [("new@1", "202303", str(i), "q", "a", "Etc", False, 0.75, math.nan) for i in range(10)]
    about += [("open@1", "202303", str(i), "q", "a", "Etc", False, 0.25, float(i < 4)) for i in range(10)]
    right = {**RIGHT, ("open", INITIAL, "202303"): [1, 1, 1, 0, 1, 0, 0, 0, 0, 0]}
    found = {row["asked"]: row for row in overlaps(reader(study(right, asked=[asked], questions=questions(about))))}
    assert found[""]["overlap"] == 0.75 and math.isnan(found[""]["hits"]) and found.keys() == {"", "DPR"}
    dpr = found["DPR"]
    assert (dpr["overlap"], dpr["hits"], dpr["exact_hit"]) == (0.25, 0.4, 0.75)
    assert dpr["exact_miss"] == pytest.approx(1 / 6)


# gradients


def test_matching_by_entities_takes_away_a_difference_that_is_theirs_alone() -> None:
    draws = np.random.default_rng(0)
    new = [(count, count + draws.normal(0, 0.1)) for count in range(1, 11) for _ in range(30)]
    edited = [(count, count + draws.normal(0, 0.1)) for count in (1, 2, 3) for _ in range(30)]
    found = compared(np.array(new), np.array(edited))
    assert found["difference"] < -3 and found["p"] < 1e-6
    assert abs(found["matched_difference"]) < 0.05 and found["matched_p"] > 0.05
    assert (found["n_new"], found["n_edited"], found["matched"], found["strata"]) == (300, 90, 90, 3)
    smaller = np.array([(count, norm - 0.2) for count, norm in edited])
    again = compared(np.array(new), smaller)
    assert again["matched_difference"] == pytest.approx(found["matched_difference"] - 0.2) and again["matched_p"] < 1e-6


def test_one_stratum_gives_the_test_of_mann_and_whitney() -> None:
    from scipy.stats import mannwhitneyu

    a, b = np.array([1.0, 2, 2, 5, 6, 9]), np.array([2.0, 4, 7, 8, 10])
    plain = mannwhitneyu(b, a, alternative="two-sided", method="asymptotic", use_continuity=False).pvalue
    assert van_elteren([(a, b)]) == pytest.approx(plain)
    assert math.isnan(van_elteren([])) and math.isnan(van_elteren([(np.ones(3), np.ones(2))]))


def test_gradients_of_a_month_are_those_of_the_checkpoint_before_it() -> None:
    asked = ASKED.model_copy(update={"gradients": GradientTasks(new="grad-new", edited="grad-edited")})
    texts = [(1, 1.0), (1, 3.0), (5, 9.0)]
    answers = [
        normed(task, [(count, norm * scale) for count, norm in texts], trained, month)
        for task, scale in (("grad-new", 1.0), ("grad-edited", 0.5))
        for trained, month in ((INITIAL, "202303"), ("202303", "202304"), ("202304", "202304"), (INITIAL, "202304"))
    ]
    extra = [cell("grad-new", INITIAL, "202303", "gradient-norm", 1.0)]
    extra += [cell("grad-edited", INITIAL, "202303", "gradient-norm", 1.0)]
    extra += [cell(task, INITIAL, "202304", "gradient-norm", 1.0) for task in ("grad-new", "grad-edited")]
    rows, points, lost = gradients(reader(study(asked=[asked], answers=answers, extra=extra)))
    assert lost == []
    found = {(row["row"], row["trained"], row["month"], row["measure"]): row for row in rows}
    wheres = [("INITIAL", INITIAL, "202303"), ("full", "202303", "202304")]
    assert found.keys() == {(*where, measure) for where in wheres for measure in ("norm", "norm-sum")}
    one = found["INITIAL", INITIAL, "202303", "norm"]
    assert one["matched_difference"] == pytest.approx((2 * (1 - 2) + (4.5 - 9)) / 3) and one["strata"] == 2
    assert found["full", "202303", "202304", "norm-sum"]["new"] == pytest.approx(2 * 13 / 3)
    assert [len(frame) for frame in points] == [3, 3, 3, 3] and set(points[0]["set"]) == {"NEW"}


# all of them


def test_a_study_without_the_block_has_no_tables_and_missing_ones_are_named() -> None:
    assert evolving_tables([]).files() == {}
    asked = ASKED.model_copy(update={"preferred": "choose", "gradients": GradientTasks(new="g", edited="h")})
    of = study({key: x for key, x in RIGHT.items() if key[0] == "new"}, asked=[asked])
    found = evolving_tables(wanted(Evolving, of))
    assert found.files().keys() == {"scores", "gains"}
    assert found.missing == (
        "evolving, INITIAL: no UNCHANGED (unchanged) at 202303, 202304",
        "evolving, INITIAL: no OUTDATED (edited) at 202303, 202304",
        "evolving, INITIAL: no UPDATED (edited) at 202303, 202304",
        "evolving, full: no UNCHANGED (unchanged) at 202303, 202304",
        "evolving, full: no OUTDATED (edited) at 202303, 202304",
        "evolving, full: no UPDATED (edited) at 202303, 202304",
        "evolving: preferred has no scores yet",
        "evolving: gradients has no scores yet",
    )
