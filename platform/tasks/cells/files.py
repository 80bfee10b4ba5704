"""Cells on disk: Parquet files, kept by the checkpoint's fingerprint.

    cells/<weights[:16]>/<which cells>.parquet

A file is created atomically and only if absent. It is named after the cells that it holds, not after their values, so
if two workers score the same cells at once, the first one counts. A damaged file is an error, never a gap.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.store import Store
from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.columns import FORMAT, cells_of, from_parquet, to_parquet

if TYPE_CHECKING:
    import pyarrow as pa

REMEDY = "remove it to score its cells again"


def write_cells(store: Store, cells: Sequence[Cell]) -> None:
    """Write cells to the store, one file per checkpoint; cells that are there already stay as they are."""
    by_weights: dict[str, dict[tuple[str, ...], Cell]] = defaultdict(dict)
    for cell in cells:
        by_weights[cell.weights].setdefault(cell.place, cell)
    for weights, by_place in sorted(by_weights.items()):
        rows = [by_place[place] for place in sorted(by_place)]
        store.create(_place(weights, rows), to_parquet(rows))


def read_cells(store: Store, weights: str) -> list[Cell]:
    """Return all cells of a checkpoint in the order of their places; empty if it was never scored.

    If a cell stands in two files (two writers whose work overlapped), the one in the file that sorts first counts, for
    every reader. Raises InputError, naming the file, if one is damaged.
    """
    found: dict[tuple[str, ...], Cell] = {}
    for name in store.files(paths.cells(weights)):
        path = f"{paths.cells(weights)}/{name}"
        for cell in cells_of(table_in(store, path, store.read(path), weights)):
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


def table_in(store: Store, path: str, data: bytes, weights: str | None = None) -> pa.Table:
    """Return the table in the file `path`, whose bytes are `data`. Raises InputError, naming the file, if it is
    damaged, or holds cells of a checkpoint other than `weights` (if given)."""
    import pyarrow as pa

    try:
        table = from_parquet(data)
    except (OSError, ValueError, pa.ArrowException) as error:
        reason = " ".join(str(error).split())  # thrift's words end with a newline
        raise damaged(store, path, reason) from None
    if weights is not None and table.column("weights").unique().to_pylist() not in ([weights], []):
        raise of_another(store, path, weights)
    return table


def of_another(store: Store, path: str, weights: str) -> InputError:
    """Return the error that a file in the folder of a checkpoint holds cells of another one."""
    return damaged(store, path, f"it holds cells of a checkpoint other than {weights}")


def damaged(store: Store, path: str, reason: str) -> InputError:
    """Return the error that a file of cells is damaged."""
    return InputError(f"{store.uri(path)} is damaged ({reason}); {REMEDY}")


def check_cells(store: Store, folder: str) -> list[str]:
    """Return one line for each damaged file of cells in the folder of this name, which begins its checkpoint's hash."""
    problems = []
    for name in store.files(f"{paths.CELLS}/{folder}"):
        path = f"{paths.CELLS}/{folder}/{name}"
        try:
            cells = cells_of(table_in(store, path, store.read(path)))
        except FileNotFoundError:
            continue  # removed since it was listed
        except InputError as error:
            problems.append(str(error))
            continue
        if path not in {_place(weights, cells) for weights in {cell.weights for cell in cells}}:
            problems.append(str(damaged(store, path, "it holds other cells than its name says")))
    return problems


def _place(weights: str, cells: Sequence[Cell]) -> str:
    """Return the path of the file that holds these cells of a checkpoint."""
    return paths.cells_file(weights, fingerprint((FORMAT, weights, *sorted(cell.place for cell in cells))))
