"""What changed from one state of a wiki to the next: every article of both, compared bucket by bucket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
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
"""Dumps that are read while those before them wait to be compared: their files are all that can be read at once."""
TITLE_BUCKETS = 64
UNKNOWN_BEFORE = "text not known in the older dump"
UNKNOWN_NOW = "text not known in the newer dump"
LOST_BEFORE = "perhaps in the lost part of the older dump"
LOST_NOW = "perhaps in the lost part of the newer dump"
REPETITIVE = "too many equal lines to compare"
DELETED = "deleted"
PROSELESS = "without prose"


@dataclass(frozen=True, slots=True)
class Diff:
    """An article of the newer snapshot, in passages; `new` if there was none in the older one."""

    id: int
    title: str
    new: bool
    passages: tuple[Passage, ...]

    @property
    def state(self) -> str:
        """How it is counted: new, changed or unchanged."""
        return "new" if self.new else "changed" if any(one.changed for one in self.passages) else "unchanged"


@dataclass(frozen=True)
class Comparison:
    """Two snapshots that are staged and follow each other, to be compared a bucket at a time."""

    old: Snapshot
    new: Snapshot
    stage: WikiStage
    infos: tuple[SnapshotInfo, SnapshotInfo]
    """What the older and the newer one say of themselves."""

    @property
    def period(self) -> Period:
        return self.new.period

    @property
    def name(self) -> str:
        """For what is staged of it, bucket by bucket: with another number of buckets it is another one."""
        return f"{self.old.key}-{self.new.key}-{self.stage.count}"

    def url(self, page: int) -> str:
        """Where an article is found, whatever its title becomes; "" for a wiki that does not say where it is."""
        base = self.infos[1].base
        return f"{base.rsplit('/', 1)[0]}?curid={page}" if base else ""

    def diffs(self, number: int, left: Counter[str]) -> Iterator[Diff]:
        """Every article of a bucket that can be compared; `left` counts the others. One bucket of paragraphs is in
        memory."""
        self.stage.tidy(self.old, number, self.infos[0].hidden)
        self.stage.tidy(self.new, number, self.infos[1].hidden, self.old)
        before = {one.id: one for one in self.stage.articles(self.old, number)}
        for article in self.stage.articles(self.new, number):
            old = before.pop(article.id, None)
            why = self._incomparable(old, article)
            if not why:
                try:
                    found = _passages(old, article)
                except TooRepetitive:
                    why = REPETITIVE
                else:
                    why = "" if found else PROSELESS
            if why:
                left[why] += 1
            else:
                yield Diff(article.id, article.title, old is None, found)
        gone = sum(not one.lost for one in before.values())
        left[LOST_NOW if self.infos[1].broken else DELETED] += gone  # redirects, too, are no longer articles
        left[UNKNOWN_BEFORE] += len(before) - gone

    def _incomparable(self, old: Article | None, new: Article) -> str:
        if new.lost:
            return UNKNOWN_NOW
        if old is not None and old.lost:
            return UNKNOWN_BEFORE
        return LOST_BEFORE if old is None and self.infos[0].broken else ""

    def steps(self, found: int, left: Mapping[str, int]) -> tuple[Step, ...]:
        """What was read of both dumps, and how many pages of either could not be compared."""
        dropped = {why: count for why, count in sorted(left.items()) if count}
        return (
            self.stage.step("older dump", self.old, self.infos[0]),
            self.stage.step("newer dump", self.new, self.infos[1]),
            Step(name="pages", read=found + sum(dropped.values()), dropped=dropped),
        )


def _passages(old: Article | None, new: Article) -> tuple[Passage, ...]:
    if old is not None and old.digest == new.digest:
        return tuple(Passage(line, False) for line in new.paragraphs)
    return tuple(passages(() if old is None else old.paragraphs, new.paragraphs))


def comparisons(context: BuildContext, wiki: WikiDumps, inputs: Sequence[Input]) -> Iterator[Comparison]:
    """Each step from a snapshot to the next whose period is not in `context.built`, oldest first; `inputs` are those of
    `wiki.files()`. What is staged for a step stays until the next one is asked for; of dumps, no more than a few are
    staged at a time. InputError where there is nothing to compare."""
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
        ahead = [one for one in snapshots[number + 2 : number + 2 + AHEAD] if one.period.label not in context.built]
        unread = stage.unread([old, new, *ahead])
        for _ in context.each("dump files read", stage.read, unread):
            pass
        yield Comparison(old, new, stage, (stage.describe(old), stage.describe(new)))
        stage.let_go(old)
        stage.let_go_raw(new)


@dataclass(frozen=True)
class WikiStep:
    """From one snapshot to the next, every article of the newer one.

    `buckets.read(number, writers)` for `number` in `range(buckets.count)` yields, once for each article,
    (its title in the newer snapshot, with spaces,
     {"id": page id as text, "title": the same title, "new": whether it was not in the older snapshot,
      "text_changed": [passages], "text_unchanged": [passages]}), passages in the order of the article: sentences of
    paragraphs that changed, whole paragraphs else. `steps` say what was read and left out, `statistics` count pages and
    passages.
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
    """All diffs of each step whose period is not in `context.built`, oldest first, keyed by title; `inputs` are those of
    `wiki.files()`. What a step's buckets hold stays until the next one is asked for."""
    for comparison in comparisons(context, wiki, inputs):
        buckets = context.buckets(f"diffs-{comparison.name}", max(TITLE_BUCKETS, comparison.stage.count))
        numbers = range(comparison.stage.count)
        done = f"{comparison.period.label}: buckets compared"
        writers = sorted(context.each(done, partial(_kept, comparison, buckets), numbers))
        pages: Counter[str] = Counter()
        found: Counter[str] = Counter()
        left: Counter[str] = Counter()
        for writer in writers:
            about = buckets.about(writer)
            pages.update(about["pages"])
            found.update(about["passages"])
            left.update(about["left"])
        steps = comparison.steps(pages.total(), left)
        statistics = {"pages": {**pages, DELETED: left[DELETED]}, "passages": dict(found)}
        yield WikiStep(comparison.old, comparison.new, buckets, tuple(writers), steps, statistics)
        context.store.remove(buckets.folder)


def _kept(comparison: Comparison, buckets: Buckets, number: int) -> str:
    """Keep the diffs of a bucket by title; the name of the writer that did."""
    name = f"{number:05d}"
    if buckets.is_written(name):
        return name
    pages = Counter({"new": 0, "changed": 0, "unchanged": 0})
    found = Counter({"changed": 0, "unchanged": 0})
    left: Counter[str] = Counter()
    with buckets.writing(name) as into:
        for diff in comparison.diffs(number, left):
            texts: dict[bool, list[str]] = {True: [], False: []}
            for one in diff.passages:
                texts[one.changed].append(one.text)
            pages[diff.state] += 1
            found.update({"changed": len(texts[True]), "unchanged": len(texts[False])})
            about = {"id": str(diff.id), "title": diff.title, "new": diff.new}
            into.add(diff.title, about | {"text_changed": texts[True], "text_unchanged": texts[False]})
        into.about = {"pages": pages, "passages": found, "left": {why: n for why, n in sorted(left.items()) if n}}
    return name
