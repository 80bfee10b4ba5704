"""Files of spans: the spans of a part in the order of its tokens, and the spans of each row of a shard.

<staging>/periods/<period>/tokens/<part>.tags     one byte per token (`marking`)
<staging>/periods/<period>/tokens/<part>.spans    Parquet: text and label of each span of the part, in order
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ticlm.core.store import Store
from ticlm.core.token_rows import RowSpan
from ticlm.datasets.corpus.salient.marking import Marked

SCHEMA = pa.schema({"text": pa.string(), "label": pa.string()})
Place = tuple[str, int, int]
"""Spans of one set and source in the stream of a part: the stream's path, the first span's number, and their number."""


def write_part(store: Store, stream: str, documents: Iterable[Marked]) -> None:
    """Write the tags and the spans of the documents of a part beside its token stream."""
    tags: list[bytes] = []
    spans: list[RowSpan] = []
    for document in documents:
        tags.append(document.tags.tobytes())
        spans += document.spans
    store.write(tags_of(stream), b"".join(tags))
    columns = {name: [span[at] for span in spans] for at, name in enumerate(SCHEMA.names)}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns, SCHEMA), sink, compression="zstd", compression_level=1)
    store.write(_spans_of(stream), sink.getvalue())


def tags_of(stream: str) -> str:
    """Return the path of the tags beside a token stream."""
    return f"{stream}.tags"


def _spans_of(stream: str) -> str:
    return f"{stream}.spans"


def gathered(
    store: Store, places: Sequence[Place], firsts: NDArray[np.int64], counts: NDArray[np.int64]
) -> pa.ListArray:
    """Return the spans of each row: row i has `counts[i]` of them from number `firsts[i]` on, counted through all
    places."""
    offsets = np.concatenate([[0], np.cumsum(counts)])
    numbers = np.repeat(firsts - offsets[:-1], counts) + np.arange(offsets[-1])
    order = np.argsort(numbers, kind="stable")
    back = np.empty_like(order)
    back[order] = np.arange(len(order))
    table = pa.concat_tables([SCHEMA.empty_table(), *_taken(store, places, numbers[order])]).take(back)
    named = [table[name].combine_chunks() for name in SCHEMA.names]
    structs = pa.StructArray.from_arrays([_one(column) for column in named], fields=list(SCHEMA))
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs)


def _taken(store: Store, places: Sequence[Place], numbers: NDArray[np.int64]) -> Iterator[pa.Table]:
    """Yield the spans with these numbers, which are in order, from each place that has some of them."""
    at = 0
    for stream, first, count in places:
        low, high = np.searchsorted(numbers, [at, at + count])
        if high > low:
            table = pq.read_table(pa.BufferReader(store.read(_spans_of(stream))), use_threads=False)
            yield table.take(numbers[low:high] - at + first)
        at += count


def _one(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return pa.concat_arrays(column.chunks) if isinstance(column, pa.ChunkedArray) else column
