"""The staged pages of a wiki, in buckets by page id: first as they stand in the dumps, then as clean paragraphs."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import hash64
from ticlm.core.periods import span
from ticlm.core.store import Store
from ticlm.datasets.io.buckets import Buckets, BucketWriter
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.unpack import Damaged, unpacked
from ticlm.datasets.wiki.dumps import Snapshot, WikiDumps, xml_bytes
from ticlm.datasets.wiki.mediawiki import BROKEN, DELETED, EMPTY, Revision, Wiki, end_of, revisions
from ticlm.datasets.wiki.plain import extracted, of_world
from ticlm.datasets.wiki.templates import TemplateCounts
from ticlm.datasets.wiki.wikitext import COSTLY, FAILED, Unparsable, paragraphs

BUCKET_BYTES = 64 << 20
"""Approximate bytes of XML per bucket."""
MOST_BUCKETS = 256  # a writer keeps the files of all buckets open
TWICE = "page twice in a dump"
TEMPLATES = "templates"


@dataclass(frozen=True, slots=True)
class Article:
    """A page at a snapshot, in paragraphs.

    Articles with the same `digest` were cleaned from the same wikitext in the same way. `lost` is the reason if the
    text is not known, else "".
    """

    id: int
    title: str
    digest: int
    paragraphs: tuple[str, ...] = ()
    lost: str = ""


@dataclass(frozen=True)
class SnapshotInfo:
    """Facts about a snapshot that its files give, and counts of the pages read and dropped.

    If `broken`, the rest of a file is lost, so a page that is missing may have existed.
    """

    read: int
    dropped: dict[str, int]
    hidden: tuple[str, ...]
    base: str
    broken: bool
    name: str = ""
    """The name of the wiki's database, "" if the files do not give it."""

    @property
    def wiki(self) -> str:
        """What the wiki is called: the name of its database, else its host, else ""."""
        return self.name or urlsplit(self.base).hostname or ""

    def is_of_another_wiki(self, other: SnapshotInfo) -> bool:
        """Return whether what the two snapshots give shows that they are of two wikis."""
        if self.name and other.name:
            return self.name != other.name
        hosts = {urlsplit(info.base).hostname for info in (self, other) if info.base}
        return len(hosts) > 1


@dataclass(frozen=True)
class WikiStage:
    """The staged pages below a folder of a store, all made with the same settings.

    Staged data is named after its file, so it is found again after an interruption. Data of a snapshot that is no
    longer needed can be removed.
    """

    store: Store
    folder: str
    wiki: WikiDumps
    count: int

    @staticmethod
    def of(store: Store, folder: str, wiki: WikiDumps, snapshots: Sequence[Snapshot]) -> WikiStage:
        """Return a stage with as many buckets as the largest of these snapshots needs. The number of buckets is part of
        the folder's name."""
        largest = max((xml_bytes(snapshot.inputs) for snapshot in snapshots), default=0)
        count = max(1, min(MOST_BUCKETS, -(-largest // BUCKET_BYTES)))
        return WikiStage(store, f"{folder}/wiki-{count}", wiki, count)

    @property
    def raw(self) -> Buckets:
        """The pages as they stand in the dumps."""
        return Buckets(self.store, f"{self.folder}/raw", self.count)

    def clean(self, snapshot: Snapshot) -> Buckets:
        """Return the buckets for the clean pages of a snapshot."""
        return Buckets(self.store, f"{self.folder}/clean-{snapshot.key}", self.count)

    def unread(self, snapshots: Sequence[Snapshot]) -> list[DumpFile]:
        """Return the files that still have to be read for these snapshots."""
        unread: dict[str, DumpFile] = {}
        for snapshot in snapshots:
            if not self._is_clean(snapshot):
                unread |= {file.writer: file for file in self.files(snapshot) if not self.raw.is_written(file.writer)}
        return list(unread.values())

    def files(self, snapshot: Snapshot) -> list[DumpFile]:
        """Return the files of a snapshot, each with the days for which it is read."""
        days = self.wiki.days() if snapshot.of_history else (snapshot.day,)
        return [
            DumpFile(entry, tuple(f"{day:%Y%m%d}" for day in days), snapshot.of_history) for entry in snapshot.inputs
        ]

    def read(self, file: DumpFile) -> None:
        """Stage the pages of one file, and count those that are no articles by reason."""
        about, counts = Wiki(), {stamp: Counter[str]() for stamp in file.stamps}
        with self.raw.writing(file.writer) as into:
            for page in pages(file, self.wiki, about):
                stamps = [file.stamps[number] for number in page.moments]
                for stamp in stamps:
                    counts[stamp][page.why] += 1
                if not page.why or page.why in (DELETED, EMPTY):  # articles whose text is not known
                    value = {"title": page.title, "text": page.text, "lost": page.why}
                    into.add(str(page.page), {"stamps": stamps, **value})
            if about.broken:
                for stamp in file.stamps:
                    counts[stamp][BROKEN] += 1
            info = {"hidden": about.hidden, "base": about.base, "name": about.name, "counts": counts}
            self.store.write(self._info_path(file.writer), json.dumps(info).encode())

    def describe(self, snapshot: Snapshot) -> SnapshotInfo:
        """Return the facts and counts from all files of a snapshot, which must have been read.

        Raises InputError if the files are of two wikis.
        """
        infos = [self.store.read_json(self._info_path(file.writer)) for file in self.files(snapshot)]
        counts: Counter[str] = Counter()
        for info in infos:
            counts.update(info["counts"][snapshot.stamp])
        dropped = {why: count for why, count in sorted(counts.items()) if why}
        hidden = tuple(sorted({name for info in infos for name in info["hidden"]}))
        base, name = (next((info[key] for info in infos if info.get(key)), "") for key in ("base", "name"))
        found = SnapshotInfo(counts.total(), dropped, hidden, base, BROKEN in dropped, name)
        for info in infos:
            other = SnapshotInfo(0, {}, (), info["base"], False, info.get("name", ""))
            if found.is_of_another_wiki(other):
                wikis = f"{found.wiki} and {other.wiki}"
                raise InputError(
                    f"examples: the files of {snapshot.stamp} are of two wikis, {wikis}; give those of one"
                )
        return found

    def tidy(self, snapshot: Snapshot, number: int, hidden: Sequence[str], earlier: Snapshot | None = None) -> None:
        """Clean the pages of a bucket, unless that is done already, and count the pages that are dropped.

        Texts that did not change since the `earlier` snapshot are copied from it instead of cleaned again.
        """
        buckets = self.clean(snapshot)
        if buckets.is_written(_name(number)):
            return
        known = {} if earlier is None else {article.id: article for article in self.articles(earlier, number)}
        seen: set[str] = set()
        dropped: Counter[str] = Counter()
        templates = TemplateCounts()
        with buckets.writing(_name(number)) as into:
            for key, value in self.raw.read(number, [file.writer for file in self.files(snapshot)]):
                if snapshot.stamp not in value["stamps"]:
                    continue
                if key in seen:
                    dropped[TWICE] += 1
                    continue
                seen.add(key)
                article = self._cleaned(int(key), value, known.get(int(key)), hidden, templates)
                if article.lost in (COSTLY, FAILED):
                    dropped[article.lost] += 1
                _add(into, article)
            about = {"expanded": templates.expanded, "left": templates.left, "whole": earlier is None}
            into.about = {"dropped": {why: count for why, count in sorted(dropped.items()) if count}, TEMPLATES: about}

    def _cleaned(
        self,
        page: int,
        value: dict[str, Any],
        known: Article | None,
        hidden: Sequence[str],
        templates: TemplateCounts,
    ) -> Article:
        title, lost = value["title"], value["lost"]
        digest = hash64("\0".join((*hidden, value["text"])))
        if known is not None and known.digest == digest and not known.lost and not lost:
            return Article(page, title, digest, known.paragraphs)
        if self.wiki.form in ("extracted", "world"):
            return Article(page, title, digest, tuple(value["text"].split("\n")), lost)
        try:
            counts = templates if self.wiki.templates == "expanded" else None
            lines = () if lost else tuple(paragraphs(value["text"], hidden, self.wiki.lists, counts))
        except Unparsable as reason:
            lines, lost = (), str(reason)
        return Article(page, title, digest, lines, lost)

    def articles(self, snapshot: Snapshot, number: int) -> Iterator[Article]:
        """Yield the clean pages of a bucket."""
        for key, value in self.clean(snapshot).read(number, [_name(number)]):
            yield Article(int(key), value["title"], value["digest"], tuple(value["paragraphs"]), value.get("lost", ""))

    def step(self, name: str, snapshot: Snapshot, info: SnapshotInfo) -> Step:
        """Return how many pages of a snapshot were read and dropped; all its buckets must be clean."""
        dropped = Counter(info.dropped)
        for number in range(self.count):
            dropped.update(self.clean(snapshot).about(_name(number))["dropped"])
        return Step(name=name, read=info.read, dropped=dict(sorted(dropped.items())))

    def templates(self, old: Snapshot, new: Snapshot) -> Step:
        """Return what became of the templates in the texts of a snapshot that the one before it does not have; if no
        snapshot was read before these two, of those in all texts of both."""
        found = TemplateCounts()
        for snapshot in (old, new):
            for number in range(self.count):
                about = self.clean(snapshot).about(_name(number)).get(TEMPLATES, {})
                if about and (snapshot is new or about["whole"]):
                    found.add(about["expanded"], about["left"])
        return found.step()

    def remove(self, snapshot: Snapshot) -> None:
        """Remove the staged data of a snapshot. Markers are removed first, so a part is never taken for the whole."""
        self.remove_raw(snapshot)
        for number in range(self.count):
            self.store.remove(f"{self.clean(snapshot).folder}/{_name(number)}.json")
        self.store.remove(self.clean(snapshot).folder)

    def remove_raw(self, snapshot: Snapshot) -> None:
        """Remove the raw pages of a snapshot, except those of a history, which all snapshots share."""
        if not snapshot.of_history:
            for file in self.files(snapshot):
                self.store.remove(f"{self.raw.folder}/{file.writer}.json")
                self.store.remove(f"{self.raw.folder}/{file.writer}")

    def _is_clean(self, snapshot: Snapshot) -> bool:
        buckets = self.clean(snapshot)
        return all(buckets.is_written(_name(number)) for number in range(self.count))

    def _info_path(self, writer: str) -> str:
        return f"{self.folder}/info/{writer}.json"


@dataclass(frozen=True)
class DumpFile:
    """A file of a dump, and the days (as YYYYMMDD) for which it is read."""

    input: Input
    stamps: tuple[str, ...]
    of_history: bool

    @property
    def writer(self) -> str:
        """The name of the writer that stages this file."""
        return f"{hash64('|'.join((self.input.model_dump_json(), *self.stamps))):016x}"


def _name(number: int) -> str:
    return f"{number:05d}"


def pages(file: DumpFile, wiki: WikiDumps, about: Wiki) -> Iterator[Revision]:
    """Yield the pages of all members of a file. Raises InputError if it is no dump of a MediaWiki."""
    path = file.input.path
    if wiki.world is not None:
        yield from of_world(wiki.world, wiki.encyclopedia, span(file.stamps[0])[0], about)
        return
    moments = [end_of(span(stamp)[0]) for stamp in file.stamps] if file.of_history else None
    try:
        if wiki.form == "extracted":
            yield from extracted(path, about)
            return
        for _, stream in unpacked(path):
            yield from revisions(stream, path, wiki.namespaces, moments, about)
    except Damaged as error:
        raise InputError(str(error)) from None


def _add(into: BucketWriter, article: Article) -> None:
    value = {"title": article.title, "digest": article.digest, "paragraphs": article.paragraphs}
    into.add(str(article.id), value | ({"lost": article.lost} if article.lost else {}))
