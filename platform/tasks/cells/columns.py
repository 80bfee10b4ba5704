"""Cells as Arrow tables: the columns of their files, which values these may have, and the way to cells and back."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, get_args

from ticlm.platform.tasks.cells.cell import Axis, Cell, Kind

if TYPE_CHECKING:
    import pyarrow as pa

FORMAT = 2
"""Version of the columns of a file."""
REPEATED = ("task", "axis", "evaluated", "source", "kind", "metric")
"""Columns of few different texts. Tables in memory have each text once."""
WEIGHTS_CHARACTERS = 16
"""The shortest name of weights: the folder of a checkpoint's cells has so many characters of it."""


def schema() -> pa.Schema:
    """Return the columns of a file of cells."""
    import pyarrow as pa

    kinds = {"value": pa.float64(), "n": pa.int64(), "stderr": pa.float64()}
    fields = [pa.field(name, kinds.get(name, pa.string()), name == "stderr") for name in Cell.model_fields]
    return pa.schema(fields, {b"format": str(FORMAT).encode()})


def to_parquet(cells: Sequence[Cell]) -> bytes:
    """Return the bytes of a file with these cells in their order."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    table = pa.Table.from_pylist([cell.model_dump() for cell in cells], schema())
    pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
    return sink.getvalue()


def from_parquet(data: bytes) -> pa.Table:
    """Return the table in a file of cells, whose values are all allowed.

    Raises ValueError, OSError or ArrowException if the file is damaged.
    """
    import pyarrow.parquet as pq

    # ParquetFile, not read_table: a dataset would take `=` in a path for a partition.
    # Without threads: a short command could end before they have started, and be aborted.
    file = pq.ParquetFile(io.BytesIO(data), page_checksum_verification=True, pre_buffer=False)
    table = file.read(use_threads=False)
    if not table.schema.equals(schema(), check_metadata=True):
        raise ValueError(f"its columns are not those of format {FORMAT}")
    if wrong := _not_allowed(table):
        raise ValueError(f"{wrong} values are not allowed")
    return table


def cells_of(table: pa.Table, weights: str = "") -> list[Cell]:
    """Return the rows of a table, whose values are known to be allowed, as cells; `weights` are theirs where the table
    has none."""
    return [Cell.model_construct(**{"weights": weights} | row) for row in table.to_pylist()]


def encoded(table: pa.Table) -> pa.Table:
    """Return a table of a file without its weights, and with each text of the REPEATED columns once."""
    import pyarrow as pa

    columns = {
        name: table.column(name).dictionary_encode() if name in REPEATED else table.column(name)
        for name in table.column_names
        if name != "weights"
    }
    return pa.table(columns)


def _not_allowed(table: pa.Table) -> int:
    """Return how many values of a table a cell cannot have (`Cell` says the same of one cell)."""
    import pyarrow as pa
    import pyarrow.compute as pc

    value, stderr = table.column("value"), table.column("stderr")
    allowed = (
        pc.greater_equal(pc.utf8_length(table.column("weights")), WEIGHTS_CHARACTERS),
        pc.is_in(table.column("axis"), pa.array(get_args(Axis))),
        pc.is_in(table.column("kind"), pa.array(get_args(Kind))),
        pc.is_finite(value),
        pc.greater_equal(table.column("n"), 0),
        pc.fill_null(pc.and_(pc.is_finite(stderr), pc.greater_equal(stderr, 0.0)), True),
    )
    return sum(table.num_rows - int(pc.sum(one).as_py() or 0) for one in allowed)
