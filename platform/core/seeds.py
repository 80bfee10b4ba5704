"""Random numbers that depend on a key alone: never on what was drawn before, or on which machine."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def keyed(*key: int) -> np.random.Generator:
    """Return a generator that depends on the key alone (Philox, the same on every platform)."""
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([k & 0xFFFFFFFFFFFFFFFF for k in key])))


def random_numbers(total: int, key: int, first: int = 0) -> NDArray[np.uint64]:
    """Return the numbers `first` … `first + total` − 1 of a random sequence: SplitMix64 (Steele et al., 2014), which no
    release of NumPy changes."""
    z: Any = np.uint64(key) + np.arange(first + 1, first + total + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), np.uint64)
