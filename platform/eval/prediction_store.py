"""Predictions on disk: what a checkpoint answered to single examples, one Parquet file for the cells of a key.

    predictions/<weights[:16]>/<key[:32]>.parquet      columns id, text, exact, f1, rank
                                                       and numbers (as JSON), where a task keeps any

A file is written atomically, before its cells, so that no cell stands without the answers behind it.
"""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.tasks.base import Prediction

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = "numbers"


def write_predictions(store: Store, weights: str, key: str, predictions: Sequence[Prediction]) -> None:
    """Keep the answers behind the cells of a key; write nothing if there are none."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if predictions:
        sink = io.BytesIO()
        rows = [one._asdict() | {"numbers": json.dumps(dict(one.numbers), sort_keys=True)} for one in predictions]
        table = pa.Table.from_pylist(rows, _schema(any(one.numbers for one in predictions)))
        pq.write_table(table, sink, compression="zstd", write_page_checksum=True)
        store.write(paths.predictions_file(weights, key), sink.getvalue())


def read_predictions(store: Store, weights: str, key: str) -> list[Prediction]:
    """Return the answers behind the cells of a key, in the order of the examples; empty if none were kept.

    Raises InputError if their file is damaged.
    """
    path = paths.predictions_file(weights, key)
    return _read(store, path) if store.exists(path) else []


def check_predictions(store: Store, folder: str) -> list[str]:
    """Return one line for each damaged file of predictions in the folder of this name."""
    problems = []
    for name in store.files(f"{paths.PREDICTIONS}/{folder}"):
        try:
            _read(store, f"{paths.PREDICTIONS}/{folder}/{name}")
        except FileNotFoundError:
            continue  # removed since it was listed
        except InputError as error:
            problems.append(str(error))
    return problems


def _read(store: Store, path: str) -> list[Prediction]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    data = io.BytesIO(store.read(path))
    try:
        # without threads, as cells are read
        table = pq.ParquetFile(data, page_checksum_verification=True).read(use_threads=False)
        if not table.schema.equals(_schema(NUMBERS in table.column_names)):
            raise ValueError("it has other columns than predictions have")
        return [_prediction(row) for row in table.to_pylist()]
    except (OSError, ValueError, pa.ArrowException) as error:
        cells, reason = store.uri(paths.cells(path.split("/")[-2])), " ".join(str(error).split())
        raise InputError(
            f"{store.uri(path)} is damaged ({reason}); remove {cells} to score its checkpoint again"
        ) from None


def _prediction(row: dict[str, Any]) -> Prediction:
    if NUMBERS in row:
        row[NUMBERS] = json.loads(row[NUMBERS])
    return Prediction(**row)


def _schema(numbers: bool) -> pa.Schema:
    import pyarrow as pa

    kinds = {"exact": pa.float64(), "f1": pa.float64(), "rank": pa.int32()}
    names = [name for name in Prediction._fields if numbers or name != NUMBERS]
    return pa.schema([pa.field(name, kinds.get(name, pa.string())) for name in names])
