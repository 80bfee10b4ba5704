"""Cells as columns: a file's values are refused as those of a cell are."""

from __future__ import annotations

import io
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from ticlm.platform.tasks.cells.cell import Cell
from ticlm.platform.tasks.cells.columns import cells_of, encoded, from_parquet, schema, to_parquet

GOOD: dict[str, Any] = {
    **{"weights": "w" * 16, "task": "toy@1", "axis": "period", "evaluated": "202301", "source": "", "kind": "value"},
    **{"metric": "nll", "value": -1.5, "n": 0, "stderr": None, "key": "k"},
}


@pytest.mark.parametrize(
    "change",
    [
        *({}, {"stderr": 0.0}, {"kind": "left out", "metric": "no answer"}, {"axis": "probe", "source": "wiki"}),
        *({"weights": "w" * 15}, {"axis": "month"}, {"kind": ""}, {"n": -1}),
        *({"value": float("nan")}, {"value": float("inf")}, {"stderr": -0.1}, {"stderr": float("nan")}),
    ],
)
def test_a_file_may_hold_what_a_cell_may(change: dict[str, Any]) -> None:
    row = GOOD | change
    sink = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([GOOD, row, GOOD], schema()), sink)
    try:
        cell = Cell.model_validate(row)
    except ValidationError as error:
        with pytest.raises(ValueError, match=f"^{error.error_count()} values are not allowed"):
            from_parquet(sink.getvalue())
    else:
        assert cells_of(from_parquet(sink.getvalue()))[1] == cell


def test_cells_come_back_as_they_were_with_each_text_once_in_memory() -> None:
    cells = [Cell.model_validate(GOOD | {"evaluated": label, "value": float(label)}) for label in ("1", "2", "1")]
    table = from_parquet(to_parquet(cells))
    assert cells_of(table) == cells
    small = encoded(table)
    assert cells_of(small, "w" * 16) == cells
    assert len(small.column("evaluated").chunk(0).dictionary) == 2
