"""A blocked Bloom filter: the bits of an n-gram share a block of 64 bytes, so a lookup costs one memory access.

Blocked filters need a little more space than classical ones for the same rate of false positives (Putze, Sanders and
Singler, 2007: Cache-, Hash- and Space-Efficient Bloom Filters); `size` computes it exactly.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ticlm.datasets.text.words import STEP, mixed
from ticlm.platform.core.integrity.files import verify
from ticlm.platform.core.store import Attempt, Store, read_record

BLOCK_BITS = 512
BLOCK_BYTES = BLOCK_BITS // 8
MOST_PROBES = 14
CHUNK_BYTES = 64 << 20
PROBED = 1 << 20
Hashes = NDArray[np.uint64]


class BloomFilter:
    """An approximate set of 64-bit hashes: it has no false negatives, and a known rate of false positives.

    The same hashes added with the same seed and size give the same bits, in any order.
    """

    def __init__(self, blocks: NDArray[np.uint64], probes: int, seed: int) -> None:
        """Wrap `blocks`: uint64[n, 8], a block of 512 bits per row."""
        self.blocks, self.probes, self.seed = blocks, probes, np.uint64(seed % 2**64)

    @staticmethod
    def sized(expected: int, rate: float, seed: int) -> BloomFilter:
        """Return an empty filter that will have a false-positive rate of `rate` with `expected` different hashes."""
        probes, _ = _shape(rate)
        return BloomFilter(np.zeros((size(expected, rate) // BLOCK_BYTES, 8), np.uint64), probes, seed)

    @property
    def nbytes(self) -> int:
        return int(self.blocks.nbytes)

    def add(self, hashes: Hashes) -> int:
        """Add hashes; return how many were new, as far as the filter can tell."""
        return int(_add(self.blocks, self.probes, self.seed, hashes))

    def contains(self, hashes: Hashes) -> int:
        """Return how many of the hashes are in the filter, or seem to be."""
        return int(_contains(self.blocks, self.probes, self.seed, hashes))

    def expected_rate(self) -> float:
        """Return the rate of false positives that the set bits imply: the mean over blocks of (share set)^probes."""
        rates = (np.sum((np.bitwise_count(chunk).sum(1) / BLOCK_BITS) ** self.probes) for chunk in self._chunks())
        return float(sum(rates)) / len(self.blocks)

    def measured_rate(self) -> float:
        """Return the share of random hashes, never added, that the filter claims to have."""
        unseen = np.random.default_rng(int(self.seed)).integers(0, 2**64, PROBED, np.uint64)
        return self.contains(unseen) / PROBED

    def save(self, store: Store, folder: str) -> None:
        """Write the filter below `folder`, and its record last; a filter that is there already stays."""
        attempt = Attempt(store, folder)
        path = f"{attempt.path}/blocks"
        if store.is_local:
            store.fs.makedirs(store.path(attempt.path), exist_ok=True)
        digest = hashlib.sha256()
        with store.fs.open(store.path(path), "wb") as file:
            for chunk in map(np.ndarray.tobytes, self._chunks()):
                file.write(chunk)
                digest.update(chunk)
        attempt.publish({"probes": self.probes, "seed": str(self.seed), "sha256": digest.hexdigest()}, ["blocks"])

    @staticmethod
    def load(store: Store, folder: str) -> BloomFilter | None:
        """Return the filter saved below `folder`; None if there is none, or if its bytes differ from its record."""
        record = read_record(store, folder)
        if record is None or verify(store, folder):
            return None
        words = np.empty(record.file("blocks").size // 8, np.uint64)
        view = words.view(np.uint8)
        with store.fs.open(store.path(f"{folder}/{record.attempt}/blocks"), "rb") as file:
            at = 0
            while data := file.read(CHUNK_BYTES):
                view[at : at + len(data)] = np.frombuffer(data, np.uint8)
                at += len(data)
        about = record.about
        return BloomFilter(words.reshape(-1, 8), int(about["probes"]), int(about["seed"]))

    def _chunks(self) -> Iterator[NDArray[np.uint64]]:
        step = CHUNK_BYTES // BLOCK_BYTES
        for at in range(0, len(self.blocks), step):
            yield self.blocks[at : at + step]


def size(expected: int, rate: float) -> int:
    """Return the bytes of a filter for `expected` hashes with a false-positive rate of `rate`."""
    _, bits = _shape(rate)
    return max(1, math.ceil(expected * bits / BLOCK_BITS)) * BLOCK_BYTES


@cache
def _shape(rate: float) -> tuple[int, float]:
    """Return the probes, and the bits per hash, of the smallest blocked filter with this rate."""
    best: tuple[int, float] = (0, math.inf)
    for probes in range(1, MOST_PROBES + 1):
        low, high = 1.0, 200.0
        if blocked_rate(high, probes) > rate:
            continue
        while high - low > 1e-3:
            middle = (low + high) / 2
            low, high = (low, middle) if blocked_rate(middle, probes) <= rate else (middle, high)
        best = min(best, (probes, high), key=lambda shape: shape[1])
    if not best[0]:
        raise ValueError(f"a false-positive rate of {rate} is too small for this filter")
    return best


def blocked_rate(bits: float, probes: int) -> float:
    """Return the rate of false positives with `bits` per hash, where a block has a Poisson number of hashes.

    Putze et al. (2007), equation 3.
    """
    mean = BLOCK_BITS / bits
    held = np.arange(int(mean + 12 * math.sqrt(mean)) + 12)
    log = held * math.log(mean) - mean - np.array([math.lgamma(n + 1) for n in held])
    return float(np.sum(np.exp(log) * (1 - (1 - 1 / BLOCK_BITS) ** (held * probes)) ** probes))


@njit(cache=True, inline="always")
def _place(blocks: Any, seed: Any, value: Any) -> Any:
    """Return the block of a hash, and the value that determines its bits."""
    bits = mixed(value ^ mixed(seed + np.uint64(1)))
    return ((bits >> np.uint64(32)) * np.uint64(len(blocks))) >> np.uint64(32), bits


@njit(cache=True, inline="always")
def holds(blocks: Any, probes: int, seed: Any, value: Any) -> bool:
    """Return whether every bit of a hash is set."""
    block, bits = _place(blocks, seed, value)
    for i in range(probes):
        if i % 7 == 0:  # seven places of nine bits in a word
            bits = mixed(bits + STEP)
        at = (bits >> np.uint64(9 * (i % 7))) & np.uint64(511)
        if not (blocks[block, at >> np.uint64(6)] >> (at & np.uint64(63))) & np.uint64(1):
            return False
    return True


@njit(cache=True, inline="always")
def put(blocks: Any, probes: int, seed: Any, value: Any) -> None:
    """Set every bit of a hash."""
    block, bits = _place(blocks, seed, value)
    for i in range(probes):
        if i % 7 == 0:
            bits = mixed(bits + STEP)
        at = (bits >> np.uint64(9 * (i % 7))) & np.uint64(511)
        blocks[block, at >> np.uint64(6)] |= np.uint64(1) << (at & np.uint64(63))


@njit(cache=True, nogil=True)
def _add(blocks: Any, probes: int, seed: Any, hashes: Any) -> int:
    fresh = 0
    for value in hashes:
        if not holds(blocks, probes, seed, value):
            fresh += 1
            put(blocks, probes, seed, value)
    return fresh


@njit(cache=True, nogil=True)
def _contains(blocks: Any, probes: int, seed: Any, hashes: Any) -> int:
    found = 0
    for value in hashes:
        if holds(blocks, probes, seed, value):
            found += 1
    return found
