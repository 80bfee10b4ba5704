"""Dealing out a period's cap to files without a footer, whose rows alone tell their period.

Such a file may be in the order of its dates and hold none of a period, so no file gets all of the cap. Of each at least
a block of 8 MiB is fetched: more files cost more of these, fewer may all be of other days.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

TOGETHER = 16
"""Files that share a period's cap equally before the next ones are opened."""
PORTION = 4
"""Documents that each of these files gets before the next one gets any, so that a small cap is not cut into parts that
no document fits in."""


def dealt(sizes: Sequence[int], amount: int, portion: int) -> list[int]:
    """Deal out all of `amount` to files of these sizes (1 or more), each at most its size: TOGETHER files at a time get
    equal parts, but one after another their first `portion`. If all sizes are less than the amount, which is a sign of
    a low guess, all files get theirs again, in as many turns as needed.

    Of a larger amount, each file gets as much or more.
    """
    turns, amount = divmod(amount, sum(sizes)) if sizes else (0, 0)
    if turns:  # all files are opened
        return [turns * size + part for size, part in zip(sizes, _evenly(sizes, amount))]
    found: list[int] = []
    for at in range(0, len(sizes), TOGETHER):
        batch = sizes[at : at + TOGETHER]
        firsts = [min(size, portion) for size in batch]
        parts = _in_order(firsts, amount) if amount < sum(firsts) else _evenly(batch, amount)
        found += parts
        amount -= sum(parts)
    return found


def _in_order(sizes: Sequence[int], amount: int) -> list[int]:
    """Give each file its size until the amount is used up."""
    return [min(size, max(0, amount - before)) for size, before in zip(sizes, [0, *accumulate(sizes)])]


def _evenly(sizes: Sequence[int], amount: int) -> list[int]:
    """Give equal parts of the amount, each at most a file's size; the smallest file first, as it leaves more to
    others."""
    found = [0] * len(sizes)
    for done, at in enumerate(sorted(range(len(sizes)), key=lambda at: sizes[at])):
        found[at] = min(sizes[at], amount // (len(sizes) - done))
        amount -= found[at]
    return found
