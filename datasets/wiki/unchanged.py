"""Articles that read the same in all snapshots of a wiki, followed from one comparison to the next in buckets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.wiki.diffs import Comparison, named
from ticlm.datasets.wiki.dumps import Snapshot, WikiDumps
from ticlm.datasets.wiki.staging import WikiStage
from ticlm.platform.core.fingerprint import hash64


@dataclass(frozen=True)
class Link:
    """One comparison's part of the chain: which articles were the same before it, and where to stage those that still
    are. `before` is None at the first comparison; the last one stages texts, and not ids alone."""

    before: Buckets | None
    now: Buckets
    is_last: bool


@dataclass(frozen=True)
class UnchangedChain:
    """The staged articles that read the same from the first snapshot to each later one.

    What is staged stays until the build is done, so that a build which was killed goes on from there. It is named after
    all snapshots up to it.
    """

    context: BuildContext
    labels: tuple[str, ...]
    """Periods of all snapshots."""
    names: tuple[str, ...]
    """Names of the comparisons."""
    same: tuple[Buckets, ...]
    """One for each comparison."""
    writers: tuple[str, ...]
    """The name of the writer of each bucket."""

    @staticmethod
    def of(context: BuildContext, wiki: WikiDumps, snapshots: Sequence[Snapshot]) -> UnchangedChain:
        """Return the chain of these snapshots, whatever of it is staged."""
        stage = WikiStage.of(context.store, context.folder, wiki, snapshots)
        names = [named(old, new, stage) for old, new in pairwise(snapshots)]
        same = []
        for end in range(1, len(names) + 1):
            is_last = end == len(names)
            name = f"unchanged-{hash64(' '.join(names[:end])):016x}{'-texts' if is_last else ''}"
            same.append(context.buckets(name, 1 if is_last else stage.count))
        labels = tuple(snapshot.period.label for snapshot in snapshots)
        return UnchangedChain(context, labels, tuple(names), tuple(same), tuple(map(writer, range(stage.count))))

    @property
    def first_is_built(self) -> bool:
        """Whether the first period is finished, so that nothing has to be followed."""
        return bool(self.labels) and self.labels[0] in self.context.built

    def settled(self) -> frozenset[str]:
        """Return the periods that need no comparison: they are finished, and what the first one needs of them is
        staged."""
        if self.first_is_built:
            return self.context.built
        followed = {
            label
            for label, same in zip(self.labels[1:], self.same)
            if all(same.is_written(writer) for writer in self.writers)
        }
        return self.context.built & followed

    def link(self, comparison: Comparison) -> Link | None:
        """Return the part of a comparison; None if the first period is finished."""
        if self.first_is_built:
            return None
        at = self.names.index(comparison.name)
        return Link(self.same[at - 1] if at else None, self.same[at], at == len(self.names) - 1)


def writer(number: int) -> str:
    """Return the name of the writer of a bucket."""
    return f"{number:05d}"
