"""A wiki's pages where they are staged: as they stand in the dumps, then in clean paragraphs, in buckets by id."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ticlm.datasets.io.buckets import Buckets, BucketWriter
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.unpack import Damaged, unpacked
from ticlm.datasets.wiki.dumps import Snapshot, WikiDumps, xml_bytes
from ticlm.datasets.wiki.mediawiki import BROKEN, DELETED, EMPTY, Revision, Wiki, end_of, revisions
from ticlm.datasets.wiki.wikitext import Unparsable, paragraphs
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.hashing import hash64
from ticlm.platform.core.periods import span
from ticlm.platform.core.store import Store

BUCKET_BYTES = 64 << 20
MOST_BUCKETS = 256  # whose files a writer holds open at once
TWICE = "page twice in a dump"
UNPARSED = "wikitext that its parser does not get through"


@dataclass(frozen=True, slots=True)
class Article:
    """A page at a snapshot, in paragraphs; `lost` says why its text is not known. Articles with one `digest` were
    cleaned from the same wikitext in the same way."""

    id: int
    title: str
    digest: int
    paragraphs: tuple[str, ...] = ()
    lost: str = ""


@dataclass(frozen=True)
class SnapshotInfo:
    """What the files of a snapshot say of themselves, and what was read of them for it. In `broken` ones, pages that
    are not found may have been there."""

    read: int
    dropped: dict[str, int]
    hidden: tuple[str, ...]
    base: str
    broken: bool


@dataclass(frozen=True)
class WikiStage:
    """Below `folder` of a store, where the settings are the same. What is staged of a file is named after it, so that
    it is found again; what is no longer needed of a snapshot can be let go."""

    store: Store
    folder: str
    wiki: WikiDumps
    count: int

    @staticmethod
    def of(store: Store, folder: str, wiki: WikiDumps, snapshots: Sequence[Snapshot]) -> WikiStage:
        """With buckets for the largest of these snapshots; another number of them has a folder of its own."""
        largest = max((xml_bytes(snapshot.inputs) for snapshot in snapshots), default=0)
        count = max(1, min(MOST_BUCKETS, -(-largest // BUCKET_BYTES)))
        return WikiStage(store, f"{folder}/wiki-{count}", wiki, count)

    @property
    def raw(self) -> Buckets:
        return Buckets(self.store, f"{self.folder}/raw", self.count)

    def clean(self, snapshot: Snapshot) -> Buckets:
        return Buckets(self.store, f"{self.folder}/clean-{snapshot.key}", self.count)

    def unread(self, snapshots: Sequence[Snapshot]) -> list[DumpFile]:
        """What is still to be read for these, a file each."""
        found: dict[str, DumpFile] = {}
        for snapshot in snapshots:
            if not self._is_clean(snapshot):
                found |= {one.writer: one for one in self.readings(snapshot) if not self.raw.is_written(one.writer)}
        return list(found.values())

    def readings(self, snapshot: Snapshot) -> list[DumpFile]:
        days = self.wiki.days() if snapshot.of_history else (snapshot.day,)
        return [
            DumpFile(entry, tuple(f"{day:%Y%m%d}" for day in days), snapshot.of_history) for entry in snapshot.inputs
        ]

    def read(self, reading: DumpFile) -> None:
        """Stage the pages of one file; of those without an article, count why."""
        about, counts = Wiki(), {stamp: Counter[str]() for stamp in reading.stamps}
        with self.raw.writing(reading.writer) as into:
            for page in _pages(reading, self.wiki.namespaces, about):
                stamps = [reading.stamps[number] for number in page.moments]
                for stamp in stamps:
                    counts[stamp][page.why] += 1
                if not page.why or page.why in (DELETED, EMPTY):  # of these there was an article, though not its text
                    value = {"title": page.title, "text": page.text, "lost": page.why}
                    into.add(str(page.page), {"stamps": stamps, **value})
            if about.broken:
                for stamp in reading.stamps:
                    counts[stamp][BROKEN] += 1
            told = {"hidden": about.hidden, "base": about.base, "counts": counts}
            self.store.write(self._told(reading.writer), json.dumps(told).encode())

    def describe(self, snapshot: Snapshot) -> SnapshotInfo:
        """Of all files of a snapshot that was read."""
        every = [self.store.read_json(self._told(reading.writer)) for reading in self.readings(snapshot)]
        counts: Counter[str] = Counter()
        for one in every:
            counts.update(one["counts"][snapshot.stamp])
        dropped = {why: count for why, count in sorted(counts.items()) if why}
        hidden = tuple(sorted({name for one in every for name in one["hidden"]}))
        return SnapshotInfo(counts.total(), dropped, hidden, every[0]["base"], BROKEN in dropped)

    def tidy(self, snapshot: Snapshot, number: int, hidden: Sequence[str], earlier: Snapshot | None = None) -> None:
        """Clean the pages of a bucket, where that is not done; texts that stood in an `earlier` snapshot are taken from
        there. What falls away is counted beside them."""
        buckets = self.clean(snapshot)
        if buckets.is_written(_name(number)):
            return
        known = {} if earlier is None else {one.id: one for one in self.articles(earlier, number)}
        seen: set[str] = set()
        dropped: Counter[str] = Counter()
        with buckets.writing(_name(number)) as into:
            for key, value in self.raw.read(number, [one.writer for one in self.readings(snapshot)]):
                if snapshot.stamp not in value["stamps"]:
                    continue
                if key in seen:
                    dropped[TWICE] += 1
                    continue
                seen.add(key)
                article = self._cleaned(int(key), value, known.get(int(key)), hidden)
                dropped[UNPARSED] += article.lost == UNPARSED
                _add(into, article)
            into.about = {"dropped": {why: count for why, count in sorted(dropped.items()) if count}}

    def _cleaned(self, page: int, value: dict[str, Any], known: Article | None, hidden: Sequence[str]) -> Article:
        title, lost = value["title"], value["lost"]
        digest = hash64("\0".join((*hidden, value["text"])))
        if known is not None and known.digest == digest and not known.lost and not lost:
            return Article(page, title, digest, known.paragraphs)
        try:
            lines = () if lost else tuple(paragraphs(value["text"], hidden, self.wiki.lists))
        except Unparsable:
            lines, lost = (), UNPARSED
        return Article(page, title, digest, lines, lost)

    def articles(self, snapshot: Snapshot, number: int) -> Iterator[Article]:
        """The clean pages of a bucket."""
        for key, value in self.clean(snapshot).read(number, [_name(number)]):
            yield Article(int(key), value["title"], value["digest"], tuple(value["paragraphs"]), value.get("lost", ""))

    def step(self, name: str, snapshot: Snapshot, told: SnapshotInfo) -> Step:
        """What was read of a snapshot and what fell away, once all its buckets are clean."""
        dropped = Counter(told.dropped)
        for number in range(self.count):
            dropped.update(self.clean(snapshot).about(_name(number))["dropped"])
        return Step(name=name, read=told.read, dropped=dict(sorted(dropped.items())))

    def let_go(self, snapshot: Snapshot) -> None:
        """Remove what is staged of a snapshot. Markers go first, so that half of it is never taken for all."""
        self.let_go_raw(snapshot)
        for number in range(self.count):
            self.store.remove(f"{self.clean(snapshot).folder}/{_name(number)}.json")
        self.store.remove(self.clean(snapshot).folder)

    def let_go_raw(self, snapshot: Snapshot) -> None:
        """Remove its pages as they stand in its dump; those of a history serve all snapshots."""
        if not snapshot.of_history:
            for reading in self.readings(snapshot):
                self.store.remove(f"{self.raw.folder}/{reading.writer}.json")
                self.store.remove(f"{self.raw.folder}/{reading.writer}")

    def _is_clean(self, snapshot: Snapshot) -> bool:
        buckets = self.clean(snapshot)
        return all(buckets.is_written(_name(number)) for number in range(self.count))

    def _told(self, writer: str) -> str:
        return f"{self.folder}/told/{writer}.json"


@dataclass(frozen=True)
class DumpFile:
    """A file that is read for the days with these stamps."""

    input: Input
    stamps: tuple[str, ...]
    of_history: bool

    @property
    def writer(self) -> str:
        return f"{hash64('|'.join((self.input.model_dump_json(), *self.stamps))):016x}"


def _name(number: int) -> str:
    return f"{number:05d}"


def _pages(reading: DumpFile, namespaces: Sequence[int], about: Wiki) -> Iterator[Revision]:
    """The pages of all members of a file; InputError where it is none of a MediaWiki."""
    path = reading.input.path
    moments = [end_of(span(stamp)[0]) for stamp in reading.stamps] if reading.of_history else None
    try:
        for _, stream in unpacked(path):
            yield from revisions(stream, path, namespaces, moments, about)
    except Damaged as error:
        raise InputError(str(error)) from None


def _add(into: BucketWriter, article: Article) -> None:
    value = {"title": article.title, "digest": article.digest, "paragraphs": article.paragraphs}
    into.add(str(article.id), value | ({"lost": article.lost} if article.lost else {}))
