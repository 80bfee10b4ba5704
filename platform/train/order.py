"""The order of rows: which rows make up each step of a round, a pure function of the study and the corpus.

The order does not depend on workers, prefetching or restarts, or on how rows are loaded (`resources.carrier`). The
loader cuts a batch into micro-batches, for any number of workers the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ticlm.core.seeds import keyed

Ints = NDArray[np.int64]


def quotas(rows: Sequence[int], steps: int, start: int = 0) -> Iterator[Ints]:
    """Yield the number of rows of each source in step `start`, `start` + 1, …: int64[sources] per step.

    `rows[k]` is source k's total over all `steps`. Every step has sum(rows) / steps rows, and after each step every
    source is within one row of its exact share. This bound gives each row an earliest and a latest step. The row whose
    latest step comes first goes first (EDF scheduling). This always finds a schedule, because the exact shares are a
    valid schedule with fractions of rows. Raises ValueError if the rows do not make equal steps.
    """
    total = np.asarray(rows, dtype=np.int64)
    batch, rest = divmod(int(total.sum()), steps)
    if rest:
        raise ValueError(f"{total.sum()} rows do not make {steps} equal steps")
    taken = np.zeros_like(total)
    # with one source every step takes a whole batch of it; with several, a step follows from those before it
    first = start if len(total) == 1 else 0
    taken += first * batch
    for step in range(first, steps):
        # In whole numbers: a float of a share would be rounded, and a row could move to another step.
        floor = (step + 1) * total // steps
        ceiling = -((step + 1) * -total // steps)
        now = np.maximum(floor - taken, 0)
        open_to_more = np.nonzero(taken + now < ceiling)[0]
        missing = batch - int(now.sum())
        if missing:
            following = taken[open_to_more] + now[open_to_more] + 1
            deadline = -(following * -steps // total[open_to_more])
            # stable: of equal deadlines the first source goes first, whatever NumPy sorts by
            now[open_to_more[np.argsort(deadline, kind="stable")[:missing]]] += 1
        taken += now
        if step >= start:
            yield now


@dataclass(frozen=True)
class Draws:
    """The order in which the rows of one source are drawn: epoch after epoch.

    Each epoch is a permutation of the source's row groups and of the rows inside them, so that a reader needs one row
    group at a time.
    """

    starts: Ints
    """The first position of each group, then the number of rows."""
    seed: int
    """The seed of the chain's first round that used this source; later rounds go on in that order."""
    salt: int
    """A number from the hash of the source's shards, so that each source has an order of its own."""

    def __len__(self) -> int:
        return int(self.starts[-1])

    def positions(self, draws: Ints) -> Ints:
        """Return the row positions of these draws, int64[n] for `draws` int64[n]. Draw 0 is the first row that the
        chain ever drew."""
        out = np.empty_like(draws)
        epochs = draws // len(self)
        for epoch in np.unique(epochs):
            order, firsts = _group_order(self.starts.tobytes(), self.seed, self.salt, int(epoch))
            here = np.nonzero(epochs == epoch)[0]
            within = draws[here] - epoch * len(self)
            slots = np.searchsorted(firsts, within, side="right") - 1
            for slot in np.unique(slots):
                group = int(order[slot])
                begin, end = int(self.starts[group]), int(self.starts[group + 1])
                inner = _row_order(end - begin, self.seed, self.salt, int(epoch), group)
                chosen = slots == slot
                out[here[chosen]] = begin + inner[within[chosen] - firsts[slot]]
        return out


# Room for two epochs of each of 114 sources: where one ends, a step draws from both.
@lru_cache(maxsize=512)
def _group_order(starts: bytes, seed: int, salt: int, epoch: int) -> tuple[Ints, Ints]:
    """Return the order of a source's row groups in an epoch, int64[groups], and the draw at which each begins there."""
    sizes = np.diff(np.frombuffer(starts, dtype=np.int64))
    order = keyed(seed, salt, epoch, 0).permutation(len(sizes)).astype(np.int64)
    return order, np.concatenate([[0], np.cumsum(sizes[order])[:-1]]).astype(np.int64)


@lru_cache(maxsize=512)
def _row_order(rows: int, seed: int, salt: int, epoch: int, group: int) -> Ints:
    """Return the order of the rows of a group in an epoch, int64[rows]."""
    return keyed(seed, salt, epoch, 1, group).permutation(rows).astype(np.int64)


@dataclass(frozen=True)
class SegmentOrder:
    """The order of one segment: for each source its order, how many rows the chain took earlier (`before`), and how
    many this segment takes (`rows`).

    If a replay buffer keeps only part of a source, `windows` has (first draw, number of rows) of that part. It is drawn
    again and again, and `before` counts from its first draw.
    """

    sources: tuple[Draws, ...]
    before: tuple[int, ...]
    rows: tuple[int, ...]
    steps: int
    windows: tuple[tuple[int, int] | None, ...]

    def positions(self, source: int, counts: Ints) -> Ints:
        """Return the row positions of draws of a source, int64[n]. `counts` (int64[n]) are the numbers of the draws,
        counted from the window's first draw if there is a window, else from the first draw of the chain."""
        window = self.windows[source]
        return self.sources[source].positions(counts if window is None else window[0] + counts % window[1])


def batches(segments: Sequence[SegmentOrder], seed: int, salt: int, start: int = 0) -> Iterator[tuple[int, Ints, Ints]]:
    """Yield, for each step from `start`, the segment's number, each row's source number (int64[batch]) and each row's
    position in its source (int64[batch]).

    The order inside a batch is a permutation keyed by (seed, salt, step), so that sources are spread over the ranks.
    Here `salt` stands for the round's period.
    """
    first = 0
    for number, segment in enumerate(segments):
        skip = max(0, start - first)
        if skip < segment.steps:
            for which, positions in _segment(segment, first, skip, seed, salt):
                yield number, which, positions
        first += segment.steps


def _segment(segment: SegmentOrder, first: int, skip: int, seed: int, salt: int) -> Iterator[tuple[Ints, Ints]]:
    taken = np.asarray(segment.before, dtype=np.int64)
    begin = skip if len(segment.rows) == 1 else 0
    taken += begin * sum(segment.rows) // segment.steps
    for offset, now in enumerate(quotas(segment.rows, segment.steps, begin), begin):
        if offset >= skip:
            which = np.repeat(np.arange(len(now)), now)
            draws = np.concatenate([np.arange(taken[k], taken[k] + n) for k, n in enumerate(now)])
            positions = np.empty_like(draws)
            for k in np.nonzero(now)[0]:
                mine = which == k
                positions[mine] = segment.positions(int(k), draws[mine])
            order = keyed(seed, salt, first + offset).permutation(len(draws))
            yield which[order], positions[order]
        taken = taken + now
