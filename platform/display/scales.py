"""What fits on an axis: where a scale ends, and which points keep the shape of a line."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ticlm.platform.analysis.matrix import Array

EXTREME = 2.5
"""Where the scale ended at the percentile, a month that is twice as hard was one flat black row of thirteen."""


def limit(matrices: Iterable[Array]) -> float:
    """Return the end of the common colour scale of regret: the largest size of a known cell; if that is more than
    EXTREME times the 95th percentile, that percentile, so that a single extreme cell does not set the scale."""
    sizes = np.abs(np.concatenate([matrix[~np.isnan(matrix)] for matrix in matrices] or [np.zeros(0)]))
    if not len(sizes):
        return 1.0
    most, end = float(sizes.max()), float(np.percentile(sizes, 95))
    return max(most if most <= EXTREME * end else end, 1e-3)


def spread(matrices: Iterable[Array]) -> tuple[float, float]:
    """Return the lowest and the highest known value; (0, 1) if no value is known."""
    known = np.concatenate([matrix[~np.isnan(matrix)] for matrix in matrices] or [np.zeros(0)])
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)


def thin(values: Array, most: int = 1200) -> list[int]:
    """Return at most `most` positions that keep the shape of a series: its ends, and the lowest and the highest value
    of each part between them."""
    if len(values) <= most:
        return list(range(len(values)))
    kept = {0, len(values) - 1}
    for part in np.array_split(np.arange(len(values)), (most - 2) // 2):
        kept |= {int(part[values[part].argmin()]), int(part[values[part].argmax()])}
    return sorted(kept)
