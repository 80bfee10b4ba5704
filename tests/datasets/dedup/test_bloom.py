"""The Bloom filter: it forgets nothing, errs as often as it says, and is the same whatever the order."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit

from ticlm.core.errors import RunError
from ticlm.core.store import Store
from ticlm.datasets.dedup.bloom import BLOCK_BYTES, WIDE, BloomFilter, Hashes, blocked_rate, place, size


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


@njit  # type: ignore[untyped-decorator]
def _blocks_hit(blocks: Any, seed: Any, wide: bool, hashes: Any) -> Any:
    found = np.empty(len(hashes), np.uint64)
    for i in range(len(hashes)):
        found[i] = place(blocks, seed, wide, hashes[i])[0]
    return found


def test_every_block_of_a_filter_of_309_gb_is_hit_equally_often() -> None:
    blocks = size(250_000_000_000, 0.01) // BLOCK_BYTES
    assert blocks > 2**32
    bloom = BloomFilter(np.broadcast_to(np.zeros(8, np.uint64), (blocks, 8)), probes=6, seed=1)
    hit = _blocks_hit(bloom.blocks, bloom.seed, bloom.wide, hashes(200_000))
    shares = np.histogram(hit, 20, (0, blocks))[0] / len(hit)
    assert shares == pytest.approx(np.full(20, 1 / 20), abs=5 * math.sqrt(1 / 20 / len(hit)))


@pytest.mark.parametrize("blocks", [1, 7, WIDE - 1, WIDE, 2**32 - 1, 2**32 + 1, 2**45 + 12345])
def test_a_block_is_the_share_of_the_whole_that_the_hash_is_of_all_hashes(blocks: int) -> None:
    bloom = BloomFilter(np.broadcast_to(np.zeros(8, np.uint64), (blocks, 8)), probes=6, seed=3)
    values = hashes(100)
    one = BloomFilter(np.broadcast_to(np.zeros(8, np.uint64), (2**50, 8)), probes=6, seed=3)
    top = _blocks_hit(one.blocks, one.seed, one.wide, values).tolist()  # the first 50 bits of each mixed hash
    kept = 50 if bloom.wide else 32
    expected = [(value >> (50 - kept)) * blocks >> kept for value in top]
    found = _blocks_hit(bloom.blocks, bloom.seed, bloom.wide, values).tolist()
    assert all(0 <= a - b <= 1 for a, b in zip(found, expected)) and max(found) < blocks


def test_a_saved_filter_with_blocks_that_no_hash_reaches_is_refused(tmp_path: Path) -> None:
    store = Store(tmp_path)
    BloomFilter.sized(5000, 0.01, seed=9).save(store, "saved")
    record = tmp_path / "saved/record.json"
    about = json.loads(record.read_text())
    about["files"][0]["size"] = 309_255_719_232
    del about["sha256"]  # as earlier releases wrote records
    record.write_text(json.dumps(about))
    with pytest.raises(RunError, match=r"saved: an earlier release filled only a part .* build a new version"):
        BloomFilter.load(store, "saved")


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
