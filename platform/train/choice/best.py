"""The rows of a pool that are kept: those with the highest scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def best(scores: Ints, positions: Ints, kept: int) -> Ints:
    """Return which of the candidates are kept, int64[kept], in the order of their draws.

    `scores` and `positions` are those of the candidates in the order of their draws, int64[candidates]. The highest
    scores are kept; of equal ones, those drawn first. A row that was drawn twice, as an epoch ended between, is kept a
    second time only after every other row.
    """
    copies = np.zeros(len(positions), np.int64)
    seen: dict[int, int] = {}
    for number, position in enumerate(positions.tolist()):
        copies[number] = seen.get(position, 0)
        seen[position] = seen.get(position, 0) + 1
    order = np.lexsort((np.arange(len(scores)), -scores, copies))
    return np.sort(order[:kept])
