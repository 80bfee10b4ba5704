"""The rows of a set of kind `wiki-revisions`: taken from the articles of a bucket, and staged with counts of others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ticlm.core.fingerprint import hash64
from ticlm.datasets.evalsets.tic_wiki import LETTERLESS
from ticlm.datasets.examples.smallest import ALL, Smallest
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.text.diffs import TooRepetitive
from ticlm.datasets.wiki.diffs import PROSELESS, REPETITIVE, Comparison
from ticlm.datasets.wiki.revised import RevisedArticle, Row, revised, unchanged_row
from ticlm.datasets.wiki.unchanged import UNCHANGED, Link, writer

PARTS: tuple[Literal["added", "revised"], ...] = ("added", "revised")
SUBSETS: tuple[str, ...] = ("changed", *PARTS)
HELD_OUT = "held-out"
APART = "article held out"
SHORT = "too little updated text"
LONG = "first paragraph too long"


@dataclass(frozen=True)
class RowRules:
    """What becomes a row: see the fields of WikiRevisions. `most` is the largest number of rows of each subset, among
    them HELD_OUT if articles are held out."""

    longer_than: int
    unchanged_chars: int
    most: Mapping[str, int]
    seed: int
    held_out: float = 0.0

    def holds_out(self, article: str) -> bool:
        """Return whether an article, given by its page id, is held out, which it is in all months or in none."""
        return hash64(f"held out\0{self.seed}\0{article}") < self.held_out * 2**64


@dataclass(frozen=True)
class RowWork:
    """What a task needs to compare the articles of a bucket and stage their rows."""

    rules: RowRules
    comparison: Comparison
    samples: Buckets | None
    """Where rows are staged; None if the period is finished."""
    link: Link | None
    """Where articles are staged that read the same in all snapshots so far; None if the first period is finished."""


def stage_rows(work: RowWork, number: int) -> str:
    """Compare the articles of a bucket and stage what the period and the first period may need; return the writer's
    name."""
    name = writer(number)
    samples = work.samples if work.samples and not work.samples.is_written(f"{name}-{SUBSETS[-1]}") else None
    link = work.link if work.link and not work.link.now.is_written(name) else None
    if samples is None and link is None:
        return name
    rows = _Rows(work, link, number)
    moved: Literal["changed", "unchanged"] = "changed" if work.comparison.moved_is_change else "unchanged"
    for old, new in work.comparison.articles(number, rows.counts["left"]):
        if not new.paragraphs:
            rows.counts["left"][PROSELESS] += 1
            continue
        try:
            rows.add(revised(old, new, work.comparison.url(new.id), moved))
        except TooRepetitive:
            rows.counts["left"][REPETITIVE] += 1
    if link is not None:
        rows.stage_same(link.now)
    if samples is not None:
        rows.stage(samples)
    return name


class _Rows:
    """The rows of a bucket so far, and the counts of what was found and left out."""

    def __init__(self, work: RowWork, link: Link | None, number: int) -> None:
        self._rules, self._comparison, self._link, self._number = work.rules, work.comparison, link, number
        most = work.rules.most
        # where articles are sampled, passages are sampled after them
        limits: dict[str, int] = {subset: most[subset] if most["changed"] == ALL else ALL for subset in PARTS}
        limits |= {subset: limit for subset, limit in most.items() if subset not in PARTS}
        self._kept = {subset: Smallest(limit) for subset, limit in limits.items()}
        self.counts = {name: Counter[str]() for name in ("pages", "left", "passages", *SUBSETS, HELD_OUT)}
        self._same: list[str] = []
        self._same_count, self._long = 0, 0
        self._before = None if link is None else link.ids_before(number)

    def add(self, found: RevisedArticle) -> None:
        """Count an article and keep its rows."""
        self.counts["pages"][found.state] += 1
        self.counts["passages"].update(found.passages())
        if found.state == UNCHANGED:
            self._add_same(found)
        elif found.state in ("new", "changed"):
            self._add_changed(found)

    def _add_changed(self, found: RevisedArticle) -> None:
        whole = found.whole()
        rows: dict[str, list[Row]] = {"changed": [whole], **{subset: list(found.rows(subset)) for subset in PARTS}}
        short = len(whole["text"]) <= self._rules.longer_than
        if short or self._rules.holds_out(whole["id"]):
            for subset, several in rows.items():
                self.counts[subset][SHORT if short else APART] += len(several)
            rows = {} if short else {HELD_OUT: [whole]}
        for subset, several in rows.items():
            for row in several:
                if any(map(str.isalpha, row["text"])):
                    self.counts[subset]["found"] += 1
                    self._kept[subset].add(self._hash(subset, row["id"]), row)
                else:
                    self.counts[subset][LETTERLESS] += 1

    def _add_same(self, found: RevisedArticle) -> None:
        id = str(found.article.id)
        if self._link is None or (self._before is not None and id not in self._before):
            return
        self._same_count += 1
        if not self._link.is_last:
            self._same.append(id)
        elif row := unchanged_row(found.article, found.url, self._rules.unchanged_chars):
            self._kept[UNCHANGED].add(self._hash(UNCHANGED, id), row)
        else:
            self._long += 1

    def _hash(self, subset: str, id: str) -> int:
        label = "" if subset == UNCHANGED else self._comparison.period.label
        return hash64(f"{self._rules.seed}\0{label}\0{subset}\0{id}")

    def stage_same(self, into: Buckets) -> None:
        """Stage the articles that read the same so far: ids, or texts at the last comparison."""
        first = self._before is None
        articles = self._comparison.stage.articles(self._comparison.old, self._number) if first else ()
        known = sum(bool(article.paragraphs) for article in articles)
        known = known if first else len(self._before or ())
        about = {"counts": {"known": known, "same": self._same_count, LONG: self._long}}
        if self._link is not None and self._link.is_last:
            self._kept[UNCHANGED].stage(into, writer(self._number), about)
            return
        with into.writing(writer(self._number)) as rows:
            for id in self._same:
                rows.add(id, {})
            rows.about = about

    def stage(self, into: Buckets) -> None:
        """Stage the rows of the period. The subset that is written last has the counts."""
        changed = None if self._rules.most["changed"] == ALL else self._kept["changed"].in_order()
        articles = None if changed is None else frozenset(row["id"] for _, row in changed)
        if HELD_OUT in self._kept:
            self._kept[HELD_OUT].stage(into, f"{writer(self._number)}-{HELD_OUT}", {})
        for subset in SUBSETS:
            self._kept[subset].stage(into, f"{writer(self._number)}-{subset}", {"counts": self.counts}, articles)
