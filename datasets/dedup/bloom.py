"""A blocked Bloom filter: the bits of an n-gram share a block of 64 bytes, so a lookup costs one memory access.

Blocks are aligned to cache lines, and whoever looks up many hashes in order calls `fetch` for the next ones. The
processor then waits for none of them. This makes lookups in a filter larger than the caches five times as fast.

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
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic
from numpy.typing import NDArray

from ticlm.core.errors import RunError
from ticlm.core.integrity.files import verify
from ticlm.core.integrity.records import Attempt, read_record
from ticlm.core.store import Store
from ticlm.datasets.text.words import STEP, mixed

BLOCK_BITS = 512  # one cache line of 64 bytes
BLOCK_BYTES = BLOCK_BITS // 8
MOST_PROBES = 14  # two mixed words of a hash, each with seven places of nine bits (`holds`)
CHUNK_BYTES = 64 << 20  # copied, hashed and written at a time, because a filter may fill most of the memory
PROBED = 1 << 20  # random hashes: a rate of 0.001 gives 1,049 hits, so it is measured to within 3 %
AHEAD = 32
"""Hashes whose blocks are fetched at a time, so many before their turn."""
WIDE = 1 << 28
"""Blocks (of 16 GiB) from which on all 64 bits of a hash choose its block. In smaller filters 32 bits do, as each block
has at least 16 of their values; in one of 2^32 blocks and more, some would have none."""
Hashes = NDArray[np.uint64]


class BloomFilter:
    """An approximate set of 64-bit hashes: it has no false negatives, and a known rate of false positives.

    The same hashes added with the same seed and size give the same bits, in any order.
    """

    def __init__(self, blocks: NDArray[np.uint64], probes: int, seed: int, wide: bool | None = None) -> None:
        """Wrap `blocks`: uint64[n, 8], a block of 512 bits per row. `wide` says whether 64 bits of a hash choose its
        block, or 32; by default, the number of blocks decides (WIDE)."""
        self.blocks, self.probes, self.seed = blocks, probes, np.uint64(seed % 2**64)
        self.wide = len(blocks) >= WIDE if wide is None else wide

    @staticmethod
    def sized(expected: int, rate: float, seed: int) -> BloomFilter:
        """Return an empty filter that will have a false-positive rate of `rate` with `expected` different hashes."""
        probes, _ = _shape(rate)
        return BloomFilter(_blocks(size(expected, rate)), probes, seed)

    @property
    def nbytes(self) -> int:
        return int(self.blocks.nbytes)

    def add(self, hashes: Hashes) -> int:
        """Add hashes, uint64[n]; return how many were new, as far as the filter can tell."""
        return int(_add(self.blocks, self.probes, self.seed, self.wide, hashes))

    def contains(self, hashes: Hashes) -> int:
        """Return how many of the hashes, uint64[n], are in the filter, or seem to be."""
        return int(_contains(self.blocks, self.probes, self.seed, self.wide, hashes))

    def expected_rate(self) -> float:
        """Return the rate of false positives that the set bits imply: the mean over blocks of (share set)^probes."""
        rates = (np.sum((np.bitwise_count(chunk).sum(1) / BLOCK_BITS) ** self.probes) for chunk in self._chunks())
        return float(sum(rates)) / len(self.blocks)

    def measured_rate(self) -> float:
        """Return the share of random hashes, never added, that the filter claims to have."""
        unseen = np.random.default_rng(int(self.seed)).integers(0, 2**64, PROBED, np.uint64)
        return self.contains(unseen) / PROBED

    def save(self, store: Store, folder: str) -> None:
        """Write the filter below `folder`, and its record last. A filter that exists already stays."""
        attempt = Attempt(store, folder)
        path = f"{attempt.path}/blocks"
        digest = hashlib.sha256()
        with store.writing(path) as file:
            for chunk in map(np.ndarray.tobytes, self._chunks()):
                file.write(chunk)
                digest.update(chunk)
        about = {"probes": self.probes, "seed": str(self.seed), "sha256": digest.hexdigest()}
        attempt.publish(about | ({"wide": True} if self.wide else {}), ["blocks"])

    @staticmethod
    def load(store: Store, folder: str) -> BloomFilter | None:
        """Return the filter saved below `folder`; None if there is none, or if its bytes differ from its record.

        Raises RunError for a filter in which some blocks are never used: earlier releases took 32 bits for any number.
        """
        record = read_record(store, folder)
        if record is None:
            return None
        size, wide = record.file("blocks").size, bool(record.about.get("wide", False))
        if not wide and size > BLOCK_BYTES << 32:
            raise RunError(
                f"{store.uri(folder)}: an earlier release filled only a part of this filter of {size:,} bytes; build a "
                f"new version of the corpus"
            )
        if verify(store, folder):
            return None
        blocks = _blocks(size)
        view = blocks.reshape(-1).view(np.uint8)
        with store.fs.open(store.path(f"{folder}/{record.attempt}/blocks"), "rb") as file:
            at = 0
            while data := file.read(CHUNK_BYTES):
                view[at : at + len(data)] = np.frombuffer(data, np.uint8)
                at += len(data)
        about = record.about
        return BloomFilter(blocks, int(about["probes"]), int(about["seed"]), wide)

    def _chunks(self) -> Iterator[NDArray[np.uint64]]:
        step = CHUNK_BYTES // BLOCK_BYTES
        for at in range(0, len(self.blocks), step):
            yield self.blocks[at : at + step]


def _blocks(size: int) -> NDArray[np.uint64]:
    """Return empty blocks, uint64[size / 64, 8], each in one cache line."""
    words = np.zeros(size // 8 + 7, np.uint64)
    first = -words.ctypes.data // 8 % 8
    return words[first : first + size // 8].reshape(-1, 8)


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
        while high - low > 1e-3:  # bits per hash: a filter is at most so much larger than it has to be
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
def place(blocks: Any, seed: Any, wide: bool, value: Any) -> Any:
    """Return the block of a hash, and the value that determines its bits.

    The block is floor(bits * blocks / 2^64), or that of the upper 32 bits alone.
    """
    bits = mixed(value ^ mixed(seed + np.uint64(1)))
    count, half = np.uint64(len(blocks)), np.uint64(32)
    upper = bits >> half
    if not wide:
        return (upper * count) >> half, bits
    low = np.uint64(0xFFFFFFFF)
    lower, count_upper, count_lower = bits & low, count >> half, count & low
    cross = upper * count_lower
    middle = ((lower * count_lower) >> half) + (cross & low) + lower * count_upper
    return upper * count_upper + (cross >> half) + (middle >> half), bits


@intrinsic
def _prefetch(context: Any, address: Any) -> Any:
    """Have the processor bring the cache line at an address close, without waiting for it."""

    def code(_: Any, builder: Any, __: Any, given: Any) -> Any:
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        fetch = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        builder.call(fetch, [builder.inttoptr(given[0], byte), number(0), number(3), number(1)])  # to read; keep; data
        return _.get_dummy_value()

    return types.void(types.uintp), code


@njit(cache=True, inline="always")
def fetch(blocks: Any, seed: Any, wide: bool, hashes: Any, at: int) -> None:
    """Bring the blocks of the hashes after the next AHEAD close, if `at` is the first of as many; with 0, those too."""
    if at % AHEAD == 0:
        for i in range(at + AHEAD if at else 0, min(at + 2 * AHEAD, len(hashes))):
            _prefetch(blocks.ctypes.data + (place(blocks, seed, wide, hashes[i])[0] << np.uint64(6)))


@njit(cache=True, inline="always")
def holds(blocks: Any, probes: int, seed: Any, wide: bool, value: Any) -> bool:
    """Return whether every bit of a hash is set."""
    block, bits = place(blocks, seed, wide, value)
    for i in range(probes):
        if i % 7 == 0:  # seven places of nine bits in a word
            bits = mixed(bits + STEP)
        at = (bits >> np.uint64(9 * (i % 7))) & np.uint64(511)
        if not (blocks[block, at >> np.uint64(6)] >> (at & np.uint64(63))) & np.uint64(1):
            return False
    return True


@njit(cache=True, inline="always")
def put(blocks: Any, probes: int, seed: Any, wide: bool, value: Any) -> None:
    """Set every bit of a hash."""
    block, bits = place(blocks, seed, wide, value)
    for i in range(probes):
        if i % 7 == 0:
            bits = mixed(bits + STEP)
        at = (bits >> np.uint64(9 * (i % 7))) & np.uint64(511)
        blocks[block, at >> np.uint64(6)] |= np.uint64(1) << (at & np.uint64(63))


@njit(cache=True, nogil=True)
def _add(blocks: Any, probes: int, seed: Any, wide: bool, hashes: Any) -> int:
    fresh = 0
    for i in range(len(hashes)):
        fetch(blocks, seed, wide, hashes, i)
        if not holds(blocks, probes, seed, wide, hashes[i]):
            fresh += 1
            put(blocks, probes, seed, wide, hashes[i])
    return fresh


@njit(cache=True, nogil=True)
def _contains(blocks: Any, probes: int, seed: Any, wide: bool, hashes: Any) -> int:
    found = 0
    for i in range(len(hashes)):
        fetch(blocks, seed, wide, hashes, i)
        if holds(blocks, probes, seed, wide, hashes[i]):
            found += 1
    return found
