"""Staging: what was read lies on the store in sorted runs, until the periods it belongs to are built.

A document's place among those of its period is a hash (`Recipe.place_in_order`), and every run is sorted by it. So a
stretch of the order can be collected from all runs with a bounded amount of memory, and what it holds depends neither
on who read what nor on when.
"""

from __future__ import annotations

import io
import itertools
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import Field

from ticlm.datasets.documents import Bad, Document, Piece
from ticlm.datasets.filters import passed
from ticlm.datasets.recipe import Recipe
from ticlm.platform.mixture import Split
from ticlm.platform.settings import Settings, fingerprint
from ticlm.platform.store import Store

RUN_BYTES = 64 << 20
GROUP_BYTES = 1 << 20
END_OF_ORDER = 1 << 64
OUTSIDE = "outside the calendar"
SPLITS: tuple[Split, ...] = ("train", "eval", "tune")


class _Row(NamedTuple):
    split: int
    order: int
    tie: int
    source: str
    text: str


_SCHEMA = pa.schema(
    [
        ("split", pa.int8()),
        ("order", pa.uint64()),
        ("tie", pa.uint64()),
        ("source", pa.string()),
        ("text", pa.large_string()),
    ]
)


class Group(Settings):
    """A row group of a staged run: documents of one period, which stand between `low` and `high` in its order."""

    run: str
    group: int
    period: str
    documents: int
    bytes: int
    low: int
    high: int


class Tally(Settings):
    """Documents read that belong to one period (or to none), and those left out among them, by reason."""

    read: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)

    @staticmethod
    def sum(tallies: Sequence[Tally]) -> Tally:
        dropped: Counter[str] = Counter()
        for tally in tallies:
            dropped.update(tally.dropped)
        return Tally(read=sum(t.read for t in tallies), dropped=dict(sorted(dropped.items())))


class Scan(Settings):
    """What reading a piece found. `bad` and `first` count what was wrong with records, and say where it was first."""

    piece: Piece
    periods: dict[str, Tally]
    nowhere: Tally
    bad: dict[str, int]
    first: dict[str, str]
    groups: tuple[Group, ...]
    sources: tuple[str, ...]


def scan_key(recipe: Recipe, piece: Piece) -> str:
    """Name of a scan: the same piece of the same input under the same calendar is read once."""
    return fingerprint((piece, recipe.periods.last))[:24]


def scan(store: Store, folder: str, recipe: Recipe, piece: Piece) -> Scan:
    """Read a piece, stage its documents below `folder`, and leave a summary there that says so, last of all."""
    key = scan_key(recipe, piece)
    staged = _Runs(store, f"{folder}/{key}")
    read: Counter[str | None] = Counter()
    dropped: dict[str | None, Counter[str]] = {}
    bad: Counter[str] = Counter()
    first: dict[str, str] = {}
    for outcome in recipe.reader.read(piece):
        period = None if outcome.timestamp is None else recipe.periods.place(outcome.timestamp)
        label = None if period is None else period.label
        read[label] += 1
        reason = _staged(staged, recipe, label, outcome)
        if reason is not None:
            dropped.setdefault(label, Counter())[reason] += 1
        if isinstance(outcome, Bad):
            bad[outcome.reason] += 1
            first.setdefault(outcome.reason, outcome.where)
    staged.flush()
    tallies = {label: Tally(read=n, dropped=dict(dropped.get(label, {}))) for label, n in read.items()}
    done = Scan(
        piece=piece,
        nowhere=tallies.pop(None, Tally()),
        periods={label: tally for label, tally in tallies.items() if label is not None},
        bad=dict(bad),
        first=first,
        groups=tuple(staged.groups),
        sources=tuple(sorted(staged.sources)),
    )
    store.write(f"{folder}/{key}.json", done.model_dump_json().encode())
    return done


def _staged(staged: _Runs, recipe: Recipe, label: str | None, outcome: Document | Bad) -> str | None:
    """Stage a document, or say why it is left out."""
    if isinstance(outcome, Bad) and outcome.timestamp is None:
        return outcome.reason
    if label is None:
        return OUTSIDE
    if isinstance(outcome, Bad):
        return outcome.reason
    kept = passed(outcome, recipe.filters)
    if isinstance(kept, str):
        return kept
    split = SPLITS.index(recipe.splits.of(kept.id))
    staged.add(label, _Row(split, *recipe.place_in_order(kept), kept.source, kept.text))
    return None


class _Runs:
    """Documents collected until they fill a run, then sorted and written; so memory is bounded by a run."""

    def __init__(self, store: Store, prefix: str) -> None:
        self.store, self.prefix = store, prefix
        self.groups: list[Group] = []
        self.sources: set[str] = set()
        self._rows: dict[str, list[_Row]] = {}
        self._size = 0
        self._runs = 0

    def add(self, label: str, row: _Row) -> None:
        self._rows.setdefault(label, []).append(row)
        self.sources.add(row.source)
        self._size += len(row.text)
        if self._size >= RUN_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._rows:
            return
        path = f"{self.prefix}-{self._runs:04d}.parquet"
        sink = io.BytesIO()
        with pq.ParquetWriter(sink, _SCHEMA, compression="zstd", compression_level=1, use_dictionary=["source"]) as out:
            number = 0
            for label in sorted(self._rows):
                for rows in _cut(sorted(self._rows[label], key=lambda row: (row.order, row.tie))):
                    arrays = [pa.array(values, field.type) for values, field in zip(zip(*rows), _SCHEMA)]
                    out.write_table(pa.Table.from_arrays(arrays, schema=_SCHEMA), row_group_size=len(rows))
                    self.groups.append(_group(path, number, label, rows))
                    number += 1
        self.store.write(path, sink.getvalue())
        self._rows, self._size, self._runs = {}, 0, self._runs + 1


def _group(run: str, number: int, period: str, rows: Sequence[_Row]) -> Group:
    size = sum(len(row.text.encode()) for row in rows)
    low, high = rows[0].order, rows[-1].order
    return Group(run=run, group=number, period=period, documents=len(rows), bytes=size, low=low, high=high)


def _cut(rows: list[_Row]) -> Iterator[list[_Row]]:
    begin = size = 0
    for at, row in enumerate(rows, 1):
        size += len(row.text)
        if size >= GROUP_BYTES or at == len(rows):
            yield rows[begin:at]
            begin, size = at, 0


class Span(NamedTuple):
    """Consecutive row groups of a run."""

    run: str
    first: int
    last: int


def spans(groups: Sequence[Group], low: int, high: int) -> tuple[Span, ...]:
    """Where the documents are that stand in [low, high) of a period's order; `groups` are those of the period."""
    numbers: dict[str, list[int]] = {}
    for group in groups:
        if group.high >= low and group.low < high:
            numbers.setdefault(group.run, []).append(group.group)
    return tuple(Span(run, min(found), max(found)) for run, found in sorted(numbers.items()))


def collect(store: Store, where: Sequence[Span], low: int, high: int) -> pa.Table:
    """The documents of these row groups that stand in [low, high), in their order."""
    tables = []
    for run, first, last in where:
        with store.fs.open(store.path(run), "rb") as raw:
            table = pq.ParquetFile(raw).read_row_groups(list(range(first, last + 1)), use_threads=False)
        within = pc.greater_equal(table["order"], pa.scalar(low, pa.uint64()))
        if high < END_OF_ORDER:
            within = pc.and_(within, pc.less(table["order"], pa.scalar(high, pa.uint64())))
        tables.append(table.filter(within))
    whole = pa.concat_tables(tables) if tables else _SCHEMA.empty_table()
    return whole.take(np.lexsort((whole["tie"].to_numpy(), whole["order"].to_numpy())))


def stretches(count: int) -> list[tuple[int, int]]:
    """The order in `count` equal stretches."""
    return list(itertools.pairwise(END_OF_ORDER * i // count for i in range(count + 1)))
