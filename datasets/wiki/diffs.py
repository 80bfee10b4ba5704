"""Differences between two snapshots of a wiki: all articles, compared bucket by bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.periods import Period
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.documents import Input
from ticlm.datasets.text.diffs import DiffPassage, TooRepetitive, passages
from ticlm.datasets.wiki.dumps import Snapshot, WikiDumps
from ticlm.datasets.wiki.staging import Article, SnapshotInfo, WikiStage

AHEAD = 3
"""Number of later dumps that are read together with the two to compare, because only files can be read in parallel."""
UNKNOWN_BEFORE = "text not known in the older dump"
UNKNOWN_NOW = "text not known in the newer dump"
LOST_BEFORE = "perhaps in the lost part of the older dump"
LOST_NOW = "perhaps in the lost part of the newer dump"
REPETITIVE = "too many equal lines to compare"
DELETED = "deleted"
PROSELESS = "without prose"
MOVES = "passages that are new or moved"
MOVED, NEW = "moved within the article", "new in the article"
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Diff:
    """An article of the newer snapshot, in passages; `new` means that the older snapshot did not have it."""

    id: int
    title: str
    new: bool
    passages: tuple[DiffPassage, ...]

    @property
    def state(self) -> str:
        """The class in which the article is counted: new, changed or unchanged."""
        return "new" if self.new else "changed" if any(p.changed for p in self.passages) else "unchanged"


@dataclass(frozen=True)
class Comparison:
    """Two consecutive staged snapshots, which are compared one bucket at a time."""

    old: Snapshot
    new: Snapshot
    stage: WikiStage
    infos: tuple[SnapshotInfo, SnapshotInfo]
    """Facts about the older and the newer snapshot."""
    moved_is_change: bool = True
    """Whether passages that only moved within their article are changed."""

    @property
    def period(self) -> Period:
        """The month of the newer snapshot."""
        return self.new.period

    @property
    def name(self) -> str:
        """A name for staged data of this comparison; it contains the number of buckets, on which the data depends."""
        return named(self.old, self.new, self.stage)

    def url(self, page: int) -> str:
        """Return the address of an article by its page id, which outlives its title; "" if the dump gives no
        address."""
        base = self.infos[1].base
        return f"{base.rsplit('/', 1)[0]}?curid={page}" if base else ""

    def diffs(self, number: int, left: Counter[str]) -> Iterator[Diff]:
        """Yield the diff of every article of a bucket that can be compared; `left` counts the others by reason."""
        return self.each(number, left, self.diff)

    def each(
        self, number: int, left: Counter[str], compare: Callable[[Article | None, Article], T | None]
    ) -> Iterator[T]:
        """Yield what `compare` returns for every article of a bucket, as it was and as it is; `left` counts those that
        cannot be compared by reason, and those for which it returns None as without prose."""
        for old, article in self.articles(number, left):
            try:
                found = compare(old, article)
            except TooRepetitive:
                left[REPETITIVE] += 1
            else:
                if found is not None:
                    yield found
                else:
                    left[PROSELESS] += 1

    def diff(self, old: Article | None, article: Article) -> Diff | None:
        """Return the diff of an article; None if it has no passage. Raises TooRepetitive."""
        compared = _passages(old, article, self.moved_is_change)
        return Diff(article.id, article.title, old is None, compared) if compared else None

    def articles(self, number: int, left: Counter[str]) -> Iterator[tuple[Article | None, Article]]:
        """Yield every article of a bucket as it was, None if it is new, and as it is. `left` counts those that cannot
        be compared by reason.

        The paragraphs of one bucket are held in memory.
        """
        self.stage.tidy(self.old, number, self.infos[0].hidden)
        self.stage.tidy(self.new, number, self.infos[1].hidden, self.old)
        before = {article.id: article for article in self.stage.articles(self.old, number)}
        for article in self.stage.articles(self.new, number):
            old = before.pop(article.id, None)
            if reason := self._incomparable(old, article):
                left[reason] += 1
            else:
                yield old, article
        gone = sum(not article.lost for article in before.values())
        left[LOST_NOW if self.infos[1].broken else DELETED] += gone  # articles that became redirects are deleted too
        left[UNKNOWN_BEFORE] += len(before) - gone

    def _incomparable(self, old: Article | None, new: Article) -> str:
        """Return the reason why an article cannot be compared, or ""."""
        if new.lost:
            return UNKNOWN_NOW
        if old is not None and old.lost:
            return UNKNOWN_BEFORE
        return LOST_BEFORE if old is None and self.infos[0].broken else ""

    def steps(self, compared: int, left: Mapping[str, int]) -> tuple[Step, ...]:
        """Return what was read of both dumps, what became of their templates, and how many pages were compared and left
        out by reason."""
        dropped = {reason: count for reason, count in sorted(left.items()) if count}
        templates = self.stage.templates(self.old, self.new)
        return (
            self.stage.step("older dump", self.old, self.infos[0]),
            self.stage.step("newer dump", self.new, self.infos[1]),
            *([templates] if templates.read else []),
            Step(name="pages", read=compared + sum(dropped.values()), dropped=dropped),
        )


def named(old: Snapshot, new: Snapshot, stage: WikiStage) -> str:
    """Return the name of the comparison of two snapshots."""
    return f"{old.key}-{new.key}-{stage.count}"


def _passages(old: Article | None, new: Article, moved_is_change: bool) -> tuple[DiffPassage, ...]:
    if old is not None and old.digest == new.digest:
        return tuple(DiffPassage(line, False) for line in new.paragraphs)
    found = passages(() if old is None else old.paragraphs, new.paragraphs)
    if moved_is_change:
        return tuple(found)
    return tuple(replace(passage, changed=False) if passage.moved else passage for passage in found)


def moves(passages: Iterable[DiffPassage]) -> Counter[str]:
    """Count the passages with a letter that moved within their article, and the passages that are new in it."""
    found = Counter({MOVED: 0, NEW: 0})
    for passage in passages:
        if (passage.moved or passage.changed) and any(map(str.isalpha, passage.text)):
            found[MOVED if passage.moved else NEW] += 1
    return found


def comparisons(
    context: BuildContext, wiki: WikiDumps, inputs: Sequence[Input], site: str = ""
) -> Iterator[Comparison]:
    """Yield a comparison of each two consecutive snapshots whose period is not in `context.built`, oldest first.

    `inputs` are those of `wiki.files()`. The staged data of a comparison is removed when the next one is requested;
    only a few dumps are staged at a time. Raises InputError if there is nothing to compare, and if the snapshots are
    of another wiki than the `site`, where that is given.
    """
    snapshots, spare = wiki.series(inputs)
    context.steps.append(
        Step(name="dumps", read=len(snapshots) + spare, dropped={"another of its month": spare} if spare else {})
    )
    if len(snapshots) < 2:
        raise InputError(f"examples: dumps of {len(snapshots)} months leave nothing to compare; give two or more")
    stage = WikiStage.of(context.store, context.folder, wiki, snapshots)
    for number, (old, new) in enumerate(pairwise(snapshots)):
        if new.period.label in context.built:
            continue
        ahead = [later for later in snapshots[number + 2 :][:AHEAD] if later.period.label not in context.built]
        unread = stage.unread([old, new, *ahead])
        for _ in context.each("dump files read", stage.read, unread):
            pass
        infos = (stage.describe(old), stage.describe(new))
        if infos[0].is_of_another_wiki(infos[1]):
            wikis = f"{old.stamp} is of {infos[0].wiki}, {new.stamp} of {infos[1].wiki}"
            raise InputError(f"examples: the snapshots are of two wikis: {wikis}; give those of one wiki")
        if site and infos[1].name and infos[1].name != site:
            raise InputError(f"examples.wikidata.site: {site} is not the wiki of the snapshots; give {infos[1].name}")
        yield Comparison(old, new, stage, infos, wiki.moved == "changed")
        stage.remove(old)
        stage.remove_raw(new)
