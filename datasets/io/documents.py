"""Documents: dated texts, how a record of a file becomes a document, and the files that hold records."""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time
from typing import Any, Literal

from pydantic import Field

from ticlm.datasets.io import listing, records
from ticlm.platform.core.periods import Calendar, Timeline
from ticlm.platform.core.settings import Settings
from ticlm.platform.core.store import Store


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

    `size` is in bytes, 0 if it is not known. `stamp` changes when the contents do. `group` is the group of all its
    documents, if that is known before they are read.
    """

    path: str
    size: int
    stamp: str
    group: str = ""


class Piece(Settings):
    """A range of an input that one task reads: bytes of JSON lines, row groups of Parquet; by default all of it."""

    input: Input
    start: int = 0
    end: int | None = None


class Fields(Settings):
    """Names of the record fields for each field of a Document; dots lead into nested records (`metadata.created`)."""

    text: str = "text"
    id: str = "url"
    timestamp: str = "timestamp"
    source: str = "source"
    extra: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        return (self.text, self.id, self.timestamp, self.source, *self.extra)

    def document(self, record: Mapping[str, Any], where: str) -> Document | Bad:
        """Return the record as a Document, or a Bad with the reason. Without an id, its id is the hash of its text."""
        stamp = _get(record, self.timestamp)
        if stamp is None or stamp == "":
            return Bad("without date", where)
        try:
            timestamp = moment(stamp)
        except ValueError:
            return Bad("unreadable date", where)
        text = _get(record, self.text)
        if not isinstance(text, str) or not text.strip():
            return Bad("without text", where, timestamp)
        try:
            encoded = text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, as "\ud83d" in JSON
            return Bad("unreadable text", where, timestamp)
        name = _get(record, self.id)
        return Document(
            text=text,
            id=_plain(name) if name not in (None, "") else hashlib.blake2b(encoded, digest_size=16).hexdigest(),
            timestamp=timestamp,
            source=_plain(_get(record, self.source)),
            extra={name: _get(record, name) for name in self.extra},
        )


class Documents(Settings):
    """Base of a source of documents of your own: says what there is to read, and reads it.

    A source has to define `inputs` and `read`; the other methods have defaults that fit a source which is read whole.
    """

    @property
    def identity(self) -> Settings:
        """Return what of these settings reaches the bytes of a corpus: all of them, unless a subclass says less."""
        return self

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return what there is to read, in a fixed order; an input whose stamp changes is read again."""
        raise NotImplementedError

    def count_outside(self, calendar: Calendar) -> int:
        """Return how many inputs hold nothing of this calendar, so that `inputs` leaves them out."""
        return 0

    def pieces(self, entry: Input) -> list[Piece]:
        """Cut an input into pieces that can be read apart; one piece by default."""
        return [Piece(input=entry)]

    def read(self, piece: Piece) -> Iterator[Document | Bad | Skipped]:
        """Yield the documents of a piece, and a Bad for each record that should have been one."""
        raise NotImplementedError

    def beside(self, store: Store, timeline: Timeline) -> None:
        """Keep beside the corpus what is known about its text but does not stand in it; nothing by default."""


class FileDocuments(Settings):
    """Records in files: `.jsonl`, `.jsonl.gz`, `.jsonl.zst` or `.parquet`, on a local disk or behind a URI.

    A path may be a file, a glob, or a folder (all files of a known format below it).
    """

    kind: Literal["files"] = "files"
    paths: listing.Patterns = Field(min_length=1)
    fields: Fields = Fields()

    @property
    def identity(self) -> Fields:
        """Return the settings that determine the bytes of a corpus: the fields, not where the files are."""
        return self.fields

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return every file once, ordered by path. Raises InputError for a path that matches no file."""
        found = listing.files(self.paths, records.SUFFIXES)
        return [Input(path=path, size=size, stamp=stamp) for path, size, stamp in found]

    def count_outside(self, calendar: Calendar) -> int:
        """Return 0: the times in a file are not known before it is read."""
        return 0

    def pieces(self, entry: Input) -> list[Piece]:
        """Cut the file into ranges that can be read separately, if its format allows that."""
        return [Piece(input=entry, start=start, end=end) for start, end in records.stretches(entry.path, entry.size)]

    def beside(self, store: Store, timeline: Timeline) -> None:
        """Write nothing: files of text bring nothing besides their documents."""

    def read(self, piece: Piece) -> Iterator[Document | Bad]:
        """Yield a Document or a Bad for each record, in order; of a broken file, those before the break."""
        path = piece.input.path
        before: int | None = None
        for number, record in records.records(path, piece.start, piece.end, self.fields.names()):
            outcome = Bad(record, "") if isinstance(record, str) else self.fields.document(record, "")
            if isinstance(outcome, Bad):
                before = records.lines_before(path, piece.start) if before is None else before
                outcome = Bad(outcome.reason, f"{path}:{before + number}", outcome.timestamp)
            yield outcome


def moment(value: object) -> datetime:
    """Return a time in UTC from ISO 8601 (also `2013-05` and `201305`), seconds since 1970, a date or a datetime.

    A time without an offset is taken as UTC. Raises ValueError for all other formats: they would have to be guessed,
    and a wrong guess puts a text into the wrong period.
    """
    match value:
        case bool():
            raise ValueError(f"not a date: {value!r}")
        case datetime():
            return _utc(value)
        case date():
            return datetime.combine(value, time(), UTC)
        case int() | float():
            return _since_1970(value)
        case str():
            return _written(value.strip())
    raise ValueError(f"not a date: {value!r}")


def _written(text: str) -> datetime:
    if month := re.fullmatch(r"(\d{4})-?(\d{2})", text):
        return datetime(int(month[1]), int(month[2]), 1, tzinfo=UTC)
    if re.fullmatch(r"\d{9,11}(\.\d*)?", text):
        return _since_1970(float(text))
    return _utc(datetime.fromisoformat(text))


def _since_1970(seconds: float) -> datetime:
    if not math.isfinite(seconds) or abs(seconds) >= 1e11:  # beyond the year 5138: milliseconds, most likely
        raise ValueError(f"not seconds since 1970: {seconds!r}")
    try:
        return datetime.fromtimestamp(seconds, UTC)
    except (OverflowError, OSError):
        raise ValueError(f"not seconds since 1970: {seconds!r}") from None


def _utc(value: datetime) -> datetime:
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"not a date: {value!r}") from None


def _get(record: Mapping[str, Any], name: str) -> Any:
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
