"""Examples on disk: fields that came later come back, and files of sets without them stay as they were."""

from __future__ import annotations

import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ticlm.platform.core.examples import (
    MASK,
    Example,
    Examples,
    ExamplesInfo,
    PeriodExamples,
    publish,
    to_parquet,
)
from ticlm.platform.core.periods import Period, span
from ticlm.platform.core.store import Store

OLD = pa.schema(
    [
        pa.field("id", pa.string()),
        pa.field("text", pa.string()),
        pa.field("answer", pa.string()),
        pa.field("aliases", pa.list_(pa.string())),
        pa.field("choices", pa.list_(pa.string())),
        pa.field("nouns", pa.list_(pa.struct([("start", pa.int32()), ("end", pa.int32())]))),
        pa.field("source", pa.string()),
        pa.field("about", pa.string()),
    ],
    {b"format": b"1"},
)
"""The columns of sets before examples had questions, outdated answers and marked words."""
PLAIN = Example("a", "The mayor is", "Ada", aliases=("A.",), nouns=((0, 3),), source="s", about={"k": "v"})
PROBE = Example("b", f"{MASK} leads.", "Ada", question="Who leads?", outdated=("Bo", "Cy"))
MARKED = Example("c", "Ada won 2", parts={"noun": (), "number": ((8, 9),), "a, b": ((0, 3), (4, 7))})


@pytest.mark.parametrize("examples", [[PLAIN], [PROBE], [PLAIN, PROBE], [], [MARKED], [PLAIN, MARKED]])
def test_later_fields_come_back(tmp_path: Path, examples: list[Example]) -> None:
    store, (start, end) = Store(tmp_path), span("202301")
    publish(store, PeriodExamples(period=Period(label="202301", start=start, end=end), subsets={}), {"new": examples})
    found = Examples(store, ExamplesInfo(name="x", version="1", recipe=""))
    assert list(found.read("202301", "new")) == examples


def test_a_set_that_needs_no_later_column_has_the_bytes_of_before() -> None:
    row = {
        **{"id": "a", "text": "The mayor is", "answer": "Ada", "aliases": ["A."], "choices": []},
        **{"nouns": [{"start": 0, "end": 3}], "source": "s", "about": '{"k": "v"}'},
    }
    before = io.BytesIO()
    pq.write_table(pa.Table.from_pylist([row], OLD), before, compression="zstd", row_group_size=1024)
    assert to_parquet([PLAIN]) == before.getvalue()
    assert to_parquet([PLAIN, PROBE]) != to_parquet([PLAIN])


@pytest.mark.parametrize(
    ("example", "more"),
    [
        (Example("a", "t", question="?"), ["question"]),
        (PROBE, ["question", "outdated"]),
        (MARKED, ["parts"]),
    ],
)
def test_a_file_has_the_later_columns_that_its_examples_use(example: Example, more: list[str]) -> None:
    names = pq.read_schema(io.BytesIO(to_parquet([PLAIN, example]))).names
    assert names == [*OLD.names, *more]
