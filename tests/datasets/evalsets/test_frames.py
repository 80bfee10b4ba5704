"""Frames: months put together until they hold enough."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from ticlm.datasets.evalsets.tic_stackexchange import Frame, frames

COUNTS = st.dictionaries(st.integers(0, 30), st.integers(0, 9))


def test_months_follow_each_other_into_a_frame_until_it_holds_enough() -> None:
    counts = {0: 3, 1: 2, 4: 9, 5: 1, 6: 4, 7: 2}
    assert list(frames(counts, 5, now=8)) == [
        Frame(0, 1, whole=True), Frame(4, 4, whole=True), Frame(5, 6, whole=True), Frame(7, 7, whole=False)
    ]  # fmt: skip


def test_a_month_that_may_go_on_ends_no_frame() -> None:
    assert list(frames({0: 9, 1: 9}, 5, now=1)) == [Frame(0, 0, whole=True), Frame(1, 1, whole=False)]
    assert list(frames({0: 2, 1: 9}, 5, now=1)) == [Frame(0, 1, whole=False)]


def test_no_example_makes_no_frame() -> None:
    assert list(frames({}, 5, now=9)) == list(frames({3: 0}, 5, now=9)) == []


@given(counts=COUNTS, least=st.integers(1, 20), now=st.integers(0, 31))
def test_every_example_is_in_one_frame_and_none_is_larger_than_it_needs(
    counts: dict[int, int], least: int, now: int
) -> None:
    made = list(frames(counts, least, now))
    assert all(sum(month in frame for frame in made) == 1 for month, count in counts.items() if count)
    assert all(one.last < next.first for one, next in pairwise(made))
    assert all(frame.whole for frame in made[:-1])
    for frame in made:
        held = sum(counts.get(month, 0) for month in range(frame.first, frame.last + 1))
        assert held >= least or not frame.whole
        assert held - counts[frame.last] < least or not frame.whole


@given(counts=COUNTS, later=COUNTS, least=st.integers(1, 20), now=st.integers(0, 31), more=st.integers(0, 9))
def test_a_newer_dump_leaves_whole_frames_as_they_are(
    counts: dict[int, int], later: dict[int, int], least: int, now: int, more: int
) -> None:
    known = {month: count for month, count in counts.items() if month <= now}
    whole = [frame for frame in frames(known, least, now) if frame.whole]
    newer = {
        **{month: count for month, count in later.items() if month >= now},
        **{m: c for m, c in known.items() if m < now},
    }
    assert list(frames(newer, least, now + more))[: len(whole)] == whole
