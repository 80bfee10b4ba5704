"""Groups of questions by the value of a measure, as equal in size as ties allow."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Group = tuple[float, float]
"""The smallest and the largest value of a group, both within it."""
THIRDS = 30
"""Fewest questions that are cut into three groups; fewer are cut into two."""
FEWEST = 5
"""Fewest questions of a group."""
SMALLEST = 10
"""One through the smallest share of the questions that each of three groups has: with less, two groups tell more."""


def grouped(values: Sequence[float]) -> list[Group]:
    """Return the groups of questions with these values, from the smallest values to the largest.

    All questions with one value are in one group: each cut stands at the value nearest to the ideal size. There are
    three groups, or two of fewer than THIRDS questions or where ties leave no three, or one where ties leave no two.
    """
    if not len(values):
        return []
    distinct, counts = np.unique(np.asarray(values, dtype=float), return_counts=True)
    upto, n = np.cumsum(counts), len(values)
    for number, least in ((3, max(FEWEST, n / SMALLEST)), (2, FEWEST)):
        if number == 3 and n < THIRDS:
            continue
        cuts = [int(np.argmin(np.abs(upto - n * part / number))) for part in range(1, number)]
        last = [*cuts, len(distinct) - 1]
        if np.diff([0, *upto[last]]).min() >= least:
            first = [0, *(cut + 1 for cut in cuts)]
            return [(float(distinct[a]), float(distinct[b])) for a, b in zip(first, last, strict=True)]
    return [(float(distinct[0]), float(distinct[-1]))]
