"""Which rows make up a step: quotas that hold at every step, draws that exhaust before they repeat, batches that start
anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ticlm.core.mixture import Source
from ticlm.core.seeds import keyed
from ticlm.methods.replay import EqualReplay, FixedReplay
from ticlm.methods.seams import Replay
from ticlm.platform.train.order import Draws, Ints, SegmentOrder, batches, quotas

# quotas


@st.composite
def rounds_of_rows(draw: st.DrawFn) -> tuple[list[int], int]:
    """(rows of each source, steps): the rows make equal steps."""
    steps = draw(st.integers(1, 60))
    batch = draw(st.integers(1, 40))
    cuts = sorted(draw(st.lists(st.integers(0, steps * batch), max_size=12)))
    edges = [0, *cuts, steps * batch]
    return [b - a for a, b in pairwise(edges)], steps


@settings(max_examples=200)
@given(rounds_of_rows())
def test_every_source_is_within_one_row_of_its_share_after_every_step(case: tuple[list[int], int]) -> None:
    rows, steps = case
    taken = np.zeros(len(rows), np.int64)
    for step, now in enumerate(quotas(rows, steps), 1):
        assert now.sum() == sum(rows) // steps and now.min() >= 0
        taken += now
        assert all(abs(int(taken[k]) - Fraction(step * n, steps)) < 1 for k, n in enumerate(rows))
    assert step == steps and taken.tolist() == rows


@given(rounds_of_rows(), st.integers(0, 59))
def test_quotas_start_at_any_step(case: tuple[list[int], int], start: int) -> None:
    rows, steps = case
    whole = [now.tolist() for now in quotas(rows, steps)]
    assert [now.tolist() for now in quotas(rows, steps, start)] == whole[start:]


def test_quotas_of_a_round_of_the_paper_hold_at_every_step() -> None:
    """114 sources and 1,887 steps of 256 rows: taking whole parts per step alone would starve the small ones."""
    rows = np.array(list(mixture_rows(FixedReplay(alpha=0.9), 114).values()))
    taken = np.zeros_like(rows)
    worst = 0.0
    for step, now in enumerate(quotas(rows.tolist(), 1887), 1):
        taken += now
        worst = max(worst, float(np.abs(taken * 1887 - step * rows).max()) / 1887)
    assert worst < 1 and (taken == rows).all()


def test_rows_that_make_no_whole_steps_are_refused() -> None:
    with pytest.raises(ValueError, match="10 rows do not make 3 equal steps"):
        next(quotas([4, 6], 3))


# sequence quotas of a round of 1,887 steps (golden.md 4)


def mixture_rows(replay: Replay, months: int) -> dict[Source, int]:
    seen = [Source(corpus="c@1", period=f"{k:03d}") for k in range(months)]
    return replay.mixture(seen, 989_710_499).rows(1887 * 256)


@pytest.mark.parametrize(
    ("replay", "now", "past"),
    [
        (EqualReplay(), None, {4238: 54, 4237: 60}),
        (FixedReplay(alpha=0.5), 241_536, {2138: 55, 2137: 58}),
        (FixedReplay(alpha=0.9), 434_765, {428: 56, 427: 57}),
    ],
    ids=["1/t", "half", "0.9"],
)
def test_sequences_of_the_last_month(replay: Replay, now: int | None, past: dict[int, int]) -> None:
    counts = list(mixture_rows(replay, 114).values())
    assert sum(counts) == 483_072
    if now is not None:
        assert counts.pop() == now
    assert {n: counts.count(n) for n in set(counts)} == past


# draws


@st.composite
def any_draws(draw: st.DrawFn) -> Draws:
    sizes = draw(st.lists(st.integers(1, 12), min_size=1, max_size=6))
    starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    return Draws(starts=starts, seed=draw(st.integers(0, 2**63)), salt=draw(st.integers(0, 2**64 - 1)))


@given(any_draws(), st.integers(0, 3))
def test_each_epoch_is_a_permutation_of_all_rows(draws: Draws, epoch: int) -> None:
    positions = draws.positions(np.arange(epoch * len(draws), (epoch + 1) * len(draws)))
    assert sorted(positions.tolist()) == list(range(len(draws)))


@given(any_draws())
def test_a_reader_needs_one_row_group_at_a_time(draws: Draws) -> None:
    positions = draws.positions(np.arange(len(draws)))
    groups = np.searchsorted(draws.starts, positions, side="right") - 1
    changes = int((np.diff(groups) != 0).sum())
    assert changes == len(draws.starts) - 2


@given(any_draws(), st.data())
def test_a_draw_does_not_depend_on_those_asked_for_beside_it(draws: Draws, data: st.DataObject) -> None:
    asked = np.array(data.draw(st.lists(st.integers(0, 3 * len(draws) - 1), max_size=20)), dtype=np.int64)
    whole = draws.positions(np.arange(3 * len(draws)))
    np.testing.assert_array_equal(draws.positions(asked), whole[asked])


def test_epochs_seeds_and_salts_have_orders_of_their_own() -> None:
    starts = np.array([0, 128, 256, 300])

    def order(seed: int, salt: int, epoch: int) -> list[int]:
        return list(Draws(starts, seed, salt).positions(np.arange(epoch * 300, (epoch + 1) * 300)))

    orders = [order(0, 0, 0), order(1, 0, 0), order(0, 1, 0), order(0, 0, 1)]
    assert all(a != b for i, a in enumerate(orders) for b in orders[:i])
    assert list(range(300)) not in orders


def test_a_key_gives_these_numbers_for_ever() -> None:
    """Another generator, or another way to key it, would change the rows of every round without changing its id."""
    assert keyed(1, 2, 3).permutation(8).tolist() == [2, 4, 5, 0, 3, 7, 1, 6]
    starts = np.array([0, 3, 6, 8])
    assert Draws(starts, seed=7, salt=9).positions(np.arange(6, 14)).tolist() == [0, 2, 4, 5, 3, 7, 6, 1]


# batches


def order_of(rows: Sequence[int], steps: int, before: Sequence[int] | None = None, seed: int = 0) -> SegmentOrder:
    starts = np.array([0, 5, 10, 12])
    sources = tuple(Draws(starts, seed=seed, salt=k) for k in range(len(rows)))
    return SegmentOrder(sources, tuple(before or [0] * len(rows)), tuple(rows), steps, (None,) * len(rows))


STRETCHES = (order_of([7, 20, 1], 7), order_of([12, 9], 3, before=[7, 20]))


def listed(found: Sequence[tuple[int, Ints, Ints]]) -> list[tuple[int, list[int], list[int]]]:
    return [(number, which.tolist(), positions.tolist()) for number, which, positions in found]


@pytest.mark.parametrize("start", range(11))
def test_batches_start_at_any_step_of_any_segment(start: int) -> None:
    whole = listed(list(batches(STRETCHES, seed=3, salt=4)))
    assert len(whole) == 10 and [number for number, _, _ in whole] == [0] * 7 + [1] * 3
    assert listed(list(batches(STRETCHES, seed=3, salt=4, start=start))) == whole[start:]


def test_batches_draw_each_source_in_its_order_and_go_on_where_the_chain_stopped() -> None:
    """12 rows a source, 7 drawn before: the 5 left are drawn before any is drawn again."""
    drawn: dict[int, list[int]] = {0: [], 1: []}
    for _, which, positions in batches(STRETCHES[1:], seed=3, salt=4):
        for k, position in zip(which.tolist(), positions.tolist()):
            drawn[k].append(position)
    for k, (before, rows) in enumerate(zip((7, 20), (12, 9))):
        expected = STRETCHES[1].sources[k].positions(np.arange(before, before + rows))
        assert sorted(drawn[k]) == sorted(expected.tolist())
    first = STRETCHES[1].sources[0].positions(np.arange(12))
    assert set(drawn[0][:4]) & set(first[:7].tolist()) == set()


def test_a_batch_is_shuffled_so_that_ranks_get_rows_of_every_source() -> None:
    (_, which, _), *_ = batches([order_of([32, 32], 1)], seed=0, salt=0)
    for world in (2, 4):
        assert all(0 < int(which[rank::world].sum()) < 64 // world for rank in range(world))


def test_a_batch_does_not_depend_on_the_number_of_workers() -> None:
    """Rank r of w takes rows r::w, so the ranks together have the batch, and each of its rows once."""
    for _, which, positions in batches(STRETCHES, seed=3, salt=4):
        for world in (1, 2, 3):
            again = np.empty_like(positions)
            for rank in range(world):
                again[rank::world] = positions[rank::world]
            np.testing.assert_array_equal(again, positions)
            assert sum(len(which[rank::world]) for rank in range(world)) == len(which)


def test_seed_salt_and_step_each_change_the_order_inside_a_batch() -> None:
    segment = order_of([12, 12, 12], 1)

    def inside(seed: int, salt: int) -> list[int]:
        return list(next(iter(batches([segment], seed, salt)))[1])

    assert len({tuple(inside(*key)) for key in ((0, 0), (1, 0), (0, 1))}) == 3
    two = list(batches([order_of([24, 24], 2)], 0, 0))
    assert two[0][1].tolist() != two[1][1].tolist()
    segments = list(batches([order_of([24, 24], 1), order_of([24, 24], 1)], 0, 0))
    assert segments[0][1].tolist() != segments[1][1].tolist()  # steps are counted over the whole round
