"""Where examples are made: a folder for what is staged, work that fans out, and what came of a period."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.ray_map import each
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.examples import Example
from ticlm.platform.core.mixture import Subset
from ticlm.platform.core.periods import Period
from ticlm.platform.core.settings import Settings
from ticlm.platform.core.store import Store

TELL_S = 10.0
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class PeriodDraft:
    """A period's examples before they are kept: `steps` and `statistics` as in PeriodExamples, and the `inputs` that
    gave something to it."""

    period: Period
    subsets: Mapping[Subset, Sequence[Example]]
    steps: tuple[Step, ...] = ()
    statistics: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()


@dataclass
class BuildContext:
    """Handed to a ExampleSetBuilder. What it puts below `folder` stays until the build is done, so that one that
    was killed can go
    on with it; what is in there was made with the same settings, though perhaps of fewer inputs."""

    store: Store
    folder: str
    seed: int
    inputs: tuple[Input, ...]
    built: frozenset[str]
    """Periods that stand already, and need no draft."""
    progress: Callable[[str], None]
    steps: list[Step] = field(default_factory=list)
    """What the whole build read, and what of it came into no period: for the ExampleSetBuilder to fill."""

    def buckets(self, name: str, count: int) -> Buckets:
        return Buckets(self.store, f"{self.folder}/{name}", count)

    def each(
        self, done: str, function: Callable[[T], R], items: Sequence[T], size: int = 0, at_once: int | None = None
    ) -> Iterator[R]:
        """As `fanout.each`, with a word on how far it is now and then: `done` 12 of 40."""
        told = time.monotonic()
        for number, outcome in enumerate(each(function, items, size, at_once), 1):
            if time.monotonic() - told > TELL_S:
                told = time.monotonic()
                self.progress(f"{done} {number:,} of {len(items):,}")
            yield outcome


class ExampleSetBuilder(Protocol):
    """Makes examples of raw data: dumps of a wiki, of a site of questions, releases of documentation."""

    @property
    def identity(self) -> Settings:
        """What of these settings reaches the examples: where files lie does not."""

    def inputs(self) -> list[Input]:
        """Every file there is to read; InputError where one that was named is not there."""

    def drafts(self, site: BuildContext) -> Iterator[PeriodDraft]:
        """Each period that the inputs give and that is not built yet, oldest first.

        The examples follow from settings, seed and inputs alone: not from the number of workers, the order of their
        work, or interruptions.
        """
