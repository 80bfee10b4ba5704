"""Texts of articles that changed between two snapshots of a wiki, and texts that did not, staged by title."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from ticlm.core.accounting import Step
from ticlm.core.periods import Period
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Input
from ticlm.datasets.wiki.diffs import DELETED, MOVES, Comparison, comparisons, moves
from ticlm.datasets.wiki.dumps import Snapshot, WikiDumps
from ticlm.datasets.wiki.staging import Article

TITLE_BUCKETS = 64
"""Least number of buckets for the diffs of a step, which are keyed by title."""


@dataclass(frozen=True)
class WikiStep:
    """The diffs of all articles of one snapshot against the snapshot before.

    `buckets.read(number, writers)` for `number` in `range(buckets.count)` yields once for each article
    (its title in the newer snapshot, with spaces,
     {"id": page id as text, "title": the same title, "new": whether the older snapshot did not have it,
      "text_changed": [passages], "text_unchanged": [passages]}). Passages are in the order of the article: by default
    sentences of paragraphs that changed, and whole paragraphs that did not. `steps` say what was read and left out;
    `statistics` count pages and passages.
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


@dataclass(frozen=True, slots=True)
class ArticleTexts:
    """The changed and the unchanged texts of an article of the newer snapshot.

    `state` is the class in which the article is counted, and `counts` counts its passages.
    """

    article: Article
    new: bool
    state: str
    changed: list[str]
    unchanged: list[str]
    counts: Mapping[str, int]
    moves: Mapping[str, int] = field(default_factory=dict)


Split = Callable[[Comparison, Article | None, Article], ArticleTexts | None]
"""Splits the text of an article that is given as it was and as it is; None if it has none."""


def by_passages(comparison: Comparison, old: Article | None, article: Article) -> ArticleTexts | None:
    """Split an article into its changed and unchanged passages (TiC-LM)."""
    diff = comparison.diff(old, article)
    if diff is None:
        return None
    texts: dict[bool, list[str]] = {True: [], False: []}
    for passage in diff.passages:
        texts[passage.changed].append(passage.text)
    counts = {"changed": len(texts[True]), "unchanged": len(texts[False])}
    return ArticleTexts(article, diff.new, diff.state, texts[True], texts[False], counts, moves(diff.passages))


def diffed(
    context: BuildContext, wiki: WikiDumps, inputs: Sequence[Input], split: Split = by_passages, site: str = ""
) -> Iterator[WikiStep]:
    """Yield the diffs of each step whose period is not in `context.built`, oldest first, keyed by title.

    `inputs` are those of `wiki.files()`; `split` decides which texts of an article count as changed. The buckets of a
    step are removed when the next step is requested.
    """
    for comparison in comparisons(context, wiki, inputs, site):
        buckets = context.buckets(f"diffs-{comparison.name}", max(TITLE_BUCKETS, comparison.stage.count))
        numbers = range(comparison.stage.count)
        done = f"{comparison.period.label}: buckets compared"
        writers = sorted(context.each(done, partial(_stage_diffs, comparison, buckets, split), numbers))
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


def _stage_diffs(comparison: Comparison, buckets: Buckets, split: Split, number: int) -> str:
    """Stage the texts of the articles of a bucket, keyed by title; return the writer's name."""
    name = f"{number:05d}"
    if buckets.is_written(name):
        return name
    pages = Counter({"new": 0, "changed": 0, "unchanged": 0})
    counts: Counter[str] = Counter()
    moved: Counter[str] = Counter()
    left: Counter[str] = Counter()
    with buckets.writing(name) as into:
        for one in comparison.each(number, left, partial(split, comparison)):
            pages[one.state] += 1
            moved.update(one.moves)
            counts.update(one.counts)
            about = {"id": str(one.article.id), "title": one.article.title, "new": one.new}
            into.add(one.article.title, about | {"text_changed": one.changed, "text_unchanged": one.unchanged})
        into.about = {
            "pages": pages,
            "passages": counts,
            MOVES: moved,
            "left": {why: n for why, n in sorted(left.items()) if n},
        }
    return name
