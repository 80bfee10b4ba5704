"""Changes of a fact: which value followed which, in which month, and why some are not told.

The rules, for a value that begins to hold in a month c:

- A start that is coarser than a month makes no change. It still counts: a change in the months that it may mean is left
  out, unless it is to the same value, and the value may be the one before a later change.
- A value that begins twice in a month counts once. Two values that begin in one month make no change.
- A value ends with its end time, or, where that is not known, when the next value begins. Where an end is coarser than
  a month, the value surely held until the first month that it may mean, and perhaps until the last.
- The value before c is the one that ended last, at c at the latest. If two did, or if another value surely held for
  more than a month after c, the holders overlap and there is no change. If it ended more than `gap` months before c,
  another value that nobody wrote down may lie between.
- The first value of a fact makes no change, nor does a value that equals the one before it (a second term).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from ticlm.datasets.wikidata.dated import Held
from ticlm.datasets.wikidata.values import StatementValue

COARSE = "date coarser than a month"
BESIDE_COARSE = "another value began in a year that holds its month"
TWICE = "stated twice"
TWO = "two changes in one month"
FIRST = "first value that is dated"
SAME = "the value before it"
OVERLAP = "overlapping holders"
GAP = "a gap before it"
MANY = "of a fact with too many values"
MOST_VALUES = 500
"""Values of one fact from which it is left out whole: seats in a parliament, not an office. The work grows with the
square of this number."""
NEVER = 1 << 30
SLACK = 1
"""Months for which the value before may hold beside the new one: a hand-over."""


@dataclass(frozen=True, slots=True)
class Succession:
    """A change of a fact: `new` took the place of `old` in a month (12 * year + month - 1)."""

    month: int
    old: StatementValue
    new: StatementValue


def successions(held: Sequence[Held], gap: int) -> tuple[list[Succession], Counter[str]]:
    """Return the changes of a fact, oldest first, and how many values made none, by reason."""
    if len(held) > MOST_VALUES:
        return [], Counter({MANY: len(held)})
    dropped: Counter[str] = Counter()
    begun: dict[int, dict[str, Held]] = {}
    for one in held:
        if one.start.first < one.start.last:
            dropped[COARSE] += 1
        elif one.value.key in begun.setdefault(one.start.first, {}):
            dropped[TWICE] += 1
        else:
            begun[one.start.first][one.value.key] = one
    tenures = [(one, *_end(one, held)) for one in held]
    found: list[Succession] = []
    for month, values in sorted(begun.items()):
        if len(values) > 1:
            dropped[TWO] += len(values)
            continue
        (new,) = values.values()
        old = _before(new, month, tenures, gap)
        if isinstance(old, str):
            dropped[old] += 1
        else:
            found.append(Succession(month, old, new.value))
    return found, dropped


def _before(new: Held, month: int, tenures: Sequence[tuple[Held, int, int]], gap: int) -> StatementValue | str:
    """Return the value before a new one, or why the new one makes no change."""
    key = new.value.key
    if any(one.value.key != key and _is_coarse_in(one, month) for one, _, _ in tenures):
        return BESIDE_COARSE
    earlier = [tenure for tenure in tenures if tenure[0].start.last < month]
    if not earlier:
        return FIRST
    if any(one.value.key != key and surely > month + SLACK for one, surely, _ in earlier):
        return OVERLAP
    latest = max(min(perhaps, month) for _, _, perhaps in earlier)
    last = {one.value.key: one.value for one, _, perhaps in earlier if min(perhaps, month) == latest}
    if len(last) > 1:
        return OVERLAP
    if key in last:
        return SAME
    if month - latest > gap:
        return GAP
    (old,) = last.values()
    return old


def _is_coarse_in(one: Held, month: int) -> bool:
    return one.start.first < one.start.last and one.start.first <= month <= one.start.last


def _end(one: Held, held: Sequence[Held]) -> tuple[int, int]:
    """Return the month until which a value surely held, and the one until which it perhaps did. Without an end time
    both are the month in which the next value begins, or a month after all others."""
    if one.end is not None:
        return one.end.first, one.end.last
    starts = (other.start.first for other in held if other.value.key != one.value.key)
    end = min((start for start in starts if start > one.start.last), default=NEVER)
    return (0 if end == NEVER else end), end
