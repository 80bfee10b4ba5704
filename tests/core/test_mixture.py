"""Mixtures: whole tokens and whole rows in given proportions."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.mixture import Mixture, Source, allot

WEIGHTS = st.one_of(
    st.integers(0, 10**15), st.fractions(0, 10**6), st.floats(0, 1e12, allow_nan=False, allow_subnormal=False)
)


def sources(count: int) -> list[Source]:
    return [Source(corpus="c@1", period=f"{202301 + k}") for k in range(count)]


def value(weight: float | int | Fraction) -> Fraction:
    return Fraction(str(weight)) if isinstance(weight, float) else Fraction(weight)


@given(st.integers(0, 10**13), st.lists(WEIGHTS, min_size=1, max_size=30).filter(lambda w: sum(map(value, w)) > 0))
def test_parts_sum_exactly_and_each_is_within_one_of_its_share(total: int, weights: list[float]) -> None:
    parts = allot(total, dict(enumerate(weights)))
    whole = sum(map(value, weights))
    assert sum(parts.values()) == total and list(parts) == list(range(len(weights)))
    assert all(abs(parts[k] - total * value(weight) / whole) < 1 for k, weight in enumerate(weights))
    assert all(parts[k] == 0 for k, weight in enumerate(weights) if weight == 0)


@given(st.integers(0, 10**6), st.lists(st.integers(1, 1000), min_size=1, max_size=10), st.integers(2, 97))
def test_only_proportions_count(total: int, weights: list[int], factor: int) -> None:
    scaled = [weight * factor for weight in weights]
    assert allot(total, dict(enumerate(scaled))) == allot(total, dict(enumerate(weights)))


def test_the_largest_remainder_gets_what_is_left_and_ties_go_to_the_first() -> None:
    assert allot(10, {"a": 1, "b": 1, "c": 1}) == {"a": 4, "b": 3, "c": 3}
    assert allot(10, {"a": 24, "b": 26, "c": 50}) == {"a": 2, "b": 3, "c": 5}
    assert allot(3, {"a": 1, "b": 8}) == {"a": 0, "b": 3}


def test_a_decimal_means_what_it_prints_as() -> None:
    """In binary, 0.1 of 10**18 is 5 tokens more than a tenth; 0.1 + 0.2 is not 0.3."""
    assert allot(10**18, {"now": 0.1, "past": 0.9}) == {"now": 10**17, "past": 9 * 10**17}
    assert allot(10**18, {"a": 0.1, "b": 0.2, "c": 0.7}) == {"a": 10**17, "b": 2 * 10**17, "c": 7 * 10**17}


@pytest.mark.parametrize("weights", [{}, {"a": 0}, {"a": 2, "b": -1}])
def test_weights_must_be_shares_of_something(weights: dict[str, int]) -> None:
    with pytest.raises(ValueError, match="must not be negative and must sum to more than 0"):
        allot(10, weights)


def test_a_mixture_keeps_the_order_of_its_sources_and_leaves_out_what_gives_nothing() -> None:
    a, b, c = sources(3)
    mixture = Mixture.of({b: 5, c: 0, a: 7})
    assert mixture.sources == (b, a) and mixture.tokens == 12
    assert mixture != Mixture.of({a: 7, b: 5})


@given(st.lists(st.integers(1, 10**12), min_size=1, max_size=114), st.integers(1, 10**7))
def test_rows_are_in_the_proportions_of_the_tokens(tokens: list[int], total: int) -> None:
    named = dict(zip(sources(len(tokens)), tokens))
    rows = Mixture.of(named).rows(total)
    assert sum(rows.values()) == total and list(rows) == list(named)
    assert all(abs(rows[s] - Fraction(total * t, sum(tokens))) < 1 for s, t in named.items())


def test_a_source_reads_as_a_path() -> None:
    assert str(Source(corpus="news@2", period="202301", split="tune")) == "news@2/202301/tune"
