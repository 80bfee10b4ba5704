"""Files of pairs: JSON lines of which each gives one input and one target."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime, time
from itertools import islice
from typing import NamedTuple

from pydantic import Field

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar, span
from ticlm.core.settings import Settings
from ticlm.datasets.io import listing, records
from ticlm.datasets.io.documents import FIRST_ROWS, Bad, Document, Documents, Input, Piece, input_files
from ticlm.datasets.io.fetching import Unreachable
from ticlm.datasets.text.pairs import joined


class TuningPair(NamedTuple):
    """One row of fine-tuning."""

    id: str
    given: str
    target: str
    source: str = ""


class PairFiles(Documents):
    """Base of sources of pairs: one pair for each line of `.jsonl`, `.jsonl.gz`, `.jsonl.zst` or `.parquet` files."""

    paths: listing.Patterns = Field(min_length=1)
    """Files, globs, or folders (all files of a known format below them), local or remote."""

    @abstractmethod
    def pair(self, record: records.Record) -> TuningPair | str:
        """Return the pair of a record, or the reason why it is none."""
        raise NotImplementedError

    @abstractmethod
    def when(self, record: records.Record) -> str:
        """Return the period or the day of a record (`202005`, `2020-05-01`); empty if it names none."""
        raise NotImplementedError

    @property
    def identity(self) -> Settings:
        """Return the settings that determine the pairs: all but where the files are."""
        return self.model_copy(update={"paths": ("",)})

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return every file once, ordered by path. Raises InputError for a path that matches no file."""
        return input_files(self.paths, records.SUFFIXES)

    def pieces(self, entry: Input) -> list[Piece]:
        """Cut the file into ranges that can be read separately, if its format allows that."""
        return [Piece(input=entry, start=start, end=end) for start, end in records.stretches(entry.path, entry.size)]

    def check(self, inputs: Sequence[Input]) -> None:
        """Raise InputError if none of the first rows of the first file is a pair; it says why the first one is not."""
        for entry in inputs[:1]:
            try:
                found = [row for _, row in islice(records.records(entry.path, 0, None, ()), FIRST_ROWS)]
            except (InputError, Unreachable):  # which the build itself reports, under its limits
                return
            tried = [row.reason if isinstance(row, records.BadRecord) else self.pair(row) for row in found]
            if tried and all(isinstance(one, str) for one in tried):
                raise InputError(
                    f"{entry.path}: none of its first {len(tried):,} rows is a pair; the first: {tried[0]}"
                )

    def read(self, piece: Piece) -> Iterator[Document | Bad]:
        """Yield a Document or a Bad for each record, in order."""
        path = piece.input.path
        before: int | None = None
        for number, record in records.records(path, piece.start, piece.end, ()):
            when, lost = None, 0
            if isinstance(record, records.BadRecord):
                outcome: Document | str = record.reason
                lost = record.lost
            else:
                outcome = self._document(record)
                with suppress(ValueError):
                    when = moment(self.when(record))
            if isinstance(outcome, Document):
                yield outcome
            else:
                before = records.lines_before(path, piece.start) if before is None else before
                yield Bad(outcome, f"{path}:{before + number}", when, lost)

    def _document(self, record: records.Record) -> Document | str:
        pair = self.pair(record)
        if isinstance(pair, str):
            return pair
        given, target = pair.given.strip(), pair.target.strip()
        if not target:
            return "an empty answer"
        if not given:
            return "without input"
        try:
            text = joined(given, target)
            f"{text}{pair.id}{pair.source}".encode()
            when = moment(self.when(record))
        except UnicodeEncodeError:  # half of a surrogate pair
            return "unreadable text"
        except ValueError as error:
            return str(error)
        return Document(text, pair.id or given, when, pair.source)


def moment(when: str) -> datetime:
    """Return the first moment of a period or a day. Raises ValueError, a reason, if it cannot be read."""
    try:
        start = span(when)[0] if when[:6].isdigit() else datetime.fromisoformat(when).date()
    except (ValueError, InputError):
        raise ValueError("unreadable date" if when else "without date") from None
    return datetime.combine(start, time(), UTC)
