"""Adaptive replay: shares worked by hand for each rule, and what holds for all of them."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.mixture import Source
from ticlm.methods.adaptive import AdaptiveReplay, ForgettingReplay, Recorded, ScalingReplay, SpacedReplay

PAST = ("a", "b")
SEEN = [Source(corpus="c@1", period=name) for name in (*PAST, "now")]


def recorded(losses: dict[str, str], drawn: dict[str, int]) -> Recorded:
    return Recorded({period: Fraction(loss) for period, loss in losses.items()}, drawn)


def tokens(replay: AdaptiveReplay, history: list[Recorded], budget: int) -> list[int]:
    return [share.tokens for share in replay.shared(SEEN, budget, replay.weights(PAST, history)).shares]


def test_forgetting_shares_by_how_far_losses_rose_above_their_lowest() -> None:
    """a rose by 0.3 since its lowest, b by 0.1; of the half for old periods, a tenth is even: 0.05 + 0.9 * 3/4 ..."""
    history = [
        recorded({"a": "2.0"}, {"a": 8}),
        recorded({"a": "2.1", "b": "3.0"}, {"a": 4, "b": 4}),
        recorded({"a": "2.3", "b": "3.1"}, {"a": 2, "b": 2, "c": 4}),
    ]
    assert tokens(ForgettingReplay(), history, 8000) == [4000 * 725 // 1000, 4000 * 275 // 1000, 4000]
    assert tokens(ForgettingReplay(), history[:1], 8000) == [2000, 2000, 4000], "nothing is forgotten yet: even shares"


def test_ado_shares_by_the_fall_of_loss_per_row_that_a_power_law_predicts() -> None:
    """Both have L = 8 n^(-1/2) exactly, so falls are L / 2n: of a, at 64 rows, 1/128; of b, at 16 rows, 2/32."""
    history = [
        recorded({"a": "2", "b": "4"}, {"b": 4, "a": 16}),
        recorded({"a": "1", "b": "2"}, {"b": 12, "a": 48}),
    ]
    weights = ScalingReplay().weights(PAST, history)
    assert weights["b"] == 1 and float(weights["a"]) == pytest.approx(1 / 8, abs=1e-5)
    rising = [history[0], recorded({"a": "1", "b": "5"}, {"b": 12, "a": 48})]
    assert ScalingReplay().weights(PAST, rising)["b"] == 0, "the law knows no forgetting"


def test_spaced_shares_by_what_is_not_retained_at_the_end_of_the_coming_round() -> None:
    """b is new: 1 - exp(-1/4). a rose by 0.5 over one round: 1/S = (1/4 + 1/2) / 2, and two rounds: 1 - exp(-3/4)."""
    history = [recorded({"a": "2.0"}, {"a": 8}), recorded({"a": "2.5", "b": "3.0"}, {"b": 8})]
    weights = SpacedReplay().weights(PAST, history)
    assert {p: float(w) for p, w in weights.items()} == pytest.approx(
        {"a": 1 - math.exp(-0.75), "b": 1 - math.exp(-0.25)}, abs=1e-6
    )


def test_a_period_that_was_rehearsed_twice_is_spaced_further_apart() -> None:
    """Both were rehearsed by the last round, a by its own round too: 1 - exp(-1/8), and 1 - exp(-1/4) for b."""
    history = [recorded({"a": "2.0"}, {"a": 8}), recorded({"a": "2.0", "b": "3.0"}, {"a": 4, "b": 4})]
    weights = SpacedReplay().weights(PAST, history)
    assert {p: float(w) for p, w in weights.items()} == pytest.approx(
        {"a": 1 - math.exp(-1 / 8), "b": 1 - math.exp(-1 / 4)}, abs=1e-6
    )


def test_a_period_without_tune_rows_has_the_mean_weight_of_the_others() -> None:
    history = [recorded({"a": "2.0", "b": "3.0"}, {"a": 8}), recorded({"a": "2.4", "b": "3.2"}, {"c": 4})]
    past = ["a", "empty", "b"]
    assert ForgettingReplay().all_weights(past, history) == {
        "a": Fraction(2, 5),
        "empty": Fraction(3, 10),
        "b": Fraction(1, 5),
    }
    for replay in (ScalingReplay(), SpacedReplay()):
        weights = replay.all_weights(past, history)
        assert weights["empty"] == (weights["a"] + weights["b"]) / 2
    assert ForgettingReplay().all_weights(["empty"], history) == {"empty": 0}, "shares are even"


@given(
    st.sampled_from([ForgettingReplay(), ScalingReplay(), SpacedReplay(floor=0.5), ForgettingReplay(floor=0)]),
    st.lists(st.tuples(st.integers(1, 90_000), st.integers(1, 90_000), st.integers(0, 50)), min_size=1, max_size=5),
    st.integers(1, 10**12),
)
def test_mixtures_spend_their_budget_exactly_and_keep_the_floor(
    replay: AdaptiveReplay, rows: list[tuple[int, int, int]], budget: int
) -> None:
    history = [
        Recorded({"a": Fraction(a, 10_000), "b": Fraction(b, 10_000)}, {"a": n, "b": 50 - n, "c": 50})
        for a, b, n in rows
    ]
    mixture = replay.shared(SEEN, budget, replay.weights(PAST, history))
    drawn = {share.source.period: share.tokens for share in mixture.shares}
    least = Fraction(str(replay.floor)) * budget * (1 - Fraction(str(replay.alpha))) / len(PAST)
    assert mixture.tokens == budget
    assert all(drawn.get(period, 0) > least - 1 for period in PAST)


@given(st.integers(0, 20_000), st.integers(0, 20_000))
def test_more_forgetting_is_never_a_smaller_share(less: int, more: int) -> None:
    less, more = sorted((less, more))

    def share(risen: int) -> int:
        first = recorded({"a": "2", "b": "2"}, {"a": 4, "b": 4})
        second = Recorded({"a": Fraction(2) + Fraction(risen, 10_000), "b": Fraction("2.1")}, {"a": 4, "b": 4})
        return tokens(ForgettingReplay(), [first, second], 10_000)[0]

    assert share(less) <= share(more)
