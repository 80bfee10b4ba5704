"""95 % intervals from formulas: of a mean by Student's t, of a share by Wilson's score, of a difference of shares."""

from __future__ import annotations

import math

Z = 1.959964
"""Standard errors to either side of a normal mean."""
TABLE = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Quantiles of Student's t at 97.5 % for 1, 2, … degrees of freedom."""


def quantile(freedom: int) -> float:
    """Return how many standard errors a 95 % interval reaches to either side with so many degrees of freedom: Student's
    t from a table, and within .5 % from 11 on."""
    return TABLE[freedom - 1] if freedom <= len(TABLE) else 1.96 + 2.6 / freedom


def wilson(share: float, n: int) -> tuple[float, float]:
    """Return the 95 % interval of a share of n outcomes (Wilson's score interval); from 0 to 1 of none."""
    if not n:
        return 0.0, 1.0
    middle, reach = share + Z**2 / (2 * n), Z * math.sqrt(share * (1 - share) / n + Z**2 / (4 * n**2))
    return max(0.0, (middle - reach) / (1 + Z**2 / n)), min(1.0, (middle + reach) / (1 + Z**2 / n))


def newcombe(one: tuple[float, int], other: tuple[float, int]) -> tuple[float, float]:
    """Return the 95 % interval of the first share less the second one, each a share of n independent outcomes
    (Newcombe, 1998, method 10). It has a width also where both shares are 0 or 1."""
    (low, high), (other_low, other_high) = wilson(*one), wilson(*other)
    apart = one[0] - other[0]
    below, above = math.hypot(one[0] - low, other_high - other[0]), math.hypot(high - one[0], other[0] - other_low)
    return apart - below, apart + above
