"""Exact match by difficulty: groups of questions, the effect of a measure, and what it is mixed up with."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from benchmarks.experiments.evolving_difficulty import lines
from evolvingsets import INITIAL, MONTHS, RIGHT, N, measured, questions, reader, study

from ticlm.platform.analysis.intervals import newcombe, quantile
from ticlm.platform.papers.evolvingqa.difficulty.by_measure import by_difficulty
from ticlm.platform.papers.evolvingqa.difficulty.effects import effect, mean_error, within
from ticlm.platform.papers.evolvingqa.difficulty.groups import grouped
from ticlm.platform.papers.evolvingqa.difficulty.shown import difficulty_tables
from ticlm.platform.results.study_result import as_frame


@pytest.mark.parametrize(
    ("values", "groups"),
    [
        ([*range(30)], [(0, 9), (10, 19), (20, 29)]),
        ([*range(10)], [(0, 4), (5, 9)]),  # few
        ([4] * 114 + [8] * 2 + [12] * 84, [(4, 4), (8, 12)]),  # a middle group of two
        ([1] * 30 + [2] * 8 + [3] * 22, [(1, 1), (2, 2), (3, 3)]),
        ([1] * 26 + [2] * 4, [(1, 2)]),  # too few differ
        ([0.5] * 40, [(0.5, 0.5)]),
        ([], []),
    ],
)
def test_questions_of_one_value_stay_together(values: list[float], groups: list[tuple[float, float]]) -> None:
    assert grouped(values) == groups == grouped(values[::-1])


def test_an_effect_is_a_difference_of_means_with_an_error_by_article() -> None:
    values = np.array([1.0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0])
    hard = np.arange(16) >= 8
    alone, pairs = np.arange(16), np.arange(16) // 2
    found = effect(values, hard, alone)
    assert (found.difference, found.n) == (-0.5, 16)
    # each side has six errors of 1/4 and two of 3/4, through the 8 of its mean
    assert found.stderr == pytest.approx(math.sqrt(16 / 15 * 2 * (6 / 16 + 2 * 9 / 16) / 64))
    plain, shares = within(values, hard, alone, np.zeros(16)), newcombe((0.25, 8), (0.75, 8))
    reach = quantile(15) * found.stderr
    assert (plain.low, plain.high) == pytest.approx((-0.5 - reach, -0.5 + reach))
    assert (found.low, found.high) == (min(plain.low, shares[0]), max(plain.high, shares[1]))
    # the errors of the two questions of an article come to 1/2 or −1/2
    assert effect(values, hard, pairs).stderr == pytest.approx(math.sqrt(8 / 7 * 8 / 4 / 64))
    assert mean_error(values[:8], alone[:8]) == pytest.approx(np.std(values[:8], ddof=1) / math.sqrt(8))
    assert math.isnan(mean_error(values[:2], np.zeros(2)))


def test_where_all_answers_are_wrong_the_interval_has_a_width() -> None:
    found = effect(np.zeros(20), np.arange(20) >= 10, np.arange(20))
    assert found.difference == 0 and (found.low, found.high) == pytest.approx(newcombe((0, 10), (0, 10)))
    assert found.low < -0.2 and found.high > 0.2


def test_newcombes_interval_is_the_one_he_prints() -> None:
    """Newcombe (1998), table II, method 10: 56/70 less 48/80."""
    assert newcombe((56 / 70, 70), (48 / 80, 80)) == pytest.approx((0.0524, 0.3339), abs=1e-4)


def test_a_type_of_answer_that_is_harder_and_more_frequent_among_hard_questions_makes_no_effect_within_types() -> None:
    numbers = [(0.0, True)] * 6 + [(0.0, False)] * 2
    people = [(1.0, True)] * 2 + [(1.0, False)] * 6
    values, hard = (np.array(side) for side in zip(*numbers, *people))
    kinds, articles = np.repeat(["number", "person"], 8), np.arange(16)
    assert effect(values, hard, articles).difference == -0.5
    alike = within(values, hard, articles, kinds)
    assert alike.difference == 0 and alike.n == 16 and math.isnan(alike.low)
    assert math.isnan(within(values, hard, articles, hard).difference), "type and difficulty cannot be told apart"
    half = within(values, hard, articles, np.where(np.arange(16) < 8, "number", np.where(hard, "x", "y")))
    assert half.n == 8 and math.isnan(half.difference), (
        "types that have only one side do not count, and few do not tell"
    )


def about(label: str, task: str, **measures: Any) -> list[tuple[Any, ...]]:
    values = [measured(**{name: value(i) for name, value in measures.items()}) for i in range(N)]
    return [
        (f"{task}@1", label, str(i), "q", "a", "Person" if i % 2 else "Etc", False, 0.5, math.nan, str(i), *values[i])
        for i in range(N)
    ]


def test_questions_of_all_months_are_cut_once_and_unchanged_ones_count_once() -> None:
    rows = [
        row
        for month in MONTHS
        for row in about(month, "new", distance=float, popularity=lambda i: 1.0, mentions=lambda i: float(N - i))
    ]
    rows += about(INITIAL, "unchanged", popularity=lambda i: float(10 - i))
    levels, effects = by_difficulty(reader(study(questions=questions(rows))))
    found = {(one["row"], one["set"], one["measure"], one["level"]): one for one in levels}
    easy, hard = (found["full", "NEW", "distance", level] for level in ("easiest", "hardest"))
    right = [*RIGHT["new", "202303", "202303"][:5], *RIGHT["new", "202304", "202304"][:5]]
    assert (easy["from"], easy["to"], easy["n"], easy["value"]) == (0, 4, 10, np.mean(right))
    assert easy["articles"] == 5 and easy["stderr"] == pytest.approx(
        math.sqrt(5 / 4 * sum((a + b - 2 * 0.7) ** 2 for a, b in zip(right[:5], right[5:]))) / 10
    )
    assert (hard["from"], hard["to"], hard["value"]) == (5, 9, 0)
    assert found["INITIAL", "UNCHANGED", "popularity", "easiest"]["from"] == 6, "popular answers are easy"
    assert found["full", "UNCHANGED", "popularity", "easiest"]["n"] == 5
    assert ("full", "NEW", "popularity", "all") in found and not any(one["measure"] == "overlap" for one in levels)
    by_key = {(one["row"], one["set"], one["measure"]): one for one in effects}
    assert by_key["full", "NEW", "distance"]["difference"] == pytest.approx(-0.7)
    assert by_key["full", "NEW", "mentions"]["difference"] == pytest.approx(-0.7)
    assert ("full", "NEW", "popularity") not in by_key
    (table, *_) = difficulty_tables(as_frame(levels, tuple(levels[0])), as_frame(effects, tuple(effects[0])))
    assert table.columns == ("distance", "mentions", "popularity")
    assert table.notes[-1] == "Nearly all questions are alike in popularity: NEW."


def test_sets_without_measures_have_no_rows() -> None:
    plain = [("new@1", month, "0", "q", "a", "Etc", False, 0.5, math.nan) for month in MONTHS]
    assert by_difficulty(reader(study(questions=questions(plain)))) == ([], []) == by_difficulty(reader(study()))


def test_the_tables_of_the_docs_are_made_from_the_files_of_a_report() -> None:
    rows = [row for month in MONTHS for row in about(month, "new", distance=float)]
    levels, effects = by_difficulty(reader(study(questions=questions(rows))))
    written = list(lines(as_frame(levels, tuple(levels[0])), as_frame(effects, tuple(effects[0]))))
    assert written[0] == "| hardest − easiest, points | INITIAL | full |"
    assert written[2].startswith("| NEW, distance | −40.0 (") and "| −70.0 (" in written[2]
    assert "| NEW, distance | easiest: 0 to 4 (n 10, 5 articles) | 40.0 ± " in written[-2]
