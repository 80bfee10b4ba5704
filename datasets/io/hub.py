"""Documents of the Hugging Face hub: any data set with a date column that its library `datasets` can stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import Calendar
from ticlm.datasets.io.documents import Bad, Document, Documents, FieldNames, Fields, Input, Piece


class HubDocuments(Documents):
    """Rows of a data set on the Hugging Face hub, or of a local folder that its library can load.

    `path`, `name`, `split` and `revision` are those of `datasets.load_dataset`. Rows are streamed: there is no
    download first. With a `revision` (a commit), the same rows are read every time.
    """

    kind: Literal["hub"] = "hub"
    path: str
    """Name of the data set on the hub, or a local folder."""
    name: str | None = None
    """Name of its configuration."""
    split: str = "train"
    """Name of its split."""
    revision: str | None = None
    """A commit; with it, the same rows are read every time."""
    fields: Fields = Fields()
    """Names of the rows' columns, and how their dates are written."""

    @property
    def identity(self) -> FieldNames:
        """Return the settings that determine the bytes of a corpus: the fields, not where the rows are."""
        return self.fields.identity

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return an input for each shard of the split, in order. Raises InputError if it cannot be loaded."""
        rows, stamp = self._rows(), self._stamp()
        shards = int(rows.num_shards)
        where = "/".join(part for part in (self.path, self.name, self.split) if part)
        return [Input(path=f"{where}#{i:05d}-of-{shards:05d}", size=0, stamp=stamp) for i in range(shards)]

    def check(self, inputs: Sequence[Input]) -> None:
        """Raise InputError if `fields` fit none of the first rows of the split. It names the columns there are."""
        if not inputs:
            return
        seen: dict[str, None] = {}
        try:
            wrong = self.fields.wrong(_noted(self._rows(), seen))
        except Exception:  # of files, networks and formats of all kinds, which the build itself reports
            return
        if wrong is not None:
            raise InputError(f"{inputs[0].path.rpartition('#')[0]}: {wrong}; its columns are {', '.join(seen)}")

    def read(self, piece: Piece) -> Iterator[Document | Bad]:
        """Yield a Document or a Bad for each row, in order. Raises InputError if the shard cannot be read."""
        index, _, shards = piece.input.path.rpartition("#")[2].partition("-of-")
        rows = self._rows()
        if int(rows.num_shards) != int(shards):
            raise InputError(f"{piece.input.path}: the data set has {rows.num_shards} shards by now, not {int(shards)}")
        number = 0
        try:
            for number, row in enumerate(rows.shard(num_shards=int(shards), index=int(index)), 1):
                yield self.fields.document(row, f"{piece.input.path}:{number}")
        except Exception as error:  # of files, networks and formats of all kinds
            raise InputError(f"{piece.input.path} cannot be read after row {number}: {_line(error)}") from None

    def _rows(self) -> Any:
        import datasets

        try:
            return datasets.load_dataset(
                self.path, name=self.name, split=self.split, revision=self.revision, streaming=True
            )
        except Exception as error:
            raise InputError(f"documents.path: {self.path} cannot be loaded: {_line(error)}") from None

    def _stamp(self) -> str:
        """Return a text that changes with the revision, and with the files of the split."""
        import datasets

        try:
            builder = datasets.load_dataset_builder(self.path, name=self.name, revision=self.revision)
        except Exception as error:
            raise InputError(f"documents.path: {self.path} cannot be loaded: {_line(error)}") from None
        files = (builder.config.data_files or {}).get(self.split)
        return fingerprint((str(builder.hash), str(getattr(files, "origin_metadata", ""))))[:32]


def _noted(rows: Iterable[Mapping[str, Any]], seen: dict[str, None]) -> Iterator[Mapping[str, Any]]:
    """Yield the rows, and note the names of their columns."""
    for row in rows:
        seen.update(dict.fromkeys(row))
        yield row


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:300] or type(error).__name__
