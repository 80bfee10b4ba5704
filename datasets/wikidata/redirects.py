"""Redirects of a dump of Wikidata: the item that each merged item became a part of."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ticlm.core.store import Store

CIRCLE = "redirect in a circle"
_NUMBER = re.compile(r"Q([0-9]{1,18})")
"""Ids whose number fits into 64 bits."""


def number_of(item: str) -> int | None:
    """Return the number in the id of an item; None for other keys, such as the keys of literals."""
    match = _NUMBER.fullmatch(item)
    return None if match is None else int(match[1])


def _none() -> NDArray[np.int64]:
    return np.empty(0, np.int64)


@dataclass(frozen=True, eq=False)
class Redirects:
    """Merged items and what they were merged into: int64[n] each, `sources` in rising order, without chains.

    Five million redirects, about as many as Wikidata has, are 80 MB.
    """

    sources: NDArray[np.int64] = field(default_factory=_none)
    targets: NDArray[np.int64] = field(default_factory=_none)

    def __len__(self) -> int:
        return len(self.sources)

    def of(self, item: str) -> str:
        """Return the id of what an item was merged into; any other key is returned as it is."""
        if not len(self.sources) or (number := number_of(item)) is None:
            return item
        at = int(np.searchsorted(self.sources, number))
        found = at < len(self.sources) and self.sources[at] == number
        return f"Q{self.targets[at]}" if found else item


def followed(rows: NDArray[np.int64]) -> tuple[Redirects, int]:
    """Return the redirects in `rows`, int64[2, n] of sources and targets, with every chain followed to its end.

    Redirects that lead into a circle are left out; their number is returned too. Of several redirects of one item,
    the one with the lowest target counts. Each pass doubles the steps that were followed, so a chain of n redirects
    takes log2(n) passes.
    """
    order = np.lexsort((rows[1], rows[0]))
    sources, targets = rows[0][order], rows[1][order]
    first = np.append(True, sources[1:] != sources[:-1])[: len(sources)]
    sources, targets = sources[first], targets[first]
    places = _places(sources, targets)
    unfinished = np.flatnonzero(places >= 0)
    for _ in range(len(sources).bit_length() + 1):
        targets[unfinished] = targets[places[unfinished]]
        places[unfinished] = _places(sources, targets[unfinished])
        unfinished = unfinished[places[unfinished] >= 0]
    ends = places < 0
    return Redirects(sources[ends], targets[ends]), len(unfinished)


def _places(sources: NDArray[np.int64], items: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each item stands among the sorted sources: int64[n], -1 if it does not."""
    if not len(sources):
        return np.full(len(items), -1)
    at = np.minimum(np.searchsorted(sources, items), len(sources) - 1)
    return np.where(sources[at] == items, at, -1)


def write(store: Store, path: str, rows: Iterable[Sequence[int]] | NDArray[np.int64]) -> None:
    """Write sources and targets, [2, n], as a file of numpy."""
    file = io.BytesIO()
    np.save(file, np.asarray(rows, np.int64).reshape(2, -1))
    store.write(path, file.getvalue())


def read(store: Store, path: str) -> NDArray[np.int64]:
    """Return what `write` wrote: int64[2, n]."""
    rows: NDArray[Any] = np.load(io.BytesIO(store.read(path)), allow_pickle=False)
    return rows.astype(np.int64, copy=False)


def load(store: Store, path: str) -> Redirects:
    """Return the followed redirects that were written to a file."""
    sources, targets = read(store, path)
    return Redirects(sources, targets)
