"""Tides: how the frequencies of words, phrases, names and topics rise and fall from month to month.

Each name has a wave of its own, which is a function of the month alone, so a month can be written without the others.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from random import Random


@dataclass(frozen=True, slots=True)
class Tides:
    """The tides of a world. `drift` is their height; `waves` are the shortest and the longest wave, in months."""

    seed: int
    drift: float
    waves: tuple[float, float]

    def weight(self, name: str, month: int) -> float:
        """Return the weight of a name in a month: from exp(-drift) to exp(drift)."""
        phase, place = _wave(self.seed, name)
        length = self.waves[0] + place * (self.waves[1] - self.waves[0])
        height = math.exp(self.drift * math.cos(2 * math.pi * (month / length + phase)))
        return round(height, 9)  # the last bits of exp and cos differ between machines


@lru_cache(maxsize=1 << 16)
def _wave(seed: int, name: str) -> tuple[float, float]:
    """Return two numbers from 0 to 1: where a wave begins, and how long it is."""
    rng = Random(f"{seed}/tide/{name}")
    return rng.random(), rng.random()
