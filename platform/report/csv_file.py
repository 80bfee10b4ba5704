"""Frames as CSV, written column by column: a million cells take seconds, and a few rows at a time are held as text.

The bytes are those of `DataFrame.to_csv` with `float_format="%.9g"` and `lineterminator="\\n"`, after a quotation mark
was put before texts that a spreadsheet would run as a formula.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

FORMULA = re.compile(r"[=+\-@\t\r]")
SPECIAL = rf'^{FORMULA.pattern}|[",\n\r]|^ +$'
"""Texts that may stand in a file otherwise than they are: all others are copied without a call of Python."""
TEXTS = ("object", "str", "string")
ROWS = 1 << 16
"""Rows that are text at once: about 15 MB of results."""


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    """Write a table. A text that a spreadsheet would run as a formula gets a quotation mark before it, as OWASP advises
    (CSV injection); numbers stay as they are."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    if frame.shape[1] < 2:  # alone in its line, an empty field is written as ""
        alone = pd.DataFrame({_inert(name): list(map(_inert, frame[name])) for name in frame})
        alone.to_csv(path, index=False, float_format="%.9g", lineterminator="\n")
        return
    texts = [_texts(frame.iloc[:, place]) for place in range(frame.shape[1])]
    with path.open("w", encoding="utf-8", newline="") as file:
        file.write(",".join(_field(name) for name in frame.columns) + "\n")
        for first in range(0, len(frame), ROWS):
            columns = [text(slice(first, first + ROWS)) for text in texts]
            lines = pc.binary_join_element_wise(*columns, pa.scalar(",", pa.large_string()))
            file.write("\n".join(lines.to_pylist()) + "\n")


def _texts(column: pd.Series) -> Callable[[slice], pa.LargeStringArray]:
    """Return what gives the fields of some rows of a column."""
    import pandas as pd
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = str(column.dtype)
    if kind == "category":
        names = column.cat.categories
        if str(names.dtype) not in TEXTS:
            return _texts(pd.Series(list(column)))
        fields = pa.array([*(_field(name) for name in names), ""], pa.large_string())
        codes = np.where(column.cat.codes < 0, len(names), column.cat.codes)
        return lambda rows: fields.take(pa.array(codes[rows]))
    if kind in ("str", "string"):
        return lambda rows: _escaped(pc.fill_null(_array(column.iloc[rows]).cast(pa.large_string()), ""))
    if kind.lower().startswith("float"):
        numbers = column.to_numpy(float, na_value=np.nan)
        return lambda rows: pa.array(_numbers(numbers[rows]), pa.large_string())
    if kind.lower().startswith(("int", "uint")):
        return lambda rows: pc.fill_null(_array(column.iloc[rows]).cast(pa.large_string()), "")
    if kind == "object" and str((found := pd.Series(list(column))).dtype) != "object":
        return _texts(found)  # numbers alone, say
    return lambda rows: pa.array(_objects(column.iloc[rows]), pa.large_string())


def _array(column: pd.Series) -> pa.Array:
    """Return a column of a few rows in one piece; that of joined frames is in several."""
    import pyarrow as pa

    found = pa.array(column)
    return found.combine_chunks() if isinstance(found, pa.ChunkedArray) else found


def _numbers(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[str]:
    return ["" if value != value else f"{value:.9g}" for value in values.tolist()]


def _objects(column: pd.Series) -> list[str]:
    """Return the fields of a column that may hold values of any type."""
    return ["" if gone else _field(value) for value, gone in zip(column.tolist(), column.isna().tolist())]


def _escaped(texts: pa.LargeStringArray) -> pa.LargeStringArray:
    """Return texts as fields; Python looks at those alone that may need a quotation mark, and at each once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    special = pc.match_substring_regex(texts, SPECIAL)
    if not pc.any(special).as_py():
        return texts
    marked = texts.filter(special).dictionary_encode()
    fields = pa.array([_field(text) for text in marked.dictionary.to_pylist()], pa.large_string())
    return pc.replace_with_mask(texts, special, fields.take(marked.indices))


def _inert(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and FORMULA.match(value) else value


def _field(value: object) -> str:
    """Return a value as one field of a line, with what csv puts around it."""
    line = io.StringIO()
    csv.writer(line, lineterminator="\n").writerow([_inert(value), ""])
    return line.getvalue().removesuffix(",\n")
