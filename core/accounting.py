"""Accounting of a period's text: what every build step left out, where the text is from, and what it was made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from ticlm.core.mixture import Split
from ticlm.core.settings import Settings


class Step(Settings):
    """Counts of one build step: documents read, documents dropped by reason, documents edited and passed on, and parts
    of texts that it masked by kind."""

    name: str
    read: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)
    edited: int = 0
    masked: dict[str, int] = Field(default_factory=dict)

    @property
    def kept(self) -> int:
        return self.read - sum(self.dropped.values())

    @staticmethod
    def sum(several: Sequence[Sequence[Step]]) -> tuple[Step, ...]:
        """Add up several lists of counts of the same steps, step by step, in the order of the longest list."""
        names = dict.fromkeys(step.name for steps in sorted(several, key=len, reverse=True) for step in steps)
        found: dict[str, list[Step]] = {name: [] for name in names}
        for steps in several:
            for step in steps:
                found[step.name].append(step)
        return tuple(Step._of(name, same) for name, same in found.items())

    @staticmethod
    def _of(name: str, same: Sequence[Step]) -> Step:
        dropped, masked = Counter[str](), Counter[str]()
        for step in same:
            dropped.update(step.dropped)
            masked.update(step.masked)
        read, edited = sum(step.read for step in same), sum(step.edited for step in same)
        counts = {"dropped": dict(sorted(dropped.items())), "masked": dict(sorted(masked.items()))}
        return Step(name=name, read=read, edited=edited, **counts)


class Host(Settings):
    """Documents and tokens of one host in the train split."""

    name: str
    documents: int
    tokens: int


class Deduplication(Settings):
    """What deduplication removed from one split, and how full its Bloom filter was at the end.

    The filter held `contained` of the split's `ngrams`. `expected_rate` is the rate of false positives that follows
    from the bits that are set; `measured_rate` is the share of random n-grams, never inserted, that the filter claimed
    to hold.
    """

    split: Split
    documents: int
    documents_dropped: int
    documents_edited: int
    paragraphs: int
    paragraphs_dropped: int
    """Paragraphs dropped from documents that were kept."""
    ngrams: int
    contained: int
    inserted: int
    filter_bytes: int
    expected_rate: float
    measured_rate: float


class Overlap(Settings):
    """How much of a held-out set also stands in the train split of the same period, by n-grams."""

    split: Split
    documents: int
    documents_dropped: int
    paragraphs: int
    paragraphs_dropped: int
    ngrams: int
    contained: int


class Accounting(Settings):
    """All counts of a period. `steps` stand in the order in which they were taken; `subsets` are train tokens by source
    of text; `hosts` are those of the train split, most tokens first (a host with less than one document in a thousand
    may be undercounted); `largest` are the tokens of the three longest documents of all splits, and empty in corpora of
    older releases."""

    steps: tuple[Step, ...] = ()
    tokens: int = 0
    subsets: dict[str, int] = Field(default_factory=dict)
    hosts: tuple[Host, ...] = ()
    deduplication: tuple[Deduplication, ...] = ()
    overlap: tuple[Overlap, ...] = ()
    largest: tuple[int, ...] = ()


class Lineage(Settings):
    """The origin of a period: the inputs that gave it documents, the recipe (JSON), versions of the code, and the rule
    by which documents were dated (empty in what older releases built)."""

    inputs: tuple[str, ...] = ()
    recipe: str = ""
    code: dict[str, str] = Field(default_factory=dict)
    dating: str = ""
