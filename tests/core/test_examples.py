"""Examples on disk: fields that came later come back, and files of sets without them stay as they were."""

from __future__ import annotations

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ticlm.core.errors import InputError
from ticlm.core.examples import (
    MASK,
    Example,
    Examples,
    ExamplesInfo,
    PeriodExamples,
    publish,
    to_parquet,
    write_parquet,
)
from ticlm.core.integrity import files
from ticlm.core.periods import Period, span
from ticlm.core.store import Store

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


@dataclass(frozen=True)
class Numbered:
    """So many examples, made anew each time; from number `since` on, they have a question."""

    count: int
    since: int

    def __iter__(self) -> Iterator[Example]:
        for number in range(self.count):
            yield Example(f"{number}", "text " * (number % 700), question="?" if number >= self.since else None)


@pytest.mark.parametrize(("count", "since"), [(0, 0), (1, 0), (1024, 0), (1025, 1024), (2600, 2599), (2600, 9999)])
def test_examples_that_are_streamed_have_the_bytes_of_one_table(count: int, since: int) -> None:
    asked = count > since
    rows = [
        {"id": e.id, "text": e.text, "aliases": [], "choices": [], "source": "", "about": "{}"}
        | ({"question": e.question} if asked else {})
        for e in Numbered(count, since)
    ]
    schema = OLD.append(pa.field("question", pa.string())) if asked else OLD
    whole, streamed = io.BytesIO(), io.BytesIO(b"of an earlier attempt" * 99999)
    pq.write_table(pa.Table.from_pylist(rows, schema), whole, compression="zstd", row_group_size=1024)
    assert write_parquet(streamed, Numbered(count, since)) == count
    assert streamed.getvalue() == whole.getvalue()


def test_examples_that_can_be_read_only_once_are_refused() -> None:
    with pytest.raises(TypeError, match="iterable more than once"):
        to_parquet(iter([PLAIN]))


def test_examples_go_into_a_bucket_as_they_go_onto_a_disk(tmp_path: Path) -> None:
    (start, end), found = span("202301"), []
    for store in (Store(tmp_path), Store(f"memory://{tmp_path.name}")):
        period = PeriodExamples(period=Period(label="202301", start=start, end=end), subsets={})
        published = publish(store, period, {"new": Numbered(1500, 1200), "old": Numbered(2, 0)})
        found.append(published.subsets)
        several = list(Examples(store, ExamplesInfo(name="x", version="1", recipe="")).read("202301", "new"))
        assert several == list(Numbered(1500, 1200))
    assert found[0] == found[1] and found[0]["new"].rows == 1500


def test_a_file_that_is_not_held_as_a_whole_is_checked_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "WHOLE_BYTES", 0)
    store, (start, end) = Store(tmp_path), span("202301")
    publish(store, PeriodExamples(period=Period(label="202301", start=start, end=end), subsets={}), {"new": [PLAIN]})
    found = Examples(store, ExamplesInfo(name="x", version="1", recipe=""))
    assert list(found.read("202301", "new")) == [PLAIN]
    (path,) = tmp_path.rglob("new.parquet")
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(InputError, match=r"new\.parquet: its hash differs from the record's; remove"):
        list(found.read("202301", "new"))
