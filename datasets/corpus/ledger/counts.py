"""What a scan counts, and what it must know of earlier builds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from types import MappingProxyType
from typing import NamedTuple

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.settings import Settings
from ticlm.datasets.io.documents import Bad


class DocumentCounts(Settings):
    """Counts of the documents of one period, or of those in none: read, and left out by reason and by step."""

    read: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)
    steps: tuple[Step, ...] = ()
    newest: dict[str, datetime] = Field(default_factory=dict)
    """Source -> the time of its newest document that was not left out, in UTC; empty in scans of older releases."""

    @staticmethod
    def of(read: int, steps: Sequence[Step], newest: Mapping[str, datetime] = MappingProxyType({})) -> DocumentCounts:
        dropped: Counter[str] = Counter()
        for step in steps:
            dropped.update(step.dropped)
        left_out = dict(sorted(dropped.items()))
        return DocumentCounts(read=read, dropped=left_out, steps=tuple(steps), newest=dict(sorted(newest.items())))

    @staticmethod
    def sum(tallies: Sequence[DocumentCounts]) -> DocumentCounts:
        newest: dict[str, datetime] = {}
        for source, when in (pair for one in tallies for pair in one.newest.items()):
            newest[source] = max(when, newest.get(source, when))
        return DocumentCounts.of(sum(t.read for t in tallies), Step.sum([t.steps for t in tallies]), newest)


class Damage(Settings):
    """Breaks of an input: places where bytes were passed over. `lost` counts these bytes, as far as they are known."""

    places: int
    lost: int
    unknown: bool
    """Whether there is a place where it is not known how much is lost, such as a file that is cut off."""
    first: str

    @staticmethod
    def of(bad: Bad) -> Damage:
        return Damage(places=1, lost=bad.lost, unknown=not bad.lost, first=f"{bad.where}: {bad.reason}")

    @staticmethod
    def sum(several: Iterable[Damage | None]) -> Damage | None:
        found = [one for one in several if one is not None]
        if not found:
            return None
        places, lost = sum(one.places for one in found), sum(one.lost for one in found)
        return Damage(places=places, lost=lost, unknown=any(one.unknown for one in found), first=found[0].first)

    def beyond(self, share: float, size: int) -> bool:
        """Return whether more than this share of an input of `size` bytes may be lost."""
        return self.unknown or not size or self.lost > share * size

    def __str__(self) -> str:
        lost = f"{self.lost:,} bytes are lost" + (", and more" if self.unknown else "")
        lost = "how much is lost is not known" if self.unknown and not self.lost else lost
        return f"{self.first}; {lost}" + (f" in {self.places:,} places" if self.places > 1 else "")


class Known(NamedTuple):
    """What a scan must know of earlier builds.

    `counts`: of changed inputs, what they held of each finished period. `ends`: when the calendar ended as a period was
    built half; documents after it stay out if the period is built again. `only`: of periods that are built again, the
    inputs that they were made of.
    """

    counts: Mapping[str, Mapping[str, tuple[int, int]]] = {}
    ends: Mapping[str, date] = {}
    only: Mapping[str, frozenset[str]] = {}


NOTHING_KNOWN = Known()
