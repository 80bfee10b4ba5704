"""Splits that periods have decided, if a recipe's splits are by tokens: each period keeps those of all its documents.

    <corpus>/periods/<label>/<attempt>/splits.parquet    key, split: of each group or id (`Splits.place`), ascending

A document that an earlier period had stays in the split that it got there. Periods are decided from the oldest to the
newest, and none is added before one that stands, so the splits of a period follow from its documents and the periods
before it, whatever a build reads first, and however often it is interrupted.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from datetime import date
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity import remedies
from ticlm.core.integrity.files import read_checked
from ticlm.core.integrity.records import read_record
from ticlm.core.store import Store
from ticlm.datasets.corpus.splits import OPEN, Splits

FILE = "splits.parquet"


class Decided(NamedTuple):
    """The splits of documents: `keys`, uint64[documents], ascending and different, and `splits`, int8[documents], as
    places in SPLITS."""

    keys: NDArray[np.uint64]
    splits: NDArray[np.int8]

    def of(self, keys: NDArray[np.uint64]) -> NDArray[np.int8]:
        """Return the split of each of these keys, OPEN where it is not decided."""
        found = np.full(len(keys), OPEN, np.int8)
        if len(self.keys):
            at = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
            there = self.keys[at] == keys
            found[there] = self.splits[at[there]]
        return found

    def and_then(self, later: Decided) -> Decided:
        """Return these and those of a later period, which are the same where both have a document."""
        keys, first = np.unique(np.concatenate([self.keys, later.keys]), return_index=True)
        return Decided(keys, np.concatenate([self.splits, later.splits])[first])

    def as_bytes(self) -> bytes:
        sink = io.BytesIO()
        pq.write_table(pa.table({"key": self.keys, "split": self.splits}), sink, compression="zstd")
        return sink.getvalue()

    @staticmethod
    def of_bytes(data: bytes) -> Decided:
        table = pq.read_table(io.BytesIO(data), use_threads=False)
        return Decided(table["key"].to_numpy(), table["split"].to_numpy())


NONE = Decided(np.empty(0, np.uint64), np.empty(0, np.int8))


def recorded(store: Store, label: str) -> Decided:
    """Return the splits that a finished period of the corpus in `store` has decided. Raises InputError if they are
    missing or damaged."""
    folder = paths.period(label)
    record, remedy = read_record(store, folder), remedies.redone(store.uri(folder))
    named = [] if record is None else [file for file in record.files if file.path == FILE]
    if record is None or not named:
        raise InputError(f"{store.uri(folder)}: its record names no {FILE}; {remedy}")
    path = f"{paths.attempt(folder, record.attempt)}/{FILE}"
    return Decided.of_bytes(read_checked(store, named[0].model_copy(update={"path": path}), "the splits in", remedy))


class Decisions:
    """Decides the splits of periods, which come from the oldest to the newest; it holds nine bytes for each document
    of the corpus. `standing` are the starts of finished periods."""

    def __init__(self, store: Store, splits: Splits, standing: Mapping[str, date]) -> None:
        self.store, self.splits = store, splits
        self._waiting = sorted(standing.items(), key=lambda one: one[1], reverse=True)
        self._known = NONE

    def decide(self, start: date, documents: Sequence[tuple[NDArray[np.uint64], NDArray[np.int64]]]) -> Decided:
        """Return the splits of a period that starts then, given the keys and bytes of its documents, in any order."""
        while self._waiting and self._waiting[-1][1] < start:
            self._known = self._known.and_then(recorded(self.store, self._waiting.pop()[0]))
        each = np.concatenate([keys for keys, _ in documents])
        keys, whose = np.unique(each, return_inverse=True)
        sizes = np.zeros(len(keys), np.int64)
        np.add.at(sizes, whose, np.concatenate([size for _, size in documents]))
        found = Decided(keys, self.splits.decided(sizes, self._known.of(keys)))
        self._known = self._known.and_then(found)
        return found
