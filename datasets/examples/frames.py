"""Frames: consecutive months joined until they hold enough examples (TiC-LM, B.2.1)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Frame:
    """The months from `first` to `last`, counted as year × 12 + month − 1, including months without an example."""

    first: int
    last: int
    whole: bool
    """Whether the frame holds as many examples as were requested and lies in the past."""

    def __contains__(self, month: int) -> bool:
        return self.first <= month <= self.last


def frames(counts: Mapping[int, int], least: int, now: int) -> Iterator[Frame]:
    """Yield the frames in order, from the first month with an example; each ends with the month in which it reaches
    `least` examples.

    No frame ends with month `now` or later, as that month may not be over. If the last months hold any examples, they
    give a last frame that is not whole. Later months may change that frame and no other.
    """
    first, total = None, 0
    months = sorted(month for month, count in counts.items() if count)
    for month in months:
        first = month if first is None else first
        total += counts[month]
        if total >= least and month < now:
            yield Frame(first, month, whole=True)
            first, total = None, 0
    if first is not None:
        yield Frame(first, months[-1], whole=False)
