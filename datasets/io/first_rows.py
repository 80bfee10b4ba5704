"""A look at the first rows of a file, before a build reads all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

from ticlm.datasets.io.records import Record, Unusable, parquet, records

FIRST = 100  # JSON lines of which the keys are shown as columns
MOST_NAMES = 40


def first(path: str, names: Sequence[str]) -> Iterator[Record]:
    """Yield the records at the beginning of a file, in order; of Parquet, only columns of these names."""
    return (record for _, record in records(path, 0, None, names) if not isinstance(record, Unusable))


def columns(path: str) -> list[str]:
    """Return the names of a file's columns (of JSON lines: the keys of the first records), those of nested records
    with dots."""
    if path.endswith(".parquet"):
        import pyarrow as pa

        with parquet(path) as file:
            found = [
                name for field in file.schema_arrow for name in _dotted(field.name, field.type, pa.types.is_struct)
            ]
    else:
        found = [
            f"{key}.{inner}" if inner else key
            for record in islice(first(path, ()), FIRST)
            for key, value in record.items()
            for inner in (value if isinstance(value, dict) and value else [""])
        ]
    found = list(dict.fromkeys(found))
    return found if len(found) <= MOST_NAMES else [*found[:MOST_NAMES], "…"]


def _dotted(name: str, kind: Any, is_struct: Callable[[Any], bool]) -> list[str]:
    return [f"{name}.{kind.field(at).name}" for at in range(kind.num_fields)] if is_struct(kind) else [name]
