"""Standard errors: against closed forms, SciPy, and each other; defined wherever a number is."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.platform.tasks import statistics
from ticlm.platform.tasks.statistics import log_mean_exp, mean, mean_and_stderr, ratio, ratios

COUNTS = np.random.default_rng(1).lognormal(4, 1, 300).astype(int) + 1
SUMS = COUNTS * np.random.default_rng(2).normal(3, 0.4, 300)


def test_the_error_of_a_mean_is_the_plain_one() -> None:
    values = np.random.default_rng(0).normal(2, 3, 400)
    found = mean(values)
    assert found.value == pytest.approx(values.mean())
    assert found.stderr == pytest.approx(values.std(ddof=1) / 20, rel=0.06)


def test_the_error_of_a_share_is_that_of_a_coin() -> None:
    found = mean([1.0] * 30 + [0.0] * 70)
    assert found.value == pytest.approx(0.3)
    assert found.stderr == pytest.approx(math.sqrt(0.3 * 0.7 / 100), rel=0.06)


def test_the_error_of_a_ratio_is_that_of_the_ratio_estimator() -> None:
    found = ratio(SUMS, COUNTS)
    value, stderr = mean_and_stderr(SUMS, COUNTS)
    assert found.value == pytest.approx(value)
    assert found.stderr == pytest.approx(stderr, rel=0.08)


def test_it_is_scipys_bootstrap() -> None:
    from scipy.stats import bootstrap as scipys

    def statistic(sums: np.ndarray, counts: np.ndarray, axis: int = -1) -> np.ndarray:
        return np.asarray(sums.sum(axis=axis) / counts.sum(axis=axis))

    theirs = scipys(
        (SUMS, COUNTS.astype(float)),
        statistic,
        n_resamples=statistics.RESAMPLES,
        batch=statistics.DRAWN_AT_ONCE // len(SUMS),
        vectorized=True,
        paired=True,
        method="percentile",
        rng=np.random.default_rng(0),
    )
    assert ratio(SUMS, COUNTS).stderr == pytest.approx(float(theirs.standard_error), rel=1e-9)


def test_the_same_values_have_the_same_error_however_many_are_drawn_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    before = ratio(SUMS, COUNTS), log_mean_exp(SUMS)
    assert before == (ratio(SUMS, COUNTS), log_mean_exp(SUMS))
    monkeypatch.setattr(statistics, "DRAWN_AT_ONCE", 1)
    assert ratio(SUMS, COUNTS) == pytest.approx(before[0])
    assert log_mean_exp(SUMS) == pytest.approx(before[1])


def test_several_ratios_are_as_each_alone() -> None:
    pairs = (SUMS, COUNTS), (2 * SUMS, COUNTS), (SUMS, COUNTS**2)
    assert ratios(*pairs) == [pytest.approx(ratio(*pair)) for pair in pairs]


def test_answers_by_hand() -> None:
    """Golden values: −ln P of 6 and 5; of 800 and 900, whose exponentials no float64 holds."""
    assert log_mean_exp([6.0, 5.0]).value == pytest.approx(5.620115, abs=1e-6)
    assert math.exp(log_mean_exp([6.0, 5.0]).value) == pytest.approx(275.920976, abs=1e-5)
    assert log_mean_exp([1.5, 2.5]).value == pytest.approx(2.120115, abs=1e-6)
    assert log_mean_exp([800.0, 900.0]).value == pytest.approx(899.306853, abs=1e-6)


@pytest.mark.parametrize("values", [(6.0, 5.0), (800.0, 900.0), (1.0, 5000.0, 30.0)])
def test_the_error_of_answers_is_that_over_all_resamples_there_are(values: tuple[float, ...]) -> None:
    def log_mean(drawn: tuple[float, ...]) -> float:
        top = max(drawn)
        return top + math.log(sum(math.exp(one - top) for one in drawn) / len(drawn))

    every = [log_mean(drawn) for drawn in product(values, repeat=len(values))]
    assert log_mean_exp(values).stderr == pytest.approx(np.std(every), rel=0.06)


def test_one_question_that_outweighs_the_others_shows_in_the_error() -> None:
    even = np.full(500, 3.0) + np.random.default_rng(0).normal(0, 0.1, 500)
    heavy = np.concatenate([even, [40.0]])
    found = log_mean_exp(heavy)
    assert found.value == pytest.approx(40 - math.log(501), abs=1e-6)
    assert found.stderr is not None and found.stderr > 10
    plain = log_mean_exp(even).stderr
    assert plain is not None and plain < 0.01


@given(st.lists(st.floats(0, 1e5), min_size=1, max_size=20), st.floats(-1e4, 1e4))
def test_answers_move_with_their_values_and_stay_between_them(values: list[float], by: float) -> None:
    found = log_mean_exp(values)
    assert np.mean(values) - 1e-6 <= found.value <= max(values) + 1e-6
    moved = log_mean_exp([value + by for value in values])
    assert moved.value == pytest.approx(found.value + by, abs=1e-6)
    assert (found.stderr is None) == (len(values) == 1)


@given(st.lists(st.tuples(st.integers(0, 50), st.floats(0, 100)), min_size=1, max_size=30))
def test_wherever_there_is_a_mean_it_is_a_number(units: list[tuple[int, float]]) -> None:
    counts, sums = zip(*units)
    if not sum(counts):
        with pytest.raises(ValueError, match="a mean of nothing"):
            ratio(sums, counts)
        return
    found = ratio(sums, counts)
    assert found.value == pytest.approx(sum(sums) / sum(counts))
    assert found.stderr is None if len(units) == 1 else found.stderr is not None and math.isfinite(found.stderr)


def test_nothing_has_no_mean() -> None:
    for estimate in (mean, log_mean_exp):
        with pytest.raises(ValueError, match="a mean of nothing"):
            estimate([])
