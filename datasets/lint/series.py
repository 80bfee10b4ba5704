"""Numbers that only grow, learned from a corpus: versions of a product, issues and pulls of a repository.

A number of which all others speak much later, and that lies above all that were seen until then, dates
the text that holds it. The series must be long and in order, as most pairs of a word and a number are none.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import NamedTuple

from ticlm.datasets.lint.finding import Finding, LintText
from ticlm.datasets.lint.sentences import is_planned, sentence

RULE = "series"
AHEAD = {"#": timedelta(days=120), "": timedelta(days=365)}
"""How much later the rest of the corpus must reach a number of a repository, or a version: that is spoken of some
releases before, and a corpus may name none of them for months."""
BEFORE, MEANWHILE, AFTER = 8, 6, 3
"""Least number of other sightings of the series up to then, of these after the text, and of a number as high later."""
GROWING = 0.9
"""Least share of the months in which a series goes on to grow. Of numbers without an order, half would."""
STRAY = 0.05
"""Share of the others before the text that may be as high all the same: they may be later than their dates too."""
KEPT = 3
"""Sightings of a number that are kept of each month."""
_LINK = re.compile(r"github\.com/([\w.-]+/[\w.-]+)/(?:pull|issues)/(\d{1,6})\b")
_VERSION = re.compile(r"(\d{1,3})\.(\d{1,3})(?![\d%])")
_PRODUCT = re.compile(r"([A-Za-z][\w+#]{1,30}(?: Core)?)[ -]v?$")
_UNITS = re.compile(
    r"about|above|approximately|around|at|below|between|by|chapter|equals|figure|from|is|least|most|nearly|of|only|over|"
    r"roughly|section|than|the|to|table|under|up|version|was|worth|a|an|and|for|in|on|are|or|with"
)
"""Words before a number that is no version."""


class Sighting(NamedTuple):
    """A number of a series in a text: the text's position and day, and where it stands."""

    number: tuple[int, int]
    day: date
    at: int
    matched: str
    start: int
    end: int


@dataclass
class NumberSeries:
    """The numbers that grow in the texts seen so far, by series."""

    sightings: dict[str, list[Sighting]] = field(default_factory=dict)
    _counts: dict[tuple[str, tuple[int, int], int, int], int] = field(default_factory=dict)

    def add(self, at: int, one: LintText) -> None:
        """Note the numbers of a text, the `at`-th of all."""
        seen = set[tuple[str, tuple[int, int]]]()
        for name, number, start, end in _numbers(one.text):
            if (name, number) in seen:
                continue
            seen.add((name, number))
            place = (name, number, one.day.year, one.day.month)
            self._counts[place] = count = self._counts.get(place, 0) + 1
            if count > KEPT:
                continue
            if "#" not in name and is_planned(*sentence(one.text, start, end)):
                continue  # a plan for a version is neither a sign nor evidence
            matched = one.text[start:end]
            self.sightings.setdefault(name, []).append(Sighting(number, one.day, at, matched, start, end))

    def findings(self) -> Iterator[tuple[int, Finding]]:
        """Yield the position of each text that holds a number too high for its day, and the finding."""
        for name, seen in sorted(self.sightings.items()):
            if len(seen) > BEFORE + AFTER and _grows(seen):
                yield from _too_high(name, seen)


def _too_high(name: str, seen: Sequence[Sighting]) -> Iterator[tuple[int, Finding]]:
    ahead = AHEAD["#" if name.endswith("#") else ""]
    for one in seen:
        until = one.day + ahead
        others = [other for other in seen if (other.day.year, other.day.month) != (one.day.year, one.day.month)]
        before = [other for other in others if other.day <= until]
        after = [other for other in others if other.day > until and other.number >= one.number]
        months = {(other.day.year, other.day.month) for other in before}
        meanwhile = sum(other.day > one.day for other in before)
        if len(before) < BEFORE or meanwhile < MEANWHILE or len(months) < BEFORE // 2 or len(after) < AFTER:
            continue
        high = [other.day > one.day for other in before if other.number >= one.number]
        # as high soon after the text: the number was there by then
        if not any(high) and len(high) <= STRAY * len(before):
            first = min(other.day for other in after) - ahead
            what = f"{len(before)} others of {name.rstrip('#')} until {until:%Y-%m} are lower"
            yield one.at, Finding(RULE, one.matched, first, one.start, one.end, what)


def _grows(seen: Sequence[Sighting]) -> bool:
    """Return whether the highest number of nearly every month is above the middle one of the months before."""
    highest: dict[tuple[int, int], tuple[int, int]] = {}
    for one in seen:
        month = (one.day.year, one.day.month)
        highest[month] = max(one.number, highest.get(month, one.number))
    months = [highest[month] for month in sorted(highest)]
    steps = [months[at] >= sorted(months[:at])[at // 2] for at in range(1, len(months))]
    return len(steps) >= 4 and sum(steps) >= GROWING * len(steps)


def _numbers(text: str) -> Iterator[tuple[str, tuple[int, int], int, int]]:
    for hit in _LINK.finditer(text):
        yield f"{hit.group(1).lower()}#", (int(hit.group(2)), 0), hit.start(), hit.end()
    for hit in _VERSION.finditer(text):
        product = _PRODUCT.search(text[max(0, hit.start() - 40) : hit.start()])
        if product and not _UNITS.fullmatch(product.group(1).lower()):
            start = hit.start() - len(product.group(0))
            yield product.group(1).lower(), (int(hit.group(1)), int(hit.group(2))), start, hit.end()
