"""Random numbers that depend on a key alone: never on what was drawn before, or on which machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from pydantic import AfterValidator, Field

if TYPE_CHECKING:  # plans read seeds, and load nothing heavy
    import numpy as np
    from numpy.typing import NDArray


Seed = Annotated[int, Field(ge=-(2**63), lt=2**63)]
"""A seed. Generators read 64 bits of it, so that two longer ones could be the same."""


def _distinct(seeds: tuple[int, ...]) -> tuple[int, ...]:
    twice = next((seed for seed in seeds if seeds.count(seed) > 1), None)
    if twice is not None:
        raise ValueError(f"{twice} is given twice; the same run would count as two")
    return seeds


Seeds = Annotated[tuple[Seed, ...], Field(min_length=1), AfterValidator(_distinct)]
"""The seeds of several runs."""


def keyed(*key: int) -> np.random.Generator:
    """Return a generator that depends on the key alone (Philox, the same on every platform)."""
    import numpy as np

    # SeedSequence refuses negative numbers, so they are read as unsigned ones of 64 bits.
    return np.random.Generator(np.random.Philox(np.random.SeedSequence([k & 0xFFFFFFFFFFFFFFFF for k in key])))


def random_numbers(total: int, key: int, first: int = 0) -> NDArray[np.uint64]:
    """Return the numbers `first` … `first + total` − 1 of a random sequence: SplitMix64 (Steele et al., 2014), which no
    release of NumPy changes."""
    import numpy as np

    z: Any = np.uint64(key) + np.arange(first + 1, first + total + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(z ^ (z >> np.uint64(31)), np.uint64)
