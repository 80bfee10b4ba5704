"""Scores of rows by their n-grams, which need no model: how unlike the new rows they are, and how rare.

N-grams are compared by hashes of 64 bits. Of ten million different ones, two are taken for the same with a probability
of 3 in a million.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ticlm.core.token_rows import Tokens

Ints = NDArray[np.int64]
Hashes = NDArray[np.uint64]
PARTS = 1_000_000
"""Parts of a row into which the sum of shares that `novelty` counts is rounded."""
_STEP, _MIX = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xBF58476D1CE4E5B9)  # odd constants, those of SplitMix64


def hashes(rows: Tokens, n: int) -> Hashes:
    """Return a hash of each n-gram of rows [rows, length], uint64[rows, length − n + 1]."""
    found = np.zeros((len(rows), rows.shape[1] - n + 1), np.uint64)
    for place in range(n):
        found += rows[:, place : rows.shape[1] - n + 1 + place].astype(np.uint64) + np.uint64(1)
        found *= _STEP
        found ^= found >> np.uint64(29)
        found *= _MIX
        found ^= found >> np.uint64(32)
    return found


def unlike(pools: Iterable[Tokens], new: Tokens, n: int) -> list[Ints]:
    """Return for each row of each pool at how many of its places an n-gram begins that no new row has, int64[rows]."""
    known = np.unique(hashes(new, n))
    return [(~_is_among(hashes(rows, n), known)).sum(1) for rows in pools]


def novelty(pools: Callable[[], Iterable[Tokens]], new: Tokens, n: int) -> list[Ints]:
    """Return for each row r of each pool Σ 1 / d(g) over its distinct n-grams g, in millionths, int64[rows].

    d(g) is how many rows have the n-gram, of all candidates, whatever their period, and of the new rows. An n-gram that
    only r has counts 1, one that many have next to nothing. Copies of a row among the candidates count as rows.
    """
    parts = [np.concatenate(_distinct(hashes(rows, n))) for rows in (new, *pools()) if len(rows)]
    grams, rows_with = np.unique(np.concatenate(parts), return_counts=True)
    shares = 1.0 / rows_with
    found = []
    for rows in pools():
        sums = [shares[np.searchsorted(grams, own)].sum() for own in _distinct(hashes(rows, n))]
        found.append(np.rint(np.array(sums, np.float64) * PARTS).astype(np.int64))
    return found


def _distinct(rows: Hashes) -> Sequence[Hashes]:
    """Return the distinct n-grams of each row, in order."""
    return [np.unique(row) for row in rows]


def _is_among(values: Hashes, known: Hashes) -> NDArray[np.bool_]:
    """Return whether each value is among `known`, which are in order."""
    if not len(known):
        return np.zeros(values.shape, np.bool_)
    at = np.searchsorted(known, values)
    found: NDArray[np.bool_] = known[np.minimum(at, len(known) - 1)] == values
    return found
