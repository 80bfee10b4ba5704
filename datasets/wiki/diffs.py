"""Differences between two snapshots of a wiki: all articles, compared bucket by bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Input
from ticlm.datasets.text.diffs import Passage, TooRepetitive, passages
from ticlm.datasets.wiki.dumps import Snapshot, WikiDumps
from ticlm.datasets.wiki.staging import Article, SnapshotInfo, WikiStage
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.periods import Period

AHEAD = 3
"""Number of later dumps that are read together with the two to compare, because only files can be read in parallel."""
TITLE_BUCKETS = 64
"""Least number of buckets for the diffs of a step, which are keyed by title."""
UNKNOWN_BEFORE = "text not known in the older dump"
UNKNOWN_NOW = "text not known in the newer dump"
LOST_BEFORE = "perhaps in the lost part of the older dump"
LOST_NOW = "perhaps in the lost part of the newer dump"
REPETITIVE = "too many equal lines to compare"
DELETED = "deleted"
PROSELESS = "without prose"
MOVES = "passages that are new or moved"
MOVED, NEW = "moved within the article", "new in the article"


@dataclass(frozen=True, slots=True)
class Diff:
    """An article of the newer snapshot, in passages; `new` means that the older snapshot did not have it."""

    id: int
    title: str
    new: bool
    passages: tuple[Passage, ...]

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
        for old, article in self.articles(number, left):
            try:
                compared = _passages(old, article, self.moved_is_change)
            except TooRepetitive:
                left[REPETITIVE] += 1
            else:
                if compared:
                    yield Diff(article.id, article.title, old is None, compared)
                else:
                    left[PROSELESS] += 1

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
        """Return what was read of both dumps, and how many pages were compared and left out by reason."""
        dropped = {reason: count for reason, count in sorted(left.items()) if count}
        return (
            self.stage.step("older dump", self.old, self.infos[0]),
            self.stage.step("newer dump", self.new, self.infos[1]),
            Step(name="pages", read=compared + sum(dropped.values()), dropped=dropped),
        )


def named(old: Snapshot, new: Snapshot, stage: WikiStage) -> str:
    """Return the name of the comparison of two snapshots."""
    return f"{old.key}-{new.key}-{stage.count}"


def _passages(old: Article | None, new: Article, moved_is_change: bool) -> tuple[Passage, ...]:
    if old is not None and old.digest == new.digest:
        return tuple(Passage(line, False) for line in new.paragraphs)
    found = passages(() if old is None else old.paragraphs, new.paragraphs)
    if moved_is_change:
        return tuple(found)
    return tuple(replace(passage, changed=False) if passage.moved else passage for passage in found)


def moves(passages: Iterable[Passage]) -> Counter[str]:
    """Count the passages with a letter that moved within their article, and those that are new in it."""
    found = Counter({MOVED: 0, NEW: 0})
    for passage in passages:
        if (passage.moved or passage.changed) and any(map(str.isalpha, passage.text)):
            found[MOVED if passage.moved else NEW] += 1
    return found


def comparisons(context: BuildContext, wiki: WikiDumps, inputs: Sequence[Input]) -> Iterator[Comparison]:
    """Yield a comparison of each two consecutive snapshots whose period is not in `context.built`, oldest first.

    `inputs` are those of `wiki.files()`. The staged data of a comparison is removed when the next one is requested;
    only a few dumps are staged at a time. Raises InputError if there is nothing to compare.
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
        yield Comparison(old, new, stage, infos, wiki.moved == "changed")
        stage.remove(old)
        stage.remove_raw(new)


@dataclass(frozen=True)
class WikiStep:
    """The diffs of all articles of one snapshot against the snapshot before.

    `buckets.read(number, writers)` for `number` in `range(buckets.count)` yields once for each article
    (its title in the newer snapshot, with spaces,
     {"id": page id as text, "title": the same title, "new": whether the older snapshot did not have it,
      "text_changed": [passages], "text_unchanged": [passages]}). Passages are in the order of the article: sentences of
    paragraphs that changed, and whole paragraphs that did not. `steps` say what was read and left out; `statistics`
    count pages and passages.
    """

    old: Snapshot
    new: Snapshot
    buckets: Buckets
    writers: tuple[str, ...]
    steps: tuple[Step, ...]
    statistics: dict[str, dict[str, int]]

    @property
    def period(self) -> Period:
        """The month of the newer snapshot."""
        return self.new.period


def diffed(context: BuildContext, wiki: WikiDumps, inputs: Sequence[Input]) -> Iterator[WikiStep]:
    """Yield the diffs of each step whose period is not in `context.built`, oldest first, keyed by title.

    `inputs` are those of `wiki.files()`. The buckets of a step are removed when the next step is requested.
    """
    for comparison in comparisons(context, wiki, inputs):
        buckets = context.buckets(f"diffs-{comparison.name}", max(TITLE_BUCKETS, comparison.stage.count))
        numbers = range(comparison.stage.count)
        done = f"{comparison.period.label}: buckets compared"
        writers = sorted(context.each(done, partial(_stage_diffs, comparison, buckets), numbers))
        pages: Counter[str] = Counter()
        counts: Counter[str] = Counter()
        moved: Counter[str] = Counter()
        left: Counter[str] = Counter()
        for writer in writers:
            about = buckets.about(writer)
            pages.update(about["pages"])
            counts.update(about["passages"])
            moved.update(about.get(MOVES, {}))  # a build that an older program began has none
            left.update(about["left"])
        steps = comparison.steps(pages.total(), left)
        statistics = {"pages": {**pages, DELETED: left[DELETED]}, "passages": dict(counts), MOVES: dict(moved)}
        yield WikiStep(comparison.old, comparison.new, buckets, tuple(writers), steps, statistics)
        context.store.remove(buckets.folder)


def _stage_diffs(comparison: Comparison, buckets: Buckets, number: int) -> str:
    """Stage the diffs of a bucket, keyed by title; return the writer's name."""
    name = f"{number:05d}"
    if buckets.is_written(name):
        return name
    pages = Counter({"new": 0, "changed": 0, "unchanged": 0})
    counts = Counter({"changed": 0, "unchanged": 0})
    moved: Counter[str] = Counter()
    left: Counter[str] = Counter()
    with buckets.writing(name) as into:
        for diff in comparison.diffs(number, left):
            texts: dict[bool, list[str]] = {True: [], False: []}
            for passage in diff.passages:
                texts[passage.changed].append(passage.text)
            pages[diff.state] += 1
            moved.update(moves(diff.passages))
            counts.update({"changed": len(texts[True]), "unchanged": len(texts[False])})
            about = {"id": str(diff.id), "title": diff.title, "new": diff.new}
            into.add(diff.title, about | {"text_changed": texts[True], "text_unchanged": texts[False]})
        into.about = {
            "pages": pages,
            "passages": counts,
            MOVES: moved,
            "left": {why: n for why, n in sorted(left.items()) if n},
        }
    return name
