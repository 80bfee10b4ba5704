"""Counts of sets of examples by class and period, in an order and number that fits a chart (TiC-LM, Figures 9 and 11 to
14, Table 4)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from ticlm.core.examples import Examples

STACKED = 8
"""The largest number of classes that one stacked bar shows."""
LISTED = 20
"""The largest number of unordered classes, such as sites, that a chart lists (Figure 11 shows 20)."""
OTHER = "all others"


@dataclass(frozen=True)
class CountedExamples:
    """The sizes of a set of examples, and what was counted while it was built."""

    id: str
    """`name@version`"""
    periods: tuple[str, ...]
    rows: Mapping[str, Mapping[str, int]]
    """Period -> subset -> examples."""
    statistics: Mapping[str, Mapping[str, Mapping[str, int]]]
    """Period -> name of the count -> class -> count."""


@dataclass(frozen=True)
class CountTable:
    """One count: `classes` × `periods`."""

    name: str
    classes: tuple[str, ...]
    """In ascending order if they begin with numbers, else the most frequent first."""
    is_ordered: bool
    """Whether the classes begin with numbers."""
    periods: tuple[str, ...]
    counts: NDArray[np.int64]
    """[class, period]"""

    @property
    def total(self) -> NDArray[np.int64]:
        """Counts over all periods, int64[class]."""
        return np.asarray(self.counts.sum(axis=1), np.int64)

    @property
    def over_time(self) -> bool:
        """Whether to compare periods: there are several, they share classes, and the classes fit a bar. Ordered classes
        must fit as they are, because the sum of the rest would not be a class in that order."""
        shared = bool(((self.counts > 0).sum(axis=1) > 1).any())
        return len(self.periods) > 1 and shared and not (self.is_ordered and len(self.classes) > STACKED)

    @property
    def is_distribution(self) -> bool:
        """Whether to draw a chart of the classes, in addition to their parts of a bar."""
        return not self.over_time or self.is_ordered or len(self.classes) > 3

    @property
    def is_log(self) -> bool:
        """Whether only a logarithmic scale shows the smaller classes, as with sites (Figure 11)."""
        known = self.total[self.total > 0]
        return not self.is_ordered and len(known) > 0 and bool(known.max() > 100 * known.min())

    def at_most(self, most: int) -> CountTable:
        """Return the table with at most `most` classes: the rarest ones are summed into one, the others keep their
        order."""
        if len(self.classes) <= most:
            return self
        kept = np.sort(np.argsort(-self.total, kind="stable")[: most - 1])
        rest = np.setdiff1d(np.arange(len(self.classes)), kept)
        counts = np.vstack([self.counts[kept], self.counts[rest].sum(axis=0)])
        classes = (*(self.classes[i] for i in kept), f"{OTHER} ({len(rest)})")
        return CountTable(self.name, classes, self.is_ordered, self.periods, counts)


def counted(examples: Examples) -> CountedExamples:
    """Return the sizes and counts that a set of examples keeps in its records."""
    periods = examples.periods
    return CountedExamples(
        examples.info.id,
        tuple(periods),
        {label: {name: one.rows for name, one in held.subsets.items()} for label, held in periods.items()},
        {label: held.statistics for label, held in periods.items()},
    )


def tallies(found: CountedExamples) -> list[CountTable]:
    """Return a table of the examples by subset, then one for each count."""
    names = dict.fromkeys(name for counts in found.statistics.values() for name in counts)
    by_name = {name: {label: one[name] for label, one in found.statistics.items() if name in one} for name in names}
    every = [_tally("examples", found.periods, found.rows)]
    return every + [_tally(name, found.periods, counts) for name, counts in by_name.items()]


def _tally(name: str, periods: Sequence[str], counts: Mapping[str, Mapping[str, int]]) -> CountTable:
    total: Counter[str] = Counter()
    for by_class in counts.values():
        total.update(by_class)
    is_ordered = len(total) > 1 and all(_number(kind) is not None for kind in total)
    key = (lambda kind: (_number(kind), kind)) if is_ordered else (lambda kind: (-total[kind], kind))
    classes = tuple(sorted(total, key=key))
    table = [[counts.get(period, {}).get(kind, 0) for period in periods] for kind in classes]
    return CountTable(name, classes, is_ordered, tuple(periods), np.array(table, np.int64).reshape(-1, len(periods)))


def _number(kind: str) -> tuple[int, ...] | None:
    """Return a sort key for the number that a class begins with, such as 100 of `100-199`, `>= 100` and `100+`; None if
    it begins with none. `< 100` comes before 100. Numbers with dots are versions: 1.8 comes before 1.10."""
    match = re.match(r"\s*(<|≤|<=|up to )?\s*(?:>|≥|>=|over )?=?\s*(\d[\d,_]*(?:\.\d+)*)", kind)
    if match is None:
        return None
    return *(int(part) for part in re.sub("[,_]", "", match[2]).split(".")), -1 if match[1] else 0
