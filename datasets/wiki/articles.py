"""Articles: every article of whole snapshots of a wiki, as documents dated by their snapshot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, time
from typing import Literal

from ticlm.core.accounting import Step
from ticlm.core.periods import Calendar, span
from ticlm.core.settings import Settings
from ticlm.datasets.examples.documents import ExampleDocuments
from ticlm.datasets.io.documents import Bad, Document, Documents, Input, Piece, Skipped
from ticlm.datasets.wiki.dumps import WikiDumps
from ticlm.datasets.wiki.mediawiki import BROKEN, DELETED, EMPTY, MODEL, NAMESPACED, REDIRECT, Revision, Wiki
from ticlm.datasets.wiki.plain import EMPTY_OR_REDIRECT
from ticlm.datasets.wiki.staging import DumpFile, pages
from ticlm.datasets.wiki.templates import TemplateCounts
from ticlm.datasets.wiki.wikitext import Unparsable, paragraphs

PROSELESS = "without prose"
NO_ARTICLES = (NAMESPACED, REDIRECT, EMPTY, DELETED, MODEL, EMPTY_OR_REDIRECT)
"""Why a page was never meant to be an article, or has no text; any other reason is a record that cannot be used."""
_DAYS = "|"  # stands behind the days of an input, in its stamp


class WikiArticles(WikiDumps, Documents):
    """Every article of each snapshot that the periods of the corpus hold, dated by the day of the snapshot.

    The title is the first line of a text, unless `title_as` says otherwise, and the paragraphs of the article are the
    other lines. The id is the number of the page, which outlives its title. An article of several snapshots is a
    document of each.
    """

    kind: Literal["wiki-articles"] = "wiki-articles"
    title_as: Literal["line", "sentence"] = "line"
    """How the title is joined to the text: as a line of its own, or as a sentence before it ("Title. text")."""
    changes: ExampleDocuments | None = None
    """A subset of a set of examples that is read too, such as what changed after the snapshots (`wiki-revisions`). The
    corpus then has a whole wiki in its first period and its changes in the later ones, and a study of it trains first
    models of its own, several if it likes (`initial.seed`)."""

    def without_meaning(self) -> frozenset[str]:
        unsaid = {"title_as": self.title_as == "line", "changes": self.changes is None}
        return super().without_meaning() | {name for name, one in unsaid.items() if one}

    @property
    def external_inputs(self) -> str | None:
        """Return the line of the set of changes; None without one."""
        return None if self.changes is None else self.changes.external_inputs

    @property
    def dating(self) -> str:
        return "the day of the snapshot that holds the revision of an article"

    @property
    def identity(self) -> Settings:
        """Return the settings that determine the bytes of a corpus: all but where the dumps are, and what concerns
        differences between snapshots."""
        changes = None if self.changes is None else self.changes.identity
        return self.without_files().model_copy(update={"moved": "changed", "changes": changes})

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return the files of the snapshots that the calendar holds, ordered by day; the stamp of each begins with its
        days. Those of the changes come last. Raises InputError for a path that matches no file."""
        later = [] if self.changes is None else self.changes.inputs(calendar)
        return [*(entry for day, entry in self._chosen() if _inside(day, calendar)), *later]

    def count_outside(self, calendar: Calendar) -> int:
        """Return how many files of snapshots the calendar does not hold."""
        return sum(not _inside(days, calendar) for days, _ in self._chosen())

    def read(self, piece: Piece) -> Iterator[Document | Bad | Skipped | Step]:
        """Yield what each page of a file is at each of its snapshots, in the order of the dump, and last, if there are
        any, how many templates of its pages were expanded and left out. The part of a file that is lost is one Bad."""
        days, of_snapshot, stamp = piece.input.stamp.partition(_DAYS)
        if not of_snapshot:
            assert self.changes is not None
            yield from self.changes.read(piece)
            return
        entry = piece.input.model_copy(update={"stamp": stamp, "group": days})
        file, about = DumpFile(entry, tuple(days.split()), bool(self.history)), Wiki()
        templates = TemplateCounts() if self.templates == "expanded" else None
        for page in pages(file, self, about):
            found = self._outcome(page, about.hidden, entry.path, templates)
            for number in page.moments:
                yield _dated(found, str(page.page), _moment(file.stamps[number]))
        if about.broken:
            yield Bad(BROKEN, entry.path)
        if templates is not None and (counted := templates.step()).read:
            yield counted

    def _outcome(
        self, page: Revision, hidden: Sequence[str], path: str, templates: TemplateCounts | None
    ) -> str | Bad | Skipped:
        """Return the text of a page, or why it has none."""
        if page.why:
            return Skipped(page.why) if page.why in NO_ARTICLES else Bad(page.why, path)
        if self.form in ("extracted", "world"):
            lines = page.text.split("\n")
        else:
            try:
                lines = paragraphs(page.text, hidden, self.lists, templates)
            except Unparsable as reason:
                return Bad(str(reason), f"{path}: page {page.page}")
        between = {"line": "\n", "sentence": ". "}[self.title_as]
        return between.join((" ".join(page.title.split()), "\n".join(lines))) if lines else Skipped(PROSELESS)

    def _chosen(self) -> list[tuple[str, Input]]:
        """Return the files of the snapshots that are taken, each with its days; they have no groups, by which documents
        would be held out together."""
        entries = self.files("documents")
        if not self.history:
            snapshots, _ = self.series(entries)
            entries = [entry for snapshot in snapshots for entry in snapshot.inputs]
        return [
            (entry.group, entry.model_copy(update={"stamp": f"{entry.group}{_DAYS}{entry.stamp}", "group": ""}))
            for entry in entries
        ]


def _inside(days: str, calendar: Calendar) -> bool:
    return any(calendar.place(span(day)[0]) is not None for day in days.split())


def _moment(day: str) -> datetime:
    return datetime.combine(span(day)[0], time(), UTC)


def _dated(found: str | Bad | Skipped, page: str, when: datetime) -> Document | Bad | Skipped:
    match found:
        case Bad():
            return Bad(found.reason, found.where, when)
        case Skipped():
            return Skipped(found.reason, when)
        case text:
            return Document(text, page, when)
