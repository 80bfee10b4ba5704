"""Articles: titled and dated texts in JSON, as news-please writes them; their titles become first lines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Literal

from pydantic import Field, model_validator

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar, Label, span
from ticlm.datasets.io import listing, records
from ticlm.datasets.io.documents import FIRST_ROWS, Bad, Document, Documents, Fields, Input, Piece, input_files
from ticlm.datasets.io.fetching import Unreachable, opened

SUFFIXES = (*records.SUFFIXES, ".json")
NEWS_PLEASE = Fields(text="maintext", id="url", timestamp="date_publish", source="source_domain")


class ArticleDocuments(Documents):
    """Articles in JSON lines, Parquet, or files of one JSON object each (`.json`), as news-please writes them.

    The title becomes the first line of the text. An article without a title has an empty first line.
    """

    kind: Literal["articles"] = "articles"
    paths: listing.Patterns = Field(min_length=1)
    """Files, globs, or folders (all files of a known format below them), local or remote."""
    fields: Fields = NEWS_PLEASE
    """Names of the records' fields, and how their dates are written; by default those of news-please."""
    title: str = "title"
    """Field that holds the title."""
    date: Label | None = None
    """The period of a dump, whose records have no dates: its first day is the date of all articles."""

    @model_validator(mode="after")
    def _a_period(self) -> ArticleDocuments:
        if self.date is not None:
            span(self.date)
        return self

    @property
    def dating(self) -> str:
        return super().dating if self.date is None else f"all of {self.date}, as the recipe says"

    @property
    def identity(self) -> ArticleDocuments:
        """Return the settings that determine the bytes of a corpus: all but where the files are."""
        return self.model_copy(update={"paths": (), "fields": self.fields.identity})

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return every file once, ordered by path. Raises InputError for a path that matches no file."""
        return input_files(self.paths, SUFFIXES)

    def pieces(self, entry: Input) -> list[Piece]:
        """Cut the file into ranges that can be read separately, if its format allows that."""
        if entry.path.endswith(".json"):
            return [Piece(input=entry)]
        return [Piece(input=entry, start=start, end=end) for start, end in records.stretches(entry.path, entry.size)]

    def check(self, inputs: Sequence[Input]) -> None:
        """Raise InputError if `fields` fit none of the first rows of the first input."""
        for entry in inputs[:1]:
            try:
                rows = [record for _, record in islice(self._records(Piece(input=entry)), FIRST_ROWS)]
            except (InputError, Unreachable):  # which the build itself reports, under its limits
                return
            found = [self._dated(row) for row in rows if not isinstance(row, records.BadRecord)]
            if wrong := self.fields.wrong(found):
                names = ", ".join(dict.fromkeys(name for row in found for name in row))
                raise InputError(f"{entry.path}: {wrong}; its columns are {names}")

    def read(self, piece: Piece) -> Iterator[Document | Bad]:
        """Yield a Document or a Bad for each record, in order."""
        path = piece.input.path
        before: int | None = None
        for number, record in self._records(piece):
            outcome: Document | Bad
            if isinstance(record, records.BadRecord):
                outcome = Bad(record.reason, "", lost=record.lost)
            else:
                outcome = self._document(record)
            if isinstance(outcome, Bad):
                before = records.lines_before(path, piece.start) if before is None else before
                outcome = replace(outcome, where=f"{path}:{before + number}")
            yield outcome

    def _records(self, piece: Piece) -> Iterator[tuple[int, records.Record | records.BadRecord]]:
        path = piece.input.path
        if path.endswith(".json"):
            yield 1, _whole(path)
        else:
            yield from records.records(path, piece.start, piece.end, (*self.fields.names(), self.title))

    def _dated(self, record: records.Record) -> records.Record:
        return record if self.date is None else {**record, self.fields.timestamp: span(self.date)[0]}

    def _document(self, record: records.Record) -> Document | Bad:
        outcome = self.fields.document(self._dated(record), "")
        if isinstance(outcome, Bad):
            return outcome
        title = record.get(self.title)
        first = " ".join(title.split()) if isinstance(title, str) else ""
        try:
            first.encode()
        except UnicodeEncodeError:  # half of a surrogate pair
            return Bad("unreadable text", "", outcome.timestamp)
        return replace(outcome, text=f"{first}\n{outcome.text}")


def _whole(path: str) -> records.Record | records.BadRecord:
    """Return the record of a file with one JSON object."""
    try:
        with opened(path) as raw:
            data = raw.read(records.LINE_BYTES + 1)
    except Unreachable:
        raise
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror or error}") from None
    if len(data) > records.LINE_BYTES:
        return records.BadRecord(records.TOO_LONG)
    return records.parsed(data)
