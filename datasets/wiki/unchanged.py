"""Articles that read the same in all snapshots of a wiki, followed from one comparison to the next in buckets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from ticlm.core.accounting import Step
from ticlm.core.examples import Example, Examples, PeriodExamples
from ticlm.core.fingerprint import hash64
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.wiki.diffs import Comparison, named
from ticlm.datasets.wiki.dumps import Snapshot, WikiDumps
from ticlm.datasets.wiki.staging import WikiStage

UNCHANGED = "unchanged"
NO_LONGER = "no-longer-unchanged"
"""Subset of a month that was appended to a finished first one: the unchanged articles that are not the same in it."""
ARTICLES = "articles of the first month"
IN_ALL = "the same in all months"
"""What records of before there was NO_LONGER call the articles that were the same in the snapshots of then."""
COMPARED = "compared"
FOLLOWED = "unchanged articles until then"
STANDING = "standing"


@dataclass(frozen=True)
class Link:
    """One comparison's part of the chain: which articles were the same before it, and where to stage those that still
    are. `before` is None at the first comparison; the last one stages texts, and not ids alone."""

    before: Buckets | None
    now: Buckets
    is_last: bool
    before_writer: str | None = None
    """The writer of all buckets of `before`; None if each bucket has one of its own."""

    def ids_before(self, number: int) -> set[str] | None:
        """Return the page ids of a bucket that were the same before; None at the first comparison."""
        if self.before is None:
            return None
        return {key for key, _ in self.before.read(number, [self.before_writer or writer(number)])}


@dataclass(frozen=True)
class UnchangedChain:
    """The staged articles that read the same from the first snapshot to each later one.

    Staged files stay until the build is done, so that a killed build goes on from them. The files of a snapshot are
    named after all snapshots up to it.
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


@dataclass(frozen=True)
class AppendedMonth:
    """A month that is appended to a finished first period: which of its unchanged articles are not the same in it.

    The first period stays as it is. Articles that left in an earlier appended month do not come back.
    """

    built: Examples
    first: str
    """Label of the first period."""
    label: str

    @staticmethod
    def of(built: Examples, snapshots: Sequence[Snapshot], label: str) -> AppendedMonth | None:
        """Return the month; None if the first period was compared with it when it was built."""
        appended = _appended(built, snapshots)
        return AppendedMonth(built, snapshots[0].period.label, label) if label in appended else None

    def link(self, context: BuildContext, comparison: Comparison) -> Link:
        """Stage the ids of the articles that are the same until this month, and return the comparison's part."""
        standing = self._standing()
        name = f"{comparison.name}-{hash64(' '.join(sorted(standing))):016x}"
        before = context.buckets(f"until-{name}", comparison.stage.count)
        if not before.is_written(STANDING):
            with before.writing(STANDING) as ids:
                for id in sorted(standing):
                    ids.add(id, {})
        return Link(before, context.buckets(f"still-{name}", comparison.stage.count), False, STANDING)

    def left(self, link: Link) -> RemovedArticles:
        """Return the articles that are not the same any more, once all buckets are compared."""
        same = {key for number in range(link.now.count) for key, _ in link.now.read(number, [writer(number)])}
        standing = self._standing()
        return RemovedArticles(self, frozenset(standing - same), len(standing))

    def _standing(self) -> set[str]:
        """Return the ids of the articles of the first period that are the same in all months before this one."""
        ids = {row.id for row in self.built.read(self.first, UNCHANGED)}
        for label, manifest in self.built.periods.items():
            if label < self.label and NO_LONGER in manifest.subsets:
                ids -= {row.id for row in self.built.read(label, NO_LONGER)}
        return ids


@dataclass(frozen=True)
class RemovedArticles:
    """The articles of the subset NO_LONGER, as the first period has them. They are read anew each time."""

    month: AppendedMonth
    ids: frozenset[str]
    standing: int
    """Number of the articles that were the same until then."""

    def __iter__(self) -> Iterator[Example]:
        return (row for row in self.month.built.read(self.month.first, UNCHANGED) if row.id in self.ids)

    def step(self) -> Step:
        """Return how many articles stay unchanged, and how many left."""
        gone = {f"not the same in {self.month.label}": len(self.ids)} if self.ids else {}
        return Step(name=FOLLOWED, read=self.standing, dropped=gone)

    def __str__(self) -> str:
        """Return a line that says so."""
        several = "are" if len(self.ids) > 1 else "is"
        return (
            f"{self.month.label}: {len(self.ids):,} of {self.standing:,} unchanged articles of {self.month.first} "
            f"{several} not the same any more and {several} left out from then on; "
            "a recipe of another version would choose them anew"
        )


def unfollowed(built: Examples, snapshots: Sequence[Snapshot]) -> Iterator[str]:
    """Yield a line for each month that was appended before there was NO_LONGER."""
    first = snapshots[0].period.label
    for label in _appended(built, snapshots):
        if label in built.periods and all(step.name != FOLLOWED for step in built.periods[label].steps):
            yield (
                f"{label}: which unchanged articles of {first} are not the same in it was not counted when it was "
                "built; a recipe of another version would choose them anew"
            )


def _appended(built: Examples, snapshots: Sequence[Snapshot]) -> list[str]:
    """Return the labels that a finished first period was not compared with when it was built."""
    labels = [snapshot.period.label for snapshot in snapshots]
    return labels[built.periods[labels[0]].statistics.get("snapshots", {}).get(COMPARED, len(labels)) :]


def same_until(label: str) -> str:
    """Return what the articles are called that are the same in all snapshots up to a month."""
    return f"the same until {label}"


def statistics_now(periods: Mapping[str, PeriodExamples], label: str) -> dict[str, dict[str, int]]:
    """Return the statistics of a period of a set, with IN_ALL by its true name where months were appended later."""
    found = periods[label].statistics
    compared = found.get("snapshots", {}).get(COMPARED, 0)
    if not 0 < compared < len(periods) or IN_ALL not in found.get(ARTICLES, {}):
        return found
    name = same_until(list(periods)[compared - 1])
    return found | {ARTICLES: {name if key == IN_ALL else key: count for key, count in found[ARTICLES].items()}}


def writer(number: int) -> str:
    """Return the name of the writer of a bucket."""
    return f"{number:05d}"
