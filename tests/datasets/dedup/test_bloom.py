"""The Bloom filter: it forgets nothing, errs as often as it says, and is the same whatever the order."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ticlm.datasets.dedup.bloom import BLOCK_BYTES, BloomFilter, Hashes, blocked_rate, size
from ticlm.platform.core.store import Store


def hashes(count: int, seed: int = 0) -> Hashes:
    return np.random.default_rng(seed).integers(0, 2**64, count, np.uint64)


@given(st.lists(st.integers(0, 2**64 - 1), max_size=200), st.integers(1, 300), st.sampled_from([0.3, 0.01, 1e-5]))
@settings(deadline=None, max_examples=50)
def test_what_was_added_is_contained_however_full_it_is(values: list[int], expected: int, rate: float) -> None:
    bloom = BloomFilter.sized(expected, rate, seed=7)
    added = np.array(values, np.uint64)
    bloom.add(added)
    assert bloom.contains(added) == len(added)


@pytest.mark.parametrize("rate", [0.1, 0.01, 0.001])
def test_the_rate_of_false_positives_is_the_one_asked_for(rate: float) -> None:
    bloom = BloomFilter.sized(200_000, rate, seed=1)
    bloom.add(hashes(200_000))
    spread = 4 * math.sqrt(rate / (1 << 20))
    assert bloom.expected_rate() == pytest.approx(rate, rel=0.05)
    assert bloom.measured_rate() == pytest.approx(bloom.expected_rate(), abs=spread)


def test_an_overfull_filter_says_that_it_errs_more_often() -> None:
    bloom = BloomFilter.sized(10_000, 0.01, seed=1)
    bloom.add(hashes(40_000))
    assert bloom.expected_rate() > 0.2
    assert bloom.measured_rate() == pytest.approx(bloom.expected_rate(), rel=0.05)


def test_a_look_costs_a_little_more_room_than_in_a_classical_filter() -> None:
    classical = -math.log(0.01) / math.log(2) ** 2 / 8 * 1_000_000
    assert 1 < size(1_000_000, 0.01) / classical < 1.05
    assert size(1_000_000, 0.01) % BLOCK_BYTES == 0
    assert size(0, 0.01) == BLOCK_BYTES


def test_the_size_follows_the_sum_over_a_poisson_number_of_hashes_per_block() -> None:
    rng = np.random.default_rng(0)
    held = rng.poisson(512 / 10, 400_000)
    simulated = np.mean((1 - (1 - 1 / 512) ** (held * 6)) ** 6)
    assert blocked_rate(10, 6) == pytest.approx(simulated, rel=0.01)


def test_order_changes_nothing_and_the_seed_changes_the_bits() -> None:
    one, other, seeded = (BloomFilter.sized(1000, 0.01, seed) for seed in (3, 3, 4))
    values = hashes(1000)
    one.add(values)
    other.add(values[::-1].copy())
    seeded.add(values)
    assert np.array_equal(one.blocks, other.blocks)
    assert not np.array_equal(one.blocks, seeded.blocks)


def test_added_counts_what_was_not_there() -> None:
    bloom = BloomFilter.sized(1000, 1e-5, seed=0)
    assert bloom.add(hashes(500)) == 500
    assert bloom.add(hashes(1000)[250:750]) == 250


def test_a_saved_filter_goes_on_where_it_stopped(store: Store) -> None:
    bloom = BloomFilter.sized(5000, 0.01, seed=9)
    bloom.add(hashes(2000))
    bloom.save(store, "dedup/train/0/202301")
    again = BloomFilter.load(store, "dedup/train/0/202301")
    assert again is not None
    assert (again.probes, again.seed) == (bloom.probes, bloom.seed)
    for each in (bloom, again):
        each.add(hashes(2000, seed=1))
    assert np.array_equal(again.blocks, bloom.blocks)


def test_a_damaged_filter_is_not_loaded(tmp_path: Path) -> None:
    store = Store(tmp_path)
    BloomFilter.sized(5000, 0.01, seed=9).save(store, "saved")
    (path,) = (tmp_path / "saved").glob("*/blocks")
    data = bytearray(path.read_bytes())
    data[100] ^= 1
    path.write_bytes(data)
    assert BloomFilter.load(store, "saved") is None
    assert BloomFilter.load(store, "elsewhere") is None
