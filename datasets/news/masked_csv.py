"""Masked CSV: the files released with CKL, whose rows were masked before; their texts and spans are restored."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, time
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar, Label, span
from ticlm.core.settings import Settings
from ticlm.datasets.io import csv_rows, listing
from ticlm.datasets.io.documents import Bad, Document, Documents, Input, Piece
from ticlm.datasets.io.records import BadRecord
from ticlm.datasets.text.spans import inline, restore

SUFFIXES = (".csv",)
INPUT, OUTPUT, ORIGINAL = "input", "output", "original"


def _period(label: str) -> str:
    span(label)
    return label


class MaskedRows(Settings):
    """What determines the documents of masked rows, wherever their files are."""

    kind: Literal["masked-csv"] = "masked-csv"
    spans: bool = True
    """Whether the texts carry their spans, for rows of salient-spans whose tagger is `masked`. Without them, `original`
    is the text wherever there is one: for a causal model."""


class MaskedCsv(MaskedRows, Documents):
    """Rows of CSV files with the columns `input`, `output` and `original`, as CKL's `recent_news_small.csv` has them.

    Text and spans are restored from `input` and `output`; `original` is the text of a row that masks nothing. Rows have
    no dates: `paths` says the period of each file.
    """

    paths: dict[Annotated[Label, AfterValidator(_period)], listing.Patterns] = Field(min_length=1)
    """Files, globs or folders by their period (`{202005-202010: recent_news_small1.csv}`), whose first day is the date
    of their rows."""

    @property
    def identity(self) -> MaskedRows:
        """Return the settings that determine the bytes of a corpus: all but where the files are."""
        return MaskedRows(spans=self.spans)

    @property
    def carries_spans(self) -> bool:
        return self.spans

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return every file once, ordered by path; the stamp of each begins with its period. Raises InputError for a
        path that matches no file, and for a file of two periods."""
        found: dict[str, Input] = {}
        for label, patterns in self.paths.items():
            for path, size, stamp in listing.files(patterns, SUFFIXES):
                if path in found:
                    raise InputError(f"documents.paths: {path} stands under two periods")
                found[path] = Input(path=path, size=size, stamp=f"{label} {stamp}")
        return [found[path] for path in sorted(found)]

    def check(self, inputs: Sequence[Input]) -> None:
        """Raise InputError if the first file lacks the columns."""
        for entry in inputs[:1]:
            try:
                names = csv_rows.columns(entry.path)
            except (OSError, InputError, csv.Error):  # which the build itself reports, under its limits
                return
            if not {INPUT, OUTPUT} <= {*names} and ORIGINAL not in names:
                has = csv_rows.listed(names)
                raise InputError(f"{entry.path}: has neither input and output nor original; its columns are {has}")

    def read(self, piece: Piece) -> Iterator[Document | Bad]:
        """Yield a Document or a Bad for each row, in order."""
        path, label = piece.input.path, piece.input.stamp.partition(" ")[0]
        when = datetime.combine(span(label)[0], time(), UTC)
        for line, row in csv_rows.rows(path):
            where = f"{path}:{line}"
            yield Bad(row.reason, where, when) if isinstance(row, BadRecord) else self._document(row, where, when)

    def _document(self, row: Mapping[str, str], where: str, when: datetime) -> Document | Bad:
        masked, target, original = (row.get(name, "") for name in (INPUT, OUTPUT, ORIGINAL))
        try:
            text = self._text(masked, target, original)
            name = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
        except UnicodeEncodeError:  # bytes that are no UTF-8
            return Bad("unreadable text", where, when)
        except ValueError as error:
            return Bad(f"a damaged pair: {error}", where, when)
        return Document(text, name, when) if text.strip() else Bad("without text", where, when)

    def _text(self, masked: str, target: str, original: str) -> str:
        """Return the text of a row. Raises ValueError if its input and output do not fit."""
        if original.strip() and (not self.spans or "<extra_id_" not in masked):
            return original
        text, spans = restore(masked, target) if "<extra_id_" in masked + target else (masked, [])
        return inline(text, spans) if self.spans else text
