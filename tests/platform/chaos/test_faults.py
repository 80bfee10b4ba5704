"""Faults by a seed, and a root that is gone for a while."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import mean

import pytest

from ticlm.core.store import Store
from ticlm.platform.chaos.accounting import RowDifference
from ticlm.platform.chaos.comparison import CellsDifference, WeightsDifference
from ticlm.platform.chaos.experiment import Outcome
from ticlm.platform.chaos.faults import gone
from ticlm.platform.chaos.schedule import KINDS, schedule


def test_a_seed_draws_the_same_faults_and_another_seed_others() -> None:
    assert schedule(10, 60, seed=1) == schedule(10, 60, seed=1) != schedule(10, 60, seed=2)
    assert schedule(3, 60, seed=1) == schedule(10, 60, seed=1)[:3], "more kills continue the same series"


def test_kinds_take_turns_and_the_mean_time_between_faults_is_as_asked_for() -> None:
    faults = schedule(400, 60, seed=0)
    assert Counter(fault.kind for fault in faults) == dict.fromkeys(KINDS, 100)
    assert mean(fault.after_s for fault in faults) == pytest.approx(60, rel=0.15)
    assert {fault.kind for fault in schedule(5, 60, seed=0, kinds=("worker",))} == {"worker"}


def test_nothing_below_a_root_that_is_gone_can_be_read_or_written(tmp_path: Path) -> None:
    store = Store(tmp_path / "root")
    store.write("a/b", b"1")
    with gone(tmp_path / "root"):
        assert not store.exists("a/b")
        with pytest.raises(OSError):
            store.read("a/b")
        with pytest.raises(OSError):
            store.write("a/c", b"2")
        with pytest.raises(OSError):
            store.create("d/e", b"2")
    assert store.read("a/b") == b"1"
    assert [path.name for path in tmp_path.iterdir()] == ["root"]


@pytest.mark.parametrize(
    ("weights", "cells", "sound"),
    [
        ((2, 2, 0, 0.0, ""), (4, 0, 0.0), True),
        ((2, 1, 0, 1e-9, "202302"), (4, 0, 0.0), False),
        ((2, 1, 1, 0.0, ""), (4, 0, 0.0), False),
        ((2, 2, 0, 0.0, ""), (4, 1, 0.0), False),
        ((2, 2, 0, 0.0, ""), (4, 0, float("inf")), False),
    ],
)
def test_a_run_is_sound_if_it_has_the_bits_of_the_undisturbed_one(
    weights: tuple[int, int, int, float, str], cells: tuple[int, int, float], sound: bool
) -> None:
    rows = RowDifference(total=8, doubled=0, lost=0)
    outcome = Outcome((), 0, 1, 1.0, 1.0, 4, 0, rows, WeightsDifference(*weights), CellsDifference(*cells))
    assert outcome.is_sound is sound
    assert not replace(outcome, rows=RowDifference(8, 0, 1)).is_sound
