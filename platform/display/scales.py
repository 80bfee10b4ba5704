"""What fits on an axis: where a scale ends, and which points keep the shape of a line."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from ticlm.platform.analysis.matrix import Array


def limit(matrices: Iterable[Array]) -> float:
    """Return the end of the common colour scale of regret: the 95th percentile of its size over all known cells, so
    that a single extreme cell does not set the scale."""
    sizes = np.abs(np.concatenate([matrix[~np.isnan(matrix)] for matrix in matrices] or [np.zeros(0)]))
    return max(float(np.percentile(sizes, 95)), 1e-3) if len(sizes) else 1.0


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
