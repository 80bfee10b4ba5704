"""Paired preferences: the sign test, Holm's correction and the power, by numbers worked out by hand."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from ticlm.platform.analysis.age.flips import Flips, beta_binomial, holm, power, upper_tails


def test_the_sign_test_by_hand() -> None:
    assert Flips(5, 0, 3).p == pytest.approx(1 / 32)
    assert Flips(4, 1, 0).p == pytest.approx(6 / 32)
    assert Flips(0, 5, 0).p == 1.0
    assert Flips(0, 0, 9).p == 1.0


def test_pairs_of_equal_outcomes_say_nothing() -> None:
    later = np.array([True, True, False, False, True])
    earlier = np.array([False, True, False, True, False])
    assert Flips.of(later, earlier) == Flips(up=2, down=1, same=2)
    assert Flips(9, 2, 0).p == Flips(9, 2, 1000).p


@pytest.mark.parametrize("coins", [0, 1, 7, 60, 3000])
def test_tails_are_those_of_fair_coins(coins: int) -> None:
    exact, above = [], 0
    for k in range(coins, -1, -1):
        above += math.comb(coins, k)
        exact.append(above / 2**coins)
    assert np.allclose(upper_tails(coins), exact[::-1], rtol=1e-9, atol=1e-300)


def test_holm_by_hand() -> None:
    """The example has 4 tests: .005 · 4, .01 · 3, .03 · 2, and .04 must not be less than the one before."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.7]) == [1.0, 1.0]
    assert holm([]) == []


def test_outcomes_of_an_uncertain_rate_add_up() -> None:
    assert beta_binomial(12, 0.5, 3.0).sum() == pytest.approx(1)
    assert np.allclose(beta_binomial(4, 1, 1), 1 / 5)  # a rate of which nothing is known
    assert np.allclose(beta_binomial(2, 1e9, 1e9), [0.25, 0.5, 0.25], atol=1e-6)


def test_power_is_the_sum_over_all_outcomes() -> None:
    """Three outcomes of each of six changes, counted one by one, with the rates of many seen changes."""
    seen = Flips(up=600_000, down=100_000, same=300_000)
    total = 0.0
    for ones in product((0, 1, 2), repeat=6):
        found = Flips(ones.count(0), ones.count(1), ones.count(2))
        if found.p <= 0.05:
            total += 0.6**found.up * 0.1**found.down * 0.3**found.same
    assert power(6, seen, 0.05) == pytest.approx(total, abs=1e-4)


def test_power_grows_with_changes_and_with_what_is_known_of_them() -> None:
    assert power(4, Flips(90, 0, 10), 0.05) == 0  # four coins are never rare enough
    assert 0.5 < power(10, Flips(90, 0, 10), 0.05) < power(40, Flips(90, 0, 10), 0.05)
    assert power(40, Flips(2, 0, 0), 0.05) < 0.9 < power(40, Flips(90, 0, 10), 0.05)
    assert power(200, Flips(5, 50, 10), 0.05) < 0.01
    assert power(200, Flips(1, 1, 1), 0.05) < 0.5
    assert math.isnan(power(200, Flips(0, 0, 0), 0.05))
    assert power(0, Flips(90, 0, 10), 0.05) == 0
