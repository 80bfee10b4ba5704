"""Frames: consecutive months put together until they hold enough examples (TiC-LM, B.2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Frame:
    """The months from `first` to `last`, counted as year × 12 + month − 1; those without an example between them
    belong to it."""

    first: int
    last: int
    whole: bool
    """Whether it holds as many as were asked for, and lies in the past."""

    def __contains__(self, month: int) -> bool:
        return self.first <= month <= self.last


def frames(counts: Mapping[int, int], least: int, now: int) -> Iterator[Frame]:
    """Frames in order, from the first month that has an example: each ends with the month in which it has `least`.

    Month `now`, and what may come after it, ends none: it may go on. So what the last months hold is a frame that is
    not whole, if there is anything; later months may change that one, and no other.
    """
    first, held = None, 0
    months = sorted(month for month, count in counts.items() if count)
    for month in months:
        first = month if first is None else first
        held += counts[month]
        if held >= least and month < now:
            yield Frame(first, month, whole=True)
            first, held = None, 0
    if first is not None:
        yield Frame(first, months[-1], whole=False)
