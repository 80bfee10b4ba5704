"""The two corpora that probes are made from: reading and staging their documents."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint, hash64
from ticlm.core.periods import Calendar
from ticlm.core.settings import Settings
from ticlm.datasets.corpus.recipe import AnyDocuments, WorldReader
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.io.documents import Bad, Documents, Input, Skipped
from ticlm.datasets.probes import old_corpus
from ticlm.datasets.probes.candidates import DatedArticle
from ticlm.datasets.probes.old_corpus import OldPassage
from ticlm.datasets.synthetic.world import SyntheticWorld

OUTSIDE, STANDS = "outside the periods", "in a period that stands"
LATE, EARLY = "after known_until", "not after known_until"
BUCKETS = 64
INDEX_FORMAT = 2
"""Part of an index's name. Raise it when the same documents give another index."""


class DatedCorpus(Settings):
    """Documents with their dates: any source that a corpus can be built from."""

    documents: AnyDocuments
    """The source of dated documents, as in the recipe of a corpus."""
    periods: Calendar = Calendar()
    """How the documents' dates become periods."""

    @property
    def reader(self) -> Documents:
        """Return what reads the documents."""
        if isinstance(self.documents, SyntheticWorld):
            return WorldReader(world=self.documents, calendar=self.periods)
        return self.documents

    @property
    def identity(self) -> tuple[Settings, Calendar]:
        """Return what decides the documents of a period: no paths, and not the last period."""
        periods = self.periods
        if periods.last is not None:
            periods = Calendar(initial=periods.initial, step=periods.step)
        return self.reader.identity, periods


@dataclass(frozen=True)
class OldReader:
    """Stages the passages of an input of the old corpus, without documents from `end` on."""

    buckets: Buckets
    corpus: DatedCorpus
    end: date

    def __call__(self, entry: Input) -> str:
        name = writer(entry)
        if self.buckets.is_written(name):
            return name
        read, dropped = 0, Counter[str]()
        reader = self.corpus.reader
        with self.buckets.writing(name) as into:
            for outcome in (outcome for piece in reader.pieces(entry) for outcome in reader.read(piece)):
                if isinstance(outcome, Skipped | Step):
                    continue
                read += 1
                if isinstance(outcome, Bad):
                    dropped[outcome.reason] += 1
                elif outcome.timestamp.date() >= self.end:
                    dropped[LATE] += 1
                elif self.corpus.periods.place(outcome.timestamp) is None:
                    dropped[OUTSIDE] += 1
                else:
                    day = outcome.timestamp.date().isoformat()
                    for passage in old_corpus.passages_of(outcome.text, outcome.id, day):
                        into.add("", {"text": passage.text, "document": passage.document, "day": passage.day})
            into.about = {"read": read, "dropped": dict(sorted(dropped.items()))}
        return name


@dataclass(frozen=True)
class NewReader:
    """Stages of each period the `most` articles of an input that come first by a hash; None stages all."""

    buckets: Buckets
    corpus: DatedCorpus
    end: date
    seed: int
    most: int | None
    built: frozenset[str]

    def __call__(self, entry: Input) -> str:
        name = writer(entry)
        if self.buckets.is_written(name):
            return name
        read, dropped, periods = 0, Counter[str](), Counter[str]()
        held: dict[str, list[tuple[int, int, DatedArticle]]] = {}  # heaps, the last by the hash on top
        reader = self.corpus.reader
        for outcome in (outcome for piece in reader.pieces(entry) for outcome in reader.read(piece)):
            if isinstance(outcome, Skipped | Step):
                continue
            read += 1
            if isinstance(outcome, Bad):
                dropped[outcome.reason] += 1
                continue
            period = self.corpus.periods.place(outcome.timestamp)
            if period is None or period.start < self.end or period.label in self.built:
                dropped[OUTSIDE if period is None else EARLY if period.start < self.end else STANDS] += 1
                continue
            periods[period.label] += 1
            article = DatedArticle(outcome.id, outcome.text, outcome.timestamp.date().isoformat())
            heap = held.setdefault(period.label, [])
            heapq.heappush(heap, (-place(self.seed, article), -read, article))
            if self.most is not None and len(heap) > self.most:
                heapq.heappop(heap)
        with self.buckets.writing(name) as into:
            for label, heap in sorted(held.items()):
                for _, _, article in sorted(heap, key=lambda entry: entry[:2], reverse=True):
                    into.add(label, {"id": article.id, "text": article.text, "day": article.day})
            into.about = {"read": read, "dropped": dict(sorted(dropped.items())), "periods": dict(periods)}
        return name


def place(seed: int, article: DatedArticle) -> int:
    """Return the place of an article in the order in which articles are taken."""
    return hash64(f"{seed}\0{article.id}\0{article.text}")


def writer(entry: Input) -> str:
    """Return the name under which an input is staged."""
    return f"{hash64(entry.model_dump_json()):016x}"


def index_of(context: BuildContext, corpus: DatedCorpus, inputs: Sequence[Input], end: date) -> str:
    """Make the index of the old corpus, unless it exists; return its folder.

    It stays beside the set, for later builds. Raises InputError if the old corpus has no document before `end`.
    """
    key = fingerprint(("old", INDEX_FORMAT, *corpus.identity, end, tuple(inputs)))[:16]
    folder = f"index/{key}"
    store = context.store
    if not store.exists(f"{folder}/account.json"):
        buckets = context.buckets(f"old-{key}", 1)
        size = sum(entry.size for entry in inputs)
        names = {*context.each("old documents", OldReader(buckets, corpus, end), inputs, size)}
        names_in_order = [writer(entry) for entry in inputs]
        assert names == {*names_in_order}
        passages = (OldPassage(**value) for _, value in buckets.read(0, names_in_order))
        count = old_corpus.build(store, folder, passages)
        step = Step.sum([(_step("old documents", buckets.about(name)),) for name in names_in_order])[0]
        if not count:
            raise InputError(f"examples.old has no document before {end}, of {step.read:,} read; see known_until")
        store.write(f"{folder}/account.json", step.model_dump_json().encode())
        for other in store.folders("index"):
            if other != key:
                store.remove(f"index/{other}")
    context.steps.append(Step.model_validate(store.read_json(f"{folder}/account.json")))
    return folder


@dataclass(frozen=True)
class NewArticles:
    """The staged articles of the new corpus, and the number of all by period."""

    buckets: Buckets
    writers: tuple[str, ...]
    counts: Counter[str]
    most: int | None
    seed: int

    def of(self, label: str) -> tuple[list[DatedArticle], Step]:
        """Return the articles of a period, in the order of their hashes, and the account of those beyond `most`."""
        staged = self.buckets.read(self.buckets.of(label), self.writers)
        articles = [DatedArticle(**value) for key, value in staged if key == label]
        articles.sort(key=lambda article: (place(self.seed, article), article.day))
        taken = articles[: self.most]
        beyond = self.counts[label] - len(taken)
        dropped = {f"beyond the first {self.most:,} articles": beyond} if beyond and self.most is not None else {}
        return taken, Step(name="articles", read=self.counts[label], dropped=dropped)


def new_articles(
    context: BuildContext, corpus: DatedCorpus, inputs: Sequence[Input], end: date, most: int | None
) -> NewArticles:
    """Stage the articles of all periods that are not built."""
    key = fingerprint(tuple(sorted(context.built)))[:8]  # a longer list of finished periods leaves more out
    buckets = context.buckets(f"new-{key}", BUCKETS)
    read = NewReader(buckets, corpus, end, context.seed, most, context.built)
    for _ in context.each("new documents", read, inputs, sum(entry.size for entry in inputs)):
        pass
    notes = [(name, buckets.about(name)) for name in map(writer, inputs)]
    context.steps += Step.sum([(_step("new documents", note),) for _, note in notes])
    counts = Counter[str]()
    for _, note in notes:
        counts.update(note["periods"])
    return NewArticles(buckets, tuple(name for name, _ in notes), counts, most, context.seed)


def _step(name: str, note: dict[str, object]) -> Step:
    return Step.model_validate({"name": name, "read": note["read"], "dropped": note["dropped"]})
