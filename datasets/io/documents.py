"""Documents: dated texts, how a record becomes one, and the base of their sources."""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from typing import Any

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar, Timeline
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.io import dates, listing
from ticlm.datasets.io.dates import TimestampFormat, UnclearNumber
from ticlm.datasets.io.fetching import Unreachable

FIRST_ROWS = 1000
"""Rows of a file that are looked at before a build, until one is a document."""
_FORMAT = "timestamp_format"


@dataclass(frozen=True, slots=True)
class Document:
    """A dated text. `id` is its url, or another name that it keeps over time; `timestamp` is in UTC.

    Documents of one `group` (the pages of one WARC file) are held out together. Without a group, documents with the
    same id are.
    """

    text: str
    id: str
    timestamp: datetime
    source: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    group: str = ""


@dataclass(frozen=True, slots=True)
class Bad:
    """A record that should have been a document: why it is not, where it stands, and its time if that could be read.

    A break in the input is one Bad for all that is lost there, with the `lost` bytes of the input (as they are stored,
    packed or not) as far as they are known.
    """

    reason: str
    where: str
    timestamp: datetime | None = None
    lost: int = 0


@dataclass(frozen=True, slots=True)
class Skipped:
    """A record that was never meant to be a document: a request in a WARC file, an image."""

    reason: str
    timestamp: datetime | None = None


class Input(Settings):
    """Something to read once: a file, or a period of a generated world.

    `path` holds no credentials: a URL with some becomes a MaskedUrl, which `fetching.opened` opens, and everything that
    is recorded or hashed of an input is the same when they change. `size` is in bytes, 0 if it is not known. `stamp`
    changes when the contents do. `group` is the group of all its documents, if that is known before they are read.
    """

    path: listing.Location
    size: int
    stamp: str
    group: str = ""


def input_files(
    patterns: Sequence[str],
    suffixes: tuple[str, ...],
    setting: str = "documents.paths",
    group: str = "",
    otherwise: tuple[str, ...] = (),
) -> list[Input]:
    """Return the files of these patterns as inputs of one `group`, ordered by path. Raises InputError as
    `listing.files` does."""
    found = listing.files(patterns, suffixes, setting, otherwise)
    return [Input(path=path, size=size, stamp=stamp, group=group) for path, size, stamp in found]


def check_first_rows(inputs: Sequence[Input], wrong: Callable[[str], str | None]) -> None:
    """Raise InputError, with its path, if the first, a middle and the last input are all wrong: `wrong` says of a path
    what is, or returns None. What cannot be read is left to the build, which reports it under its limits."""
    first = ""
    for path in dict.fromkeys(inputs[at].path for at in (0, len(inputs) // 2, -1) if inputs):
        try:
            said = wrong(path)
        except (InputError, Unreachable):
            return
        if said is None:
            return
        first = first or f"{path}: {said}"
    if first:
        raise InputError(first)


class Piece(Settings):
    """A range of an input that one task reads: bytes of JSON lines, row groups of Parquet; by default all of it."""

    input: Input
    start: int = 0
    end: int | None = None


class FieldNames(Settings, identity="Fields"):
    """Names of the record fields for each field of a Document; dots lead into nested records (`metadata.created`)."""

    text: str = "text"
    """Field that holds the text; dots lead into nested records (`metadata.created`)."""
    id: str = "url"
    """Field that holds the id: the url, or another name that the document keeps over time."""
    timestamp: str = "timestamp"
    """Field that holds the date, or several that make it: `year-month`, `year-month-day`."""
    source: str = "source"
    """Field that holds the name of the source; records may lack it."""
    extra: tuple[str, ...] = ()
    """Further fields to keep with each document."""


class Fields(FieldNames, identity="DatedFields"):
    """Names of the record fields, and how the timestamp is written, if that has to be said (see TimestampFormat).

    Without `timestamp_format`, a timestamp is a time or date of Parquet, ISO 8601 (also `2013-05` and `201305`), or
    seconds since 1970 after February 1973. Smaller numbers may be years or dates and are bad.
    """

    timestamp_format: TimestampFormat | None = None
    """How dates are written that are neither ISO 8601 nor seconds since 1970 (docs/data.md)."""

    @property
    def identity(self) -> FieldNames:
        """Return what determines the bytes of a corpus: the names alone, unless a format is stated."""
        if self.timestamp_format is not None:
            return self
        return FieldNames(**self.model_dump(exclude={"timestamp_format"}))

    def names(self) -> tuple[str, ...]:
        parts = self.timestamp.split("-") if "-" in self.timestamp else ()
        return (self.text, self.id, self.timestamp, *parts, self.source, *self.extra)

    def stamp(self, record: Mapping[str, Any]) -> Any:
        """Return what a record has for a date: the value of one field, or those of `year-month` with two digits each
        after the first; None if it lacks one."""
        found = value_at(record, self.timestamp)
        if found is not None or "-" not in self.timestamp:
            return found
        parts = [value_at(record, name) for name in self.timestamp.split("-")]
        return None if None in parts else "-".join(str(part).strip().rjust(2, "0") for part in parts)

    def document(self, record: Mapping[str, Any], where: str) -> Document | Bad:
        """Return the record as a Document, or a Bad with the reason. Without an id, its id is the hash of its text."""
        stamp = self.stamp(record)
        if stamp is None or stamp == "":
            return Bad("without date", where)
        try:
            timestamp = dates.parser(self.timestamp_format)(stamp)
        except UnclearNumber:
            return Bad(dates.NUMBER, where)
        except ValueError:
            return Bad("unreadable date", where)
        text = value_at(record, self.text)
        if not isinstance(text, str) or not text.strip():
            return Bad("without text", where, timestamp)
        try:
            encoded = text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, as "\ud83d" in JSON
            return Bad("unreadable text", where, timestamp)
        name = value_at(record, self.id)
        return Document(
            text=text,
            id=_plain(name) if name not in (None, "") else hashlib.blake2b(encoded, digest_size=16).hexdigest(),
            timestamp=timestamp,
            source=_plain(value_at(record, self.source)),
            extra={name: value_at(record, name) for name in self.extra},
        )

    def wrong(self, rows: Iterable[Mapping[str, Any]]) -> str | None:
        """Return what is wrong with these names or this format, in a line, if none of the first rows has a readable
        time, or none has text. Return None if one has both, and if there is no row."""
        count, undated, untexted = 0, True, True
        stamp: Any = None
        for row in islice(rows, FIRST_ROWS):
            count += 1
            outcome = self.document(row, "")
            if isinstance(outcome, Document):
                return None
            undated = undated and outcome.timestamp is None
            stamp = self.stamp(row) if stamp in (None, "") else stamp
            text = value_at(row, self.text)
            untexted = untexted and not (isinstance(text, str) and text.strip())
        if not count:
            return None
        first = f"of its first {count:,} rows " if count > 1 else "of its rows "
        if undated and stamp in (None, ""):
            return f"none {first}has a value in {self.timestamp!r}, which documents.fields.timestamp names"
        if undated:
            known = f"; formats are {', '.join(dates.FORMATS)} or a pattern such as %Y%m%d"
            form = f"as {self.timestamp_format}" if self.timestamp_format else f"without documents.fields.{_FORMAT}"
            return f"none {first}has a {self.timestamp!r} that can be read {form}; the first is {stamp!r:.60}{known}"
        if untexted:
            return f"none {first}has text in {self.text!r}, which documents.fields.text names"
        return None


class Documents(Settings):
    """Base of every source of documents, also of your own: it lists its inputs and reads them piece by piece.

    A source has to define `inputs` and `read`. The other methods have defaults that fit a source whose inputs all lie
    in the calendar, as far as their names tell, and are read whole.
    """

    @property
    def identity(self) -> Settings:
        """Return what of these settings reaches the bytes of a corpus: all of them, unless a subclass says less."""
        return self

    @property
    def dating(self) -> str:
        """The rule by which its documents are dated, as certificates of models that read them state it."""
        if isinstance(fields := getattr(self, "fields", None), Fields):
            return f"the field {fields.timestamp} of each record, which nothing else confirms"
        return f"the time that a source of kind {getattr(self, 'kind', type(self).__name__)} gives each document"

    @property
    def carries_spans(self) -> bool:
        """Whether its texts carry their salient spans (`text.spans.inline`), for rows whose tagger is `masked`."""
        return False

    @abstractmethod
    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return what there is to read, in a fixed order; an input whose stamp changes is read again."""
        raise NotImplementedError

    def inputs_after(self, calendar: Calendar, before: Sequence[Input], made: Collection[str]) -> list[Input]:
        """Return what `inputs` does, given the inputs of all builds `before`, in their order, and the periods that they
        made; for a source whose inputs depend on the calendar."""
        return self.inputs(calendar)

    def count_outside(self, calendar: Calendar) -> int:
        """Return how many inputs `inputs` leaves out because they hold nothing of this calendar; 0 by default."""
        return 0

    def pieces(self, entry: Input) -> list[Piece]:
        """Cut an input into pieces, each of which one task reads; one piece by default.

        Files stay whole where no record can be found from the middle: archives, packed XML, CSV with newlines in cells.
        """
        return [Piece(input=entry)]

    @abstractmethod
    def read(self, piece: Piece) -> Iterator[Document | Bad | Skipped | Step]:
        """Yield the documents of a piece, in order, and a Bad for each record that should have been one.

        A Step counts what the whole piece left out otherwise, such as templates of a wiki.
        """
        raise NotImplementedError

    def check(self, inputs: Sequence[Input]) -> None:
        """Raise InputError if a look at the first of these inputs shows that they cannot be read with these settings.

        It is called before workers start, and has to be quick; by default it does nothing.
        """

    def settled(self, store: Store) -> Documents:
        """Return these settings as one build reads them, given its corpus's folder: with a commit for a branch."""
        return self

    def unchanged(self, store: Store) -> None:
        """Note in the corpus's folder that a build found nothing new; it does nothing by default."""

    def beside(self, store: Store, timeline: Timeline) -> None:
        """Write into the corpus's folder what is known about its text but is not part of it; nothing by default."""


def value_at(record: Mapping[str, Any], name: str) -> Any:
    """Return the value of a record under a name, whose dots lead into nested records; None if it has none."""
    if name in record:
        return record[name]
    node: Any = record
    for key in name.split("."):
        if not isinstance(node, Mapping):
            return None
        node = node.get(key)
    return node


def _plain(value: object) -> str:
    return "" if value is None else str(value).encode(errors="replace").decode()
