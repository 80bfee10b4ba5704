"""Persons whom everybody has heard of before they take an office: how famous each is, and who is chosen when."""

from __future__ import annotations

import math
from collections.abc import Sequence
from random import Random

QUOTED = 1.5
"""The most famous person is quoted exp(2 · QUOTED) times as often as the least famous one."""
FADING_MONTHS = 72
"""Months of a wave of `fame`: over half of it, obscure persons give way to famous ones, and these to obscure ones."""


def renown(seed: int, name: str) -> float:
    """Return how famous a person of a world is: a number from -1 to 1 that never changes."""
    return Random(f"{seed}/renown/{name}").uniform(-1, 1)


def quoted(seed: int, names: Sequence[str]) -> dict[str, float]:
    """Return the weight with which each person is quoted."""
    return {name: round(math.exp(QUOTED * renown(seed, name)), 9) for name in names}


def chosen(seed: int, free: Sequence[str], fame: float, month: int, rng: Random) -> str | None:
    """Return who takes an office in a month that is counted from the epoch, or None if nobody is free. The first
    holders are obscure."""
    tilt = fame * math.cos(2 * math.pi * month / FADING_MONTHS) if month else -fame
    weights = [round(math.exp(tilt * renown(seed, name)), 9) for name in free]
    return rng.choices(free, weights)[0] if free else None
