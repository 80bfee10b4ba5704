"""What is known of a period's text beside its rows: what every step left out, whose text it is, what made it."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from ticlm.platform.core.mixture import Split
from ticlm.platform.core.settings import Settings


class Step(Settings):
    """Documents that came into one step of a build, those it left out by reason, and those it rewrote and passed on."""

    name: str
    read: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)
    edited: int = 0

    @property
    def kept(self) -> int:
        return self.read - sum(self.dropped.values())

    @staticmethod
    def sum(several: Sequence[Sequence[Step]]) -> tuple[Step, ...]:
        """Step by step over several counts of the same steps, in the order of the longest."""
        names = dict.fromkeys(step.name for steps in sorted(several, key=len, reverse=True) for step in steps)
        found: dict[str, list[Step]] = {name: [] for name in names}
        for steps in several:
            for step in steps:
                found[step.name].append(step)
        return tuple(Step._of(name, same) for name, same in found.items())

    @staticmethod
    def _of(name: str, same: Sequence[Step]) -> Step:
        dropped: dict[str, int] = {}
        for step in same:
            for reason, count in step.dropped.items():
                dropped[reason] = dropped.get(reason, 0) + count
        read, edited = sum(step.read for step in same), sum(step.edited for step in same)
        return Step(name=name, read=read, dropped=dict(sorted(dropped.items())), edited=edited)


class Host(Settings):
    """A host of the train split, with its documents and tokens."""

    name: str
    documents: int
    tokens: int


class Deduplication(Settings):
    """What one split lost to repetition within its scope, and how full its Bloom filter was at the end.

    `contained` of `ngrams` were found in the filter. `expected_rate` of false positives follows from the bits that are
    set; `measured_rate` is the share of random n-grams, never inserted, that the filter claimed to hold.
    """

    split: Split
    documents: int
    documents_dropped: int
    documents_edited: int
    paragraphs: int
    paragraphs_dropped: int
    """Those of documents that were kept."""
    ngrams: int
    contained: int
    inserted: int
    filter_bytes: int
    expected_rate: float
    measured_rate: float


class Overlap(Settings):
    """How much of a held-out set stands in the train split of the same period, by n-grams."""

    split: Split
    documents: int
    documents_dropped: int
    paragraphs: int
    paragraphs_dropped: int
    ngrams: int
    contained: int


class Accounting(Settings):
    """`steps` in the order they were taken; `subsets` are train tokens by source of text; `hosts` of the train split,
    most tokens first (a host below one document in a thousand may be undercounted)."""

    steps: tuple[Step, ...] = ()
    tokens: int = 0
    subsets: dict[str, int] = Field(default_factory=dict)
    hosts: tuple[Host, ...] = ()
    deduplication: tuple[Deduplication, ...] = ()
    overlap: tuple[Overlap, ...] = ()


class Lineage(Settings):
    """What a period was made of: the inputs that gave documents to it, the recipe (JSON), and versions of the code."""

    inputs: tuple[str, ...] = ()
    recipe: str = ""
    code: dict[str, str] = Field(default_factory=dict)
