"""Copies of later texts, learned from a corpus: an earlier text that shares most of its long lines with a later one.

A copy alone is no alarm. Pages are crawled again, posts are posted again years later, and texts are written from
older ones: of 3,628 real posts nine pairs are this alike and two months apart, all announcements of recurring
meetings, and in none is the earlier text the odd one. So it must say itself that it is: it states a date after its
own that is near the later text's. Such a date counts here whatever the sentence says about it, as an announcement
would be copied before the event and not after it. Names that no other text has for a year (`RareNames.hints`) count
as well: the copy itself is one of the later ones.

Lines are compared instead of shingles of words: a line that was edited is lost, but a copy keeps most of its lines, and
one hash a line costs a twentieth of one a word. Of each text the least 16 hashes are kept (bottom-k MinHash).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from heapq import nsmallest
from typing import NamedTuple

from ticlm.core.fingerprint import hash64
from ticlm.datasets.lint.dates import stated_dates
from ticlm.datasets.lint.finding import Finding, LintText

RULE = "copy"
LINE = 60
"""Characters of the shortest line that is compared: shorter ones are headings and items that many texts share."""
KEPT = 16
"""Hashes that are kept of a text."""
LEAST = 3
"""Lines of the shortest text that is compared."""
ALIKE = 0.5
"""Least share of the kept hashes of both texts together that they have in common."""
LATER = timedelta(days=60)
"""How much later the other text is."""
HINTED = timedelta(days=300)
"""The same if a name tells, and no date."""
NEAR = timedelta(days=45)
"""How near to the later text's day the date lies that the earlier one states."""
_COMMON = 8
"""Texts that may share a line before it counts as part of a template."""


class CopySketch(NamedTuple):
    """What is kept of a text to find its copies: its day, id, least hashes, and the later dates that it states."""

    day: date
    id: str
    hashes: tuple[int, ...]
    ahead: tuple[tuple[date, int, int], ...]


@dataclass
class LineCopies:
    """The sketches of the texts seen so far."""

    _sketches: dict[int, CopySketch] = field(default_factory=dict)

    def add(self, at: int, one: LintText) -> None:
        """Note the lines of a text, the `at`-th of all."""
        lines = {" ".join(line.split()) for line in one.text.splitlines() if len(line) >= LINE}
        if len(lines) >= LEAST:
            hashes = tuple(nsmallest(KEPT, map(hash64, lines)))
            ahead = tuple(
                (stated.first, stated.start, stated.end)
                for stated in stated_dates(one.text, one.day)
                if stated.first > one.day + LATER - NEAR
            )
            self._sketches[at] = CopySketch(one.day, one.id, hashes, ahead)

    def findings(self, hints: Mapping[int, str]) -> Iterator[tuple[int, Finding]]:
        """Yield the position of each text that is a copy of a later one and says so, and the finding. `hints` are names
        that texts hold too early."""
        holders: dict[int, list[int]] = {}
        for at, sketch in self._sketches.items():
            for value in sketch.hashes:
                holders.setdefault(value, []).append(at)
        for at, sketch in self._sketches.items():
            if not sketch.ahead and at not in hints:
                continue
            others = {other for value in sketch.hashes if len(holders[value]) <= _COMMON for other in holders[value]}
            for other in sorted(others):
                if found := _copied(sketch, self._sketches[other], hints.get(at, "")):
                    yield at, found
                    break


def _copied(one: CopySketch, other: CopySketch, hint: str) -> Finding | None:
    if other.day < one.day + LATER or (one.id and one.id == other.id):
        return None
    together = nsmallest(KEPT, set(one.hashes) | set(other.hashes))
    if len(set(together) & set(one.hashes) & set(other.hashes)) < ALIKE * len(together):
        return None
    what = f"a copy of a text of {other.day} {other.id}".rstrip()
    for first, start, end in one.ahead:
        if abs(first - other.day) <= NEAR:
            return Finding(RULE, "", first, start, end, what)
    if hint and other.day > one.day + HINTED:
        return Finding(RULE, hint, other.day - NEAR, 0, 0, what)
    return None
