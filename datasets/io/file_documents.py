"""Documents from files of records, and a look at the first rows before a build reads all of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, Literal

from pydantic import Field

from ticlm.core.periods import Calendar
from ticlm.datasets.io import formats, listing, records
from ticlm.datasets.io.documents import (
    Bad,
    Document,
    Documents,
    FieldNames,
    Fields,
    Input,
    Piece,
    check_first_rows,
    input_files,
)

FIRST = 100  # JSON lines of which the keys are shown as columns
MOST_NAMES = 40  # columns in one line of an error


class FileDocuments(Documents):
    """Records in files: `.jsonl`, `.jsonl.gz`, `.jsonl.zst` or `.parquet`, on a local disk or behind a URI.

    A path may be a file, a glob, or a folder (all files of a known format below it). Files may also be tables (`.csv`,
    `.tsv`), JSON (`.json`: lines or an array) and mail (`.mbox`), also packed (`.gz`), Arrow (`.arrow`), or texts with
    a date in their path (`.txt`, `.md`); a folder means these only if it has no records, and `.json` only if it has
    nothing else. Mail and texts have the fields `text`, `timestamp`, `url` and `source`, as the defaults of `fields`
    are. Folders `KEY=VALUE` in a path are fields of the records below them.
    """

    kind: Literal["files"] = "files"
    paths: listing.Patterns = Field(min_length=1)
    """Files, globs, or folders (all files of a known format below them), local or remote."""
    fields: Fields = Fields()
    """Names of the records' fields, and how their dates are written."""

    @property
    def identity(self) -> FieldNames:
        """Return the settings that determine the bytes of a corpus: the fields, not where the files are."""
        return self.fields.identity

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return every file once, ordered by path. Raises InputError for a path that matches no file."""
        return input_files(self.paths, records.SUFFIXES, otherwise=formats.OTHERS)

    def pieces(self, entry: Input) -> list[Piece]:
        """Cut the file into ranges that can be read separately, if its format allows that."""
        return [Piece(input=entry, start=start, end=end) for start, end in formats.stretches(entry.path, entry.size)]

    def check(self, inputs: Sequence[Input]) -> None:
        """Raise InputError if `fields` fit none of the first rows of the first, a middle and the last input. It names
        the file, the field, and the columns there are."""

        def wrong(path: str) -> str | None:
            said = self.fields.wrong(first_records(path, self.fields.names(), formats.folder_of(self.paths)))
            return said and f"{said}; its columns are {', '.join(columns(path))}"

        check_first_rows(inputs, wrong)

    def read(self, piece: Piece) -> Iterator[Document | Bad]:
        """Yield a Document or a Bad for each record, in order. A part of a file that is broken is one Bad."""
        path, folder = piece.input.path, formats.folder_of(self.paths)
        before: int | None = None
        for number, record in formats.rows(path, piece.start, piece.end, self.fields.names(), folder):
            outcome: Document | Bad
            if isinstance(record, records.BadRecord):
                outcome, rows = Bad(record.reason, "", lost=record.lost), record.rows
            else:
                outcome, rows = self.fields.document(record, ""), 1
            if isinstance(outcome, Bad):
                before = records.lines_before(path, piece.start) if before is None else before
                line = before + number
                to = f"-{line + rows - 1}" if rows > 1 else ""
                outcome = replace(outcome, where=f"{path}:{line}{to}")
            yield outcome


def first_records(path: str, names: Sequence[str], folder: str = "") -> Iterator[records.Record]:
    """Yield the records at the beginning of a file, in order; of Parquet, only columns of these names."""
    found = formats.rows(path, 0, None, names, folder)
    return (record for _, record in found if not isinstance(record, records.BadRecord))


def columns(path: str) -> list[str]:
    """Return the names of a file's columns (of JSON lines: the keys of the first records), those of nested records
    with dots."""
    if path.endswith(".parquet"):
        import pyarrow as pa

        with records.parquet(path) as file:
            found = [
                name for field in file.schema_arrow for name in _dotted(field.name, field.type, pa.types.is_struct)
            ]
    else:
        found = [
            f"{key}.{inner}" if inner else key
            for record in islice(first_records(path, ()), FIRST)
            for key, value in record.items()
            for inner in (value if isinstance(value, dict) and value else [""])
        ]
    found = list(dict.fromkeys((*found, *formats.keys_of(path))))
    return found if len(found) <= MOST_NAMES else [*found[:MOST_NAMES], "…"]


def _dotted(name: str, kind: Any, is_struct: Callable[[Any], bool]) -> list[str]:
    return [f"{name}.{kind.field(at).name}" for at in range(kind.num_fields)] if is_struct(kind) else [name]
