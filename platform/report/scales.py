"""What fits on an axis: where a scale ends, which positions carry a label, which points keep a line's shape."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from ticlm.platform.analysis.matrix import Array


def limit(matrices: Iterable[Array]) -> float:
    """Where the common colour scale of regret ends: the 95th percentile of its size, so that no lone cell sets it."""
    sizes = np.abs(np.concatenate([matrix[~np.isnan(matrix)] for matrix in matrices] or [np.zeros(0)]))
    return max(float(np.percentile(sizes, 95)), 1e-3) if len(sizes) else 1.0


def spread(matrices: Iterable[Array]) -> tuple[float, float]:
    """Lowest and highest known value."""
    known = np.concatenate([matrix[~np.isnan(matrix)] for matrix in matrices] or [np.zeros(0)])
    return (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)


def ticks(labels: Sequence[str], most: int, places: Sequence[float] | None = None) -> list[int]:
    """Positions to label, at most `most` and apart: all where they fit, else the first of each year. `places` is where
    they lie on their axis, where that is not evenly."""
    places = range(len(labels)) if places is None else places
    chosen = list(range(len(labels)))
    if len(chosen) > most:
        years = [label[:4] for label in labels]
        chosen = [i for i in chosen if i == 0 or years[i] != years[i - 1]]
    room = (places[-1] - places[0]) * len(labels) / max(len(labels) - 1, 1) / most if labels else 0.0
    kept: list[int] = []
    for i in chosen:
        if not kept or places[i] - places[kept[-1]] >= room - 1e-9:
            kept.append(i)
    return kept


def thin(values: Array, most: int = 1200) -> list[int]:
    """At most `most` positions that keep a series' shape: the ends, and of each stretch the lowest and the highest."""
    if len(values) <= most:
        return list(range(len(values)))
    kept = {0, len(values) - 1}
    for part in np.array_split(np.arange(len(values)), (most - 2) // 2):
        kept |= {int(part[values[part].argmin()]), int(part[values[part].argmax()])}
    return sorted(kept)
