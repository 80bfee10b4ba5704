"""Parquet files behind a URI, of which a part is read: their footers, and some row groups in a seeded order."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from ticlm.core.errors import InputError
from ticlm.datasets.hub import share
from ticlm.datasets.io import records
from ticlm.datasets.io.documents import Fields
from ticlm.datasets.io.fetching import Unreachable, opened
from ticlm.datasets.io.records import BadRecord, Record

TAIL = 8
"""Bytes behind a footer: its length and PAR1."""


def rows(
    url: str, columns: Sequence[str], fields: Fields, key: tuple[int, str], purse: share.Purse | None
) -> Iterator[tuple[int, Record | BadRecord]]:
    """Yield (row, record) of the row groups that may hold text that the purse still pays for, in the order of the
    sha256 of `key` (seed and path) and their number; of all of them without a purse. Only what is read is fetched."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        with opened(url, thrifty=True) as raw:
            metadata = _footer(raw)
            file = pq.ParquetFile(raw, metadata=metadata, page_checksum_verification=True)
            labels: list[share.Labels] = []
            before = [0]
            for group in range(metadata.num_row_groups):
                labels.append(share.group_labels(metadata, group, fields, purse.spans) if purse is not None else ())
                before.append(before[-1] + metadata.row_group(group).num_rows)
            if purse is not None:
                purse.mixed = all(len(mine) == len(purse.spans.labels) for mine in labels)
            for group in sorted(range(metadata.num_row_groups), key=lambda group: share.order(*key, group)):
                if purse is None or not purse.closed.issuperset(labels[group]):
                    yield from records.group_rows(file, group, columns, before[group])
    except Unreachable:
        raise
    except (pa.ArrowException, OSError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise InputError(f"{url} cannot be read: {error.strerror or error}") from None
        yield 1, BadRecord(records.BROKEN, 0)


def weights(url: str, fields: Fields, labels: share.Labels, cap: share.Cap) -> dict[str, float] | None:
    """Return how much of each period a file holds, by its footer; None if it is damaged. What a remote file, which is
    one of a commit, has said is kept. Raises Unreachable."""
    return (_kept_weights if "://" in url else _weights)(url, fields, tuple(labels), cap)


def _weights(url: str, fields: Fields, labels: share.Labels, cap: share.Cap) -> dict[str, float] | None:
    import pyarrow as pa

    try:
        with opened(url, thrifty=True) as raw:
            return share.weighed(_footer(raw), fields, labels, cap)
    except Unreachable:
        raise
    except (pa.ArrowException, OSError):
        return None


_kept_weights = cache(_weights)


def _footer(raw: Any) -> Any:
    """Return the footer of an open file, for which two small ranges are read: pyarrow would ask for 64 kB at once."""
    import pyarrow.parquet as pq

    size = raw.seek(0, io.SEEK_END)
    raw.seek(max(0, size - TAIL))
    tail = raw.read(TAIL)
    length = int.from_bytes(tail[:4], "little")
    raw.seek(max(0, size - TAIL - length))
    return pq.read_metadata(io.BytesIO(raw.read(length) + tail))
