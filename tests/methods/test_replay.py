"""Replay shares against values worked by hand (golden.md 4)."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ticlm.core.mixture import Source
from ticlm.methods.replay import EqualReplay, FirstReplay, FixedReplay, NoReplay
from ticlm.methods.seams import Replay

BUDGET = 10**18
EVERY = [NoReplay(), EqualReplay(), FixedReplay(alpha=0.5), FixedReplay(alpha=0.1), FixedReplay(alpha=0.9)]


ALL = [Source(corpus="c@1", period=f"{k:03d}") for k in range(120)]


def seen(months: int) -> list[Source]:
    return ALL[:months]


def shares(replay: Replay, months: int) -> list[float]:
    """Percent of the budget by period, oldest first; periods that get nothing included."""
    mixture = {share.source: share.tokens for share in replay.mixture(seen(months), BUDGET).shares}
    return [100 * mixture.get(source, 0) / BUDGET for source in seen(months)]


@pytest.mark.parametrize(
    ("replay", "months", "past", "now"),
    [
        (EqualReplay(), 2, 50, 50),
        (EqualReplay(), 11, 9.0909, 9.0909),
        (EqualReplay(), 12, 8.3333, 8.3333),
        (EqualReplay(), 114, 0.877193, 0.877193),
        (FixedReplay(alpha=0.5), 2, 50, 50),
        (FixedReplay(alpha=0.5), 11, 5, 50),
        (FixedReplay(alpha=0.5), 12, 4.5455, 50),
        (FixedReplay(alpha=0.5), 114, 0.442478, 50),
        (FixedReplay(alpha=0.1), 2, 90, 10),
        (FixedReplay(alpha=0.1), 11, 9, 10),
        (FixedReplay(alpha=0.1), 12, 8.1818, 10),
        (FixedReplay(alpha=0.1), 114, 0.796460, 10),
        (FixedReplay(alpha=0.9), 2, 10, 90),
        (FixedReplay(alpha=0.9), 11, 1, 90),
        (FixedReplay(alpha=0.9), 12, 0.9091, 90),
        (FixedReplay(alpha=0.9), 114, 0.088496, 90),
        (NoReplay(), 114, 0, 100),
    ],
)
def test_the_current_period_comes_last_and_the_past_shares_the_rest_evenly(
    replay: Replay, months: int, past: float, now: float
) -> None:
    *before, last = shares(replay, months)
    assert last == pytest.approx(now, abs=5e-5)
    assert before == pytest.approx([past] * (months - 1), abs=5e-5)


def test_equal_and_half_are_one_mixture_at_the_second_period_and_at_no_later_one() -> None:
    """So the round of the second period is one node of the tree for both."""
    equal, half = EqualReplay(), FixedReplay(alpha=0.5)
    same = [t for t in range(1, 115) if equal.mixture(seen(t), 989_710_499) == half.mixture(seen(t), 989_710_499)]
    assert same == [1, 2]


@given(st.sampled_from(EVERY), st.integers(1, 120), st.integers(1, 10**15))
def test_a_mixture_spends_its_budget_exactly_within_one_token_of_its_shares(
    replay: Replay, months: int, budget: int
) -> None:
    mixture = replay.mixture(seen(months), budget)
    assert mixture.tokens == budget and set(mixture.sources) <= set(seen(months))
    assert list(mixture.sources) == sorted(mixture.sources, key=lambda source: source.period)
    tokens = {share.source: share.tokens for share in mixture.shares}
    if isinstance(replay, FixedReplay) and months > 1:
        alpha = Fraction(str(replay.alpha))
        assert abs(tokens.get(seen(months)[-1], 0) - alpha * budget) < 1
        assert all(abs(tokens.get(s, 0) - (1 - alpha) / (months - 1) * budget) < 1 for s in seen(months)[:-1])


@pytest.mark.parametrize("replay", EVERY)
def test_the_first_period_has_nothing_to_replay(replay: Replay) -> None:
    assert shares(replay, 1) == [100]


def test_alpha_is_a_decimal_and_not_its_binary_neighbour() -> None:
    assert shares(FixedReplay(alpha=0.1), 2) == [90.0, 10.0]
    assert FixedReplay(alpha=0.1).mixture(seen(2), BUDGET).shares[1].tokens == 10**17


def test_alpha_one_is_no_replay() -> None:
    assert FixedReplay(alpha=1).mixture(seen(5), 100) == NoReplay().mixture(seen(5), 100)


@pytest.mark.parametrize("alpha", [0, -0.5, 1.7])
def test_alpha_is_a_share(alpha: float) -> None:
    with pytest.raises(ValidationError, match="alpha"):
        FixedReplay(alpha=alpha)


# totals of a whole run (golden.md 4): 113 rounds of the 220B setting


def trained_on(replay: Replay, position: int) -> Fraction:
    """Tokens of one period over all continual rounds, in units of a round's budget."""
    mixtures = (replay.mixture(seen(months), BUDGET) for months in range(2, 115))
    label = ALL[position].period
    return Fraction(sum(s.tokens for m in mixtures for s in m.shares if s.source.period == label), BUDGET)


def test_the_first_two_periods_are_trained_on_alike_under_half() -> None:
    budget = Fraction(111_837_286_400, 113)
    for position in (0, 1):  # one replayed 113 times, the other once new and then replayed 112 times
        total = trained_on(FixedReplay(alpha=0.5), position) * budget
        assert float(total) == pytest.approx(2_627_197_276, abs=1)


def test_the_first_period_under_equal_replay_and_the_last_under_both() -> None:
    budget = 111_837_286_400 // 113
    assert float(trained_on(EqualReplay(), 0)) == pytest.approx(4.317794, abs=1e-6)
    last = [replay.mixture(seen(114), budget).shares[-1].tokens for replay in (FixedReplay(alpha=0.5), EqualReplay())]
    assert last == pytest.approx([494_855_250, 8_681_671], abs=1)


def test_the_control_never_draws_anything_but_the_first_period() -> None:
    for count in (1, 2, 12):
        (share,) = FirstReplay().draw(seen(count), 1000).shares
        assert (share.source, share.tokens) == (seen(count)[0], 1000)
    with pytest.raises(ValidationError, match="it cannot expire"):
        FirstReplay(expired=("202301",))
