"""The index of cells: one file with the cells of many, so that a study of thousands of checkpoints opens only it.

    cells/index-<number>-<hash of its bytes>.parquet

It is a copy: the files of the checkpoints stay, and say what there is. Of each of them the index states its size and
its time or tag, and counts for those that a listing shows unchanged; all others are opened. So a file that was edited,
added or removed is seen, and an index that is damaged costs time and no cell. Of several the one with the highest
number counts.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ticlm.core import paths
from ticlm.core.errors import InputError, TiclmWarning
from ticlm.core.store import Store

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

FORMAT = 1
NAME = re.compile(r"index-[0-9]{8}-[0-9a-f]{32}\.parquet")
GROUP_ROWS = 100_000
"""Rows of a row group, at least; a reader takes whole groups."""


class IndexedFile(NamedTuple):
    """A file of cells in an index: its state when it was read, its checkpoint, and where its rows stand."""

    state: str
    weights: str
    group: int
    first: int
    rows: int


class CellIndex:
    """An index that is whole. `files` are by path, relative to the folder of all cells."""

    def __init__(self, parquet: pq.ParquetFile, files: Mapping[str, IndexedFile], columns: list[str] | None) -> None:
        self.files, self._columns = files, columns
        self._groups: dict[int, pa.Table] = {}
        self._parquet: pq.ParquetFile | None = parquet
        if columns is not None:  # a few columns of all cells take less memory than the file, which is let go
            self._groups = {group: self._read(parquet, group) for group in range(parquet.num_row_groups)}
            self._parquet = None

    def table(self, path: str) -> pa.Table:
        """Return the cells of a file, without their weights, in its order."""
        _, _, group, first, rows = self.files[path]
        if group not in self._groups:
            assert self._parquet is not None
            self._groups[group] = self._read(self._parquet, group)
        return self._groups[group].slice(first, rows)

    def _read(self, parquet: pq.ParquetFile, group: int) -> pa.Table:
        return parquet.read_row_group(group, columns=self._columns, use_threads=False)


def names_of(listed: Iterable[str]) -> list[str]:
    """Return the names of the indexes among the files of the folder of all cells, the highest number last."""
    return sorted(name for name in listed if NAME.fullmatch(name))


def number_of(name: str) -> int:
    """Return the number of an index; each is one more than that of the index before."""
    return int(name.split("-")[1])


def open_index(store: Store, name: str, columns: list[str] | None = None) -> CellIndex | None:
    """Return the index of this name, with these columns of its cells or all.

    Warns, in one line, and returns None if it is damaged; returns None too if it was removed since it was listed, or
    is of another release, which looks after its own.
    """
    try:
        parquet, stated = _opened(store, name)
    except FileNotFoundError:
        return None
    except InputError as error:
        warnings.warn(f"{error}, and cells are read from their own files", TiclmWarning, stacklevel=2)
        return None
    if stated["format"] != FORMAT:
        return None
    return CellIndex(parquet, {path: IndexedFile(*entry) for path, entry in stated["files"].items()}, columns)


def check_indexes(store: Store) -> list[str]:
    """Return one line for each damaged index of a root's cells."""
    problems = []
    for name in names_of(store.files(paths.CELLS)):
        try:
            _opened(store, name)
        except FileNotFoundError:
            continue  # removed since it was listed
        except InputError as error:
            problems.append(str(error))
    return problems


def _opened(store: Store, name: str) -> tuple[pq.ParquetFile, dict[str, Any]]:
    """Return the index of this name, and what it states of the files. Raises InputError if it is damaged."""
    import pyarrow.parquet as pq

    path = f"{paths.CELLS}/{name}"
    data = store.read(path)
    if hashlib.sha256(data).hexdigest()[:32] not in name:
        where = store.uri(path)
        raise InputError(f"{where} is damaged (its hash is not that of its name); ticlm eval writes another")
    parquet = pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True, pre_buffer=False)
    return parquet, json.loads(parquet.metadata.metadata[b"index"])


def write_index(store: Store, number: int, files: Iterable[tuple[str, str, str, pa.Table]]) -> None:
    """Write an index of these files. Of each there are the path relative to the folder of all
    cells, the state, the checkpoint's weights and the cells as `columns.encoded` gives them."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink, entries, writer = io.BytesIO(), dict[str, IndexedFile](), None
    for group, some in enumerate(_groups(files)):
        first = 0
        for path, state, weights, table in some:
            entries[path] = IndexedFile(state, weights, group, first, table.num_rows)
            first += table.num_rows
        whole = pa.concat_tables([table for *_, table in some]).unify_dictionaries().combine_chunks()
        whole = whole.replace_schema_metadata()  # that of the index before would be kept inside this one
        writer = writer or pq.ParquetWriter(
            sink, whole.schema, compression="zstd", write_page_checksum=True, use_dictionary=whole.column_names[:-1]
        )
        writer.write_table(whole, row_group_size=max(1, whole.num_rows))
    assert writer is not None, "an index of no file"
    stated: dict[str, Any] = {"format": FORMAT, "files": entries}
    writer.add_key_value_metadata({"index": json.dumps(stated)})
    writer.close()
    data = sink.getvalue()
    store.create(paths.cells_index(number, hashlib.sha256(data).hexdigest()), data)


def _groups(
    files: Iterable[tuple[str, str, str, pa.Table]],
) -> Iterator[list[tuple[str, str, str, pa.Table]]]:
    """Yield the files in lists of GROUP_ROWS rows or a little more, so that none is in two groups."""
    some, rows = [], 0
    for file in files:
        some.append(file)
        rows += file[3].num_rows
        if rows >= GROUP_ROWS:
            yield some
            some, rows = [], 0
    if some:
        yield some
