"""Cells on disk: Parquet files, kept by the checkpoint's fingerprint.

    cells/<weights[:16]>/<which cells>.parquet

A file is created atomically and only if absent. It is named after the cells that it holds, not after their values, so
if two workers score the same cells at once, the first one counts. A damaged file is an error, never a gap.
"""

from __future__ import annotations

import io
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import ValidationError

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.methods.objectives import AnyObjective
from ticlm.platform.tasks.base import Task
from ticlm.platform.tasks.cell import Cell, Compute

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
"""Version of the columns of a file."""
REMEDY = "remove it to score its cells again"


class CellKey(Settings):
    """All that determines a cell's values. A cell is reused as long as its key stays the same."""

    version: int = 1
    weights: str
    task: Task
    data: str
    """Hash of what the task reads at the cell's label."""
    objective: AnyObjective
    compute: Compute
    """In which number type it was scored: cells of two types are never mixed."""


def cell_key(
    weights: str, task: Task, label: str, data: str, objective: AnyObjective, compute: Compute = "float32"
) -> str:
    """Return the key of the cells of one checkpoint at one label of a task; `data` is the hash of the task's data."""
    reduced = task.identity_at(label)
    if reduced.prepare is not None:  # the weights say all of it; where its corpus lies is no identity
        reduced = reduced.model_copy(update={"prepare": None})
    return fingerprint(CellKey(weights=weights, task=reduced, data=data, objective=objective, compute=compute))


def write_cells(store: Store, cells: Sequence[Cell]) -> None:
    """Write cells to the store, one file per checkpoint; cells that are there already stay as they are."""
    by_weights: dict[str, dict[tuple[str, ...], Cell]] = defaultdict(dict)
    for cell in cells:
        by_weights[cell.weights].setdefault(cell.place, cell)
    for weights, by_place in sorted(by_weights.items()):
        rows = [by_place[place] for place in sorted(by_place)]
        store.create(_place(weights, rows), _to_parquet(rows))


def read_cells(store: Store, weights: str) -> list[Cell]:
    """Return all cells of a checkpoint in the order of their places; empty if it was never scored.

    If a cell stands in two files (two writers whose work overlapped), the one in the file that sorts first counts, for
    every reader. Raises InputError, naming the file, if one is damaged.
    """
    found: dict[tuple[str, ...], Cell] = {}
    for name in store.files(paths.cells(weights)):
        path = f"{paths.cells(weights)}/{name}"
        for cell in _read(store, path):
            if cell.weights != weights:
                other = f"it holds cells of a checkpoint other than {weights}"
                raise InputError(f"{store.uri(path)} is damaged ({other}); {REMEDY}")
            found.setdefault(cell.place, cell)
    return [found[place] for place in sorted(found)]


def read_by_key(store: Store, weights: str) -> dict[str, list[Cell]]:
    """Return all cells of a checkpoint by key, in the order of their places."""
    found: dict[str, list[Cell]] = {}
    for cell in read_cells(store, weights):
        found.setdefault(cell.key, []).append(cell)
    return found


def labelled(label: str, cells: Sequence[Cell]) -> list[Cell]:
    """Return the cells of one key as those of this label. Labels that hold the same data have the same key, and the
    cells of one of them stand for all."""
    labels = {cell.evaluated for cell in cells}
    chosen = label if label in labels else min(labels, default=label)
    return [cell.model_copy(update={"evaluated": label}) for cell in cells if cell.evaluated == chosen]


def check_cells(store: Store, folder: str) -> list[str]:
    """Return one line for each damaged file of cells in the folder of this name, which begins its checkpoint's hash."""
    problems = []
    for name in store.files(f"{paths.CELLS}/{folder}"):
        path = f"{paths.CELLS}/{folder}/{name}"
        try:
            cells = _read(store, path)
        except FileNotFoundError:
            continue  # removed since it was listed
        except InputError as error:
            problems.append(str(error))
            continue
        if path not in {_place(weights, cells) for weights in {cell.weights for cell in cells}}:
            problems.append(f"{store.uri(path)} is damaged (it holds other cells than its name says); {REMEDY}")
    return problems


def _place(weights: str, cells: Sequence[Cell]) -> str:
    """Return the path of the file that holds these cells of a checkpoint."""
    return paths.cells_file(weights, fingerprint((FORMAT, weights, *sorted(cell.place for cell in cells))))


def _schema() -> pa.Schema:
    import pyarrow as pa

    kinds = {"value": pa.float64(), "n": pa.int64(), "stderr": pa.float64()}
    fields = [pa.field(name, kinds.get(name, pa.string()), name == "stderr") for name in Cell.model_fields]
    return pa.schema(fields, {b"format": str(FORMAT).encode()})


def _to_parquet(cells: Sequence[Cell]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    table = pa.Table.from_pylist([cell.model_dump() for cell in cells], _schema())
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def _read(store: Store, path: str) -> list[Cell]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = io.BytesIO(store.read(path))  # a storage that fails is no damage
    try:
        # ParquetFile, not read_table: a dataset would take `=` in a path for a partition.
        # Without threads: a short command could end before they have started, and be aborted.
        table = pq.ParquetFile(data, page_checksum_verification=True).read(use_threads=False)
        if not table.schema.equals(_schema(), check_metadata=True):
            raise ValueError(f"its columns are not those of format {FORMAT}")
        cells = [Cell.model_validate(row) for row in table.to_pylist()]
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())  # thrift's words end with a newline
        if isinstance(error, ValidationError):
            reason = f"{error.error_count()} values are not allowed"
        raise InputError(f"{store.uri(path)} is damaged ({reason}); {REMEDY}") from None
    return cells
