"""Samples by hash: of many examples those with the smallest hashes, chosen by the tasks of a build and then merged."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby, islice
from typing import Any

from ticlm.core.examples import Example
from ticlm.datasets.io.buckets import Buckets

ALL = 1 << 62
"""Stands for no largest number."""
RUN_BYTES = 256 << 10
"""Bytes of examples that are held of each writer while the examples of all are merged."""
Value = dict[str, Any]


class Smallest:
    """The `most` values with the smallest hashes among all that were added."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._heap: list[tuple[int, str, Value]] = []

    def add(self, number: int, value: Value) -> bool:
        """Add a value with its hash; return False if the hash is too large for the value to be kept."""
        entry = (-number, str(value["id"]), value)
        if len(self._heap) < self._most:
            heapq.heappush(self._heap, entry)
            return True
        if entry[:2] < self._heap[0][:2]:
            return False
        heapq.heapreplace(self._heap, entry)
        return True

    def in_order(self) -> list[tuple[int, Value]]:
        """Return (hash, value) of the values that are kept, smallest hash first."""
        return [(-number, value) for number, _, value in sorted(self._heap, key=lambda entry: entry[:2], reverse=True)]

    def stage(
        self, into: Buckets, writer: str, about: Mapping[str, Any], articles: frozenset[str] | None = None
    ) -> None:
        """Write the values that are kept, smallest hash first, to buckets of one, as StagedExamples reads them; if
        `articles` are given, only the values about them."""
        with into.writing(writer, RUN_BYTES) as rows:
            for at, value in self.in_order():
                if articles is None or value["about"]["article"] in articles:
                    rows.add("", value | {"hash": at})
            rows.about = dict(about)


@dataclass(frozen=True)
class StagedExamples:
    """The `most` examples with the smallest hashes among those that writers staged, in the order of the hashes.

    Each iteration merges the writers' sorted files again and holds one row group of each writer in memory.
    """

    staged: Buckets
    writers: tuple[str, ...]
    most: int = ALL
    articles: frozenset[str] | None = None
    """Page ids of the articles whose examples are taken; None takes all."""

    def __iter__(self) -> Iterator[Example]:
        for value in self.values():
            yield Example(**value)

    def values(self) -> Iterator[Value]:
        """Yield the fields of each example."""
        with ExitStack() as stack:
            here = stack.enter_context(self.staged.local())
            runs = [self._run(here, writer) for writer in self.writers]
            yield from islice(_merged(runs), self.most)

    def count(self) -> int:
        """Read all examples and return their number."""
        return sum(1 for _ in self.values())

    def _run(self, here: Buckets, writer: str) -> Iterator[Value]:
        for value in here.read_groups(0, writer):
            if self.articles is None or value["about"]["article"] in self.articles:
                yield value


def _merged(runs: list[Iterator[Value]]) -> Iterator[Value]:
    """Yield the values of all runs in the order of Smallest, without their hashes."""
    for _, tied in groupby(heapq.merge(*runs, key=_hash), key=_hash):
        for value in sorted(tied, key=lambda value: str(value["id"]), reverse=True):
            yield {name: field for name, field in value.items() if name != "hash"}


def _hash(value: Value) -> int:
    number: int = value["hash"]
    return number
