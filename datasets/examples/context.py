"""How a set of examples is built: the context that a builder works in, and the draft of a period that it returns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from ticlm.core.accounting import Step
from ticlm.core.examples import Example
from ticlm.core.mixture import Subset
from ticlm.core.periods import Period
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.executor import Executor, reported
from ticlm.datasets.io.in_process import ProcessExecutor

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class PeriodDraft:
    """The examples of a period before they are written, by subset: lists, or what reads them anew each time.

    `steps` and `statistics` are those of PeriodExamples; `inputs` are the paths of the files that contributed.
    """

    period: Period
    subsets: Mapping[Subset, Iterable[Example]]
    steps: tuple[Step, ...] = ()
    statistics: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    inputs: tuple[str, ...] = ()


@dataclass
class BuildContext:
    """What an ExampleSetBuilder is given: where to stage data, the inputs to read, and a way to run tasks.

    Files that the builder writes below `folder` stay until the build is done, so a build that was killed can continue
    from them. They were made with the same settings, but perhaps from fewer inputs.
    """

    store: Store
    folder: str
    seed: int
    inputs: tuple[Input, ...]
    built: frozenset[str]
    """Labels of the periods that are finished and need no draft."""
    progress: Callable[[str], None]
    steps: list[Step] = field(default_factory=list)
    """What the whole build read, and what it left out of every period. The builder appends to it."""
    executor: Executor = field(default_factory=ProcessExecutor)

    def buckets(self, name: str, count: int) -> Buckets:
        """Return `count` buckets in the folder `name` of the staging folder."""
        return Buckets(self.store, f"{self.folder}/{name}", count)

    def each(
        self, done: str, function: Callable[[T], R], items: Sequence[T], size: int = 0, at_once: int | None = None
    ) -> Iterator[R]:
        """Yield the results of `Executor.each`, and report progress every few seconds as "<done> 12 of 40"."""
        return reported(
            self.executor.each(function, items, size, at_once), f"{len(items):,}", self.progress, done, len(items)
        )


class ExampleSetBuilder(Protocol):
    """Makes examples from raw data, such as dumps of a wiki or of a StackExchange site, or releases of a project."""

    @property
    def identity(self) -> Settings:
        """The settings that determine the examples. The paths of the files are not among them."""

    def inputs(self) -> list[Input]:
        """Return every file there is to read. Raises InputError if a named file does not exist."""

    def drafts(self, context: BuildContext) -> Iterator[PeriodDraft]:
        """Yield a draft of each period that the inputs give and that is not built yet, oldest first.

        The examples depend on the settings, the seed and the inputs alone, not on the number of workers, the order of
        their work or interruptions.
        """
