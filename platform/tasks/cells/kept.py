"""The cells that a root keeps of many checkpoints: one listing, the index, and the files that it does not have."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.columns import cells_of, encoded, schema
from ticlm.platform.tasks.cells.files import of_another, table_in
from ticlm.platform.tasks.cells.index import (
    CellIndex,
    IndexedFile,
    check_indexes,
    names_of,
    number_of,
    open_index,
    write_index,
)

if TYPE_CHECKING:
    import pyarrow as pa

AT_ONCE = 1000
"""Checkpoints, or files of an index, whose bytes are held at the same time."""
FEWEST = 100
"""Files that no index has, from which on another index is written. Fewer are read in less time than it takes."""


@dataclass(frozen=True)
class CheckpointCells:
    """The cells of one checkpoint. `table` has the columns that were asked for, without the weights, and the files of
    the checkpoint in the order of their names."""

    weights: str
    table: pa.Table

    @cached_property
    def keys(self) -> list[str]:
        """The key of each row."""
        found: list[str] = self.table.column("key").to_pylist()
        return found

    @cached_property
    def rows(self) -> dict[str, list[int]]:
        """The rows of each key in the order of the cells' places. Of one place, the file that sorts first counts."""
        found: dict[str, list[int]] = {}
        for row, key in enumerate(self.keys):
            found.setdefault(key, []).append(row)
        for key, rows in found.items():
            if len(rows) > 1:
                places: dict[tuple[str, ...], int] = {}
                for row, cell in zip(rows, self.cells(rows)):
                    places.setdefault(cell.place, row)
                found[key] = [places[place] for place in sorted(places)]
        return found

    def cells(self, rows: Sequence[int]) -> list[Cell]:
        """Return these rows as cells."""
        return cells_of(self.table.take(list(rows)), self.weights)

    def texts(self, column: str) -> list[str]:
        """Return the values of a column of texts."""
        found: list[str] = self.table.column(column).to_pylist()
        return found

    def labelled(self, label: str, key: str) -> list[int]:
        """Return the rows of a key that stand for this label (as `files.labelled` says)."""
        rows = self.rows.get(key, [])
        labels = {self._labels[row] for row in rows}
        chosen = label if label in labels else min(labels, default=label)
        return [row for row in rows if self._labels[row] == chosen]

    def labelled_cells(self, label: str, key: str) -> list[Cell]:
        """Return the cells of a key as those of this label."""
        rows = self.labelled(label, key)
        return [cell.model_copy(update={"evaluated": label}) for cell in self.cells(rows)] if rows else []

    @cached_property
    def _labels(self) -> list[str]:
        return self.texts("evaluated")


class KeptCells:
    """What a root keeps of cells, as it was when this object was made. With `columns`, only these are read.

    Raises InputError, naming the file, where one that is opened is damaged.
    """

    def __init__(self, store: Store, columns: Sequence[str] | None = None) -> None:
        self.store, self.columns = store, None if columns is None else list(columns)
        listed = store.states(paths.CELLS)
        self._states: dict[str, dict[str, str]] = {}  # folder -> path -> state
        for path, state in listed.items():
            folder, slash, _ = path.partition("/")
            if slash:
                self._states.setdefault(folder, {})[path] = state
        self.indexes = names_of(listed)
        self._index = self._opened()

    @property
    def outside(self) -> int:
        """How many files no index has."""
        return sum(1 for files in self._states.values() for path, state in files.items() if not self._has(path, state))

    def each(self, checkpoints: Iterable[str]) -> Iterator[CheckpointCells]:
        """Yield the cells of each of these checkpoints (the hashes of their weights), in their order."""
        left = iter(checkpoints)
        while some := list(islice(left, AT_ONCE)):
            opened = self._open(path for weights in some for path in self._files(weights))
            for weights in some:
                tables = [self._table(path, weights, opened) for path in self._files(weights)]
                yield CheckpointCells(weights, self._joined([table for table in tables if table is not None]))

    def files(self) -> Iterator[tuple[str, str, str, pa.Table]]:
        """Yield (path, state, weights, cells) of all files, as an index has them, but for those that are damaged."""
        whole = ((path, state) for files in self._states.values() for path, state in files.items())
        while some := list(islice(whole, AT_ONCE)):
            opened = self._open(path for path, _ in some)
            for path, state in some:
                if self._index is not None and self._has(path, state):
                    yield path, state, self._index.files[path].weights, self._index.table(path)
                    continue
                try:
                    table = table_in(self.store, f"{paths.CELLS}/{path}", opened[path] or b"")
                except InputError:
                    continue  # whoever reads it is told
                named = table.column("weights").unique().to_pylist()
                if len(named) == 1:
                    yield path, state, named[0], encoded(table)

    def _opened(self) -> CellIndex | None:
        return open_index(self.store, self.indexes[-1], self.columns) if self.indexes else None

    @property
    def is_indexed(self) -> bool:
        """Whether an index was found, and is whole."""
        return self._index is not None

    def _files(self, weights: str) -> dict[str, str]:
        return self._states.get(paths.cells(weights).rsplit("/", 1)[-1], {})

    def _has(self, path: str, state: str) -> bool:
        entry: IndexedFile | None = None if self._index is None else self._index.files.get(path)
        return entry is not None and entry.state == state

    def _open(self, files: Iterable[str]) -> dict[str, bytes | None]:
        """Return the bytes of the files that the index does not have; None of those removed since they were listed."""
        asked = [path for path in files if not self._has(path, self._states[path.partition("/")[0]][path])]
        return dict(zip(asked, self.store.read_all(f"{paths.CELLS}/{path}" for path in asked)))

    def _table(self, path: str, weights: str, opened: dict[str, bytes | None]) -> pa.Table | None:
        where = f"{paths.CELLS}/{path}"
        if path not in opened:
            assert self._index is not None
            if self._index.files[path].weights != weights:
                raise of_another(self.store, where, weights)
            return self._index.table(path)
        data = opened.pop(path)
        if data is None:
            return None
        # The whole file, whatever is asked for: damage anywhere in it is named.
        table = encoded(table_in(self.store, where, data, weights))
        return table if self.columns is None else table.select(self.columns)

    def _joined(self, tables: list[pa.Table]) -> pa.Table:
        import pyarrow as pa

        if len(tables) == 1:
            return tables[0]
        if not tables:
            whole = encoded(pa.Table.from_pylist([], schema()))
            return whole if self.columns is None else whole.select(self.columns)
        return pa.concat_tables(tables).unify_dictionaries()


def renew_index(store: Store) -> None:
    """Write another index if many files are in none, and remove those before it. Only who holds the root's lease
    calls."""
    kept = KeptCells(store)
    is_damaged = bool(kept.indexes) and not kept.is_indexed and bool(check_indexes(store))
    if kept.outside >= FEWEST:
        number = number_of(kept.indexes[-1]) + 1 if kept.indexes else 1
        write_index(store, number, kept.files())
    elif not is_damaged:
        return
    for name in kept.indexes:
        store.remove(f"{paths.CELLS}/{name}")
