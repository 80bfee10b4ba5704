"""The loader: one stream of batches over the rounds of a chain, read by a thread of this process or by Ray Data actors.

Both carriers call `RankReader.read`, so both give the same rows. A stream can start at any round and step
without reading the rows before it.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ticlm.core.corpus import Corpus
from ticlm.core.mixture import Source
from ticlm.core.signals import next_of
from ticlm.core.token_rows import RowReader, Tokens
from ticlm.platform.study.round import Round, SourceCursor
from ticlm.platform.train.order import Draws, SegmentOrder, batches

PREFETCH = 4


@dataclass(frozen=True)
class RankBatch:
    """This rank's rows of one global batch: token ids, uint16 or uint32 [rows, length] per column."""

    round: int
    step: int
    columns: dict[str, Tokens]


@dataclass(frozen=True)
class LoaderSpec:
    """The settings of a stream. They are small, picklable, and the same on every rank except for `rank`.

    `corpora` maps the names in sources to URIs. If `last_visible_period` is given, the corpora are opened as
    views that end with it. `micro_rows` are the rows of a micro-batch; by default, each rank has one micro-batch.
    """

    rounds: tuple[Round, ...]
    corpora: Mapping[str, str]
    rank: int = 0
    world: int = 1
    last_visible_period: str | None = None
    micro_rows: int | None = None


class RankReader:
    """Reads the rows of a round's steps for one rank. Keeps the two newest row groups of every source."""

    def __init__(self, feed: LoaderSpec) -> None:
        self.feed = feed
        self._corpora = {name: Corpus.open(uri, feed.last_visible_period) for name, uri in feed.corpora.items()}
        self._readers: dict[Source, RowReader] = {}

    def read(self, round_: int, start: int = 0) -> Iterator[RankBatch]:
        """Yield the batches of a round from step `start` to its end."""
        spec = self.feed.rounds[round_]
        rows, rank, world = spec.recipe.batch_rows, self.feed.rank, self.feed.world
        mine = share(rows, self.feed.micro_rows or -(-rows // world), rank, world)
        for step, (sources, which, positions) in enumerate(self._order(spec, start), start):
            yield RankBatch(round_, step, self._take(sources, which[mine], positions[mine]))

    def rows(self, round_: int, step: int) -> dict[Source, list[int]]:
        """Return, for each source, the row positions of a step's global batch (for error messages)."""
        sources, which, positions = next(self._order(self.feed.rounds[round_], step))
        return {sources[k]: sorted(positions[which == k].tolist()) for k in np.unique(which)}

    def next_rows(self, cursor: SourceCursor, count: int) -> tuple[NDArray[np.int64], dict[str, Tokens]]:
        """Return the next `count` rows that a chain draws from a source after a cursor: their positions, int64[count],
        and token ids, uint16 or uint32 [count, length] per column."""
        draws = self._draws(cursor.source, cursor.seed)
        order = SegmentOrder((draws,), (cursor.rows,), (count,), 1, (cursor.window,))
        positions = order.positions(0, np.arange(cursor.rows, cursor.rows + count))
        return positions, self._reader(cursor.source).take(positions)

    def _order(
        self, spec: Round, start: int
    ) -> Iterator[tuple[Sequence[Source], NDArray[np.int64], NDArray[np.int64]]]:
        """Yield, for each step from `start`, the sources, each row's source number (int64[batch]) and each row's
        position in its source (int64[batch])."""
        segments = [
            self._segment(spec, number, segment.mixture.rows(segment.steps * spec.recipe.batch_rows))
            for number, segment in enumerate(spec.segments)
        ]
        for number, which, positions in batches(segments, spec.recipe.seed, _salt(spec.period), start):
            yield spec.segments[number].mixture.sources, which, positions

    def _segment(self, spec: Round, number: int, rows: Mapping[Source, int]) -> SegmentOrder:
        cursors = {d.source: d for d in spec.cursors}
        earlier: dict[Source, int] = {}
        for segment in spec.segments[:number]:
            for source, count in segment.mixture.rows(segment.steps * spec.recipe.batch_rows).items():
                earlier[source] = earlier.get(source, 0) + count
        return SegmentOrder(
            sources=tuple(self._draws(s, cursors[s].seed if s in cursors else spec.recipe.seed) for s in rows),
            before=tuple((cursors[s].rows if s in cursors else 0) + earlier.get(s, 0) for s in rows),
            rows=tuple(rows.values()),
            steps=spec.segments[number].steps,
            windows=tuple(cursors[s].window if s in cursors else None for s in rows),
        )

    def _draws(self, source: Source, seed: int) -> Draws:
        # 15 digits are 60 bits. Another salt is another order of rows: finished rounds have this one.
        manifest = self._corpora[source.corpus].split(source.period, source.split)
        return Draws(starts=self._reader(source).starts, seed=seed, salt=int(manifest.sha256[:15], 16))

    def _reader(self, source: Source) -> RowReader:
        if source not in self._readers:
            self._readers[source] = self._corpora[source.corpus].rows(source.period, source.split)
        return self._readers[source]

    def _take(
        self, sources: Sequence[Source], which: NDArray[np.int64], positions: NDArray[np.int64]
    ) -> dict[str, Tokens]:
        columns = self._corpora[sources[0].corpus].info.columns
        out: dict[str, Tokens] = {c.name: np.empty((len(which), c.length), c.dtype) for c in columns}
        for k in np.unique(which):
            mine = np.flatnonzero(which == k)
            self._reader(sources[k]).take_into(out, mine, positions[mine])
        return out


def share(batch_rows: int, micro_rows: int, rank: int, world: int) -> NDArray[np.int64]:
    """Return the numbers of the rows of a batch that are a rank's, int64[n].

    A micro-batch is `micro_rows` consecutive rows, the last one perhaps fewer; rank r of w takes the micro-batches r,
    r + w, r + 2w, … A rank may have one less than others, or none.
    """
    rows = np.arange(batch_rows, dtype=np.int64)
    return np.flatnonzero(rows // micro_rows % world == rank)


def _salt(period: str) -> int:
    """Return a number from a period's label: its last eight bytes, as many as a key of random numbers holds."""
    return int.from_bytes(period.encode()[-8:], "big")


def stream(feed: LoaderSpec, start: tuple[int, int], carrier: Literal["process", "ray-data"]) -> Iterator[RankBatch]:
    """Yield this rank's batches from (round, step) `start` to the end of the last round."""
    yield from _from_thread(feed, start) if carrier == "process" else _from_ray_data(feed, start)


def _all(feed: LoaderSpec, start: tuple[int, int]) -> Iterator[RankBatch]:
    reader = RankReader(feed)
    first, step = start
    for number in range(first, len(feed.rounds)):
        yield from reader.read(number, step if number == first else 0)


def _from_thread(feed: LoaderSpec, start: tuple[int, int]) -> Iterator[RankBatch]:
    """Yield batches that a thread reads ahead. Its errors are raised here; it ends when this generator is closed."""
    ready: queue.Queue[RankBatch | BaseException | None] = queue.Queue(PREFETCH)
    stop = threading.Event()

    def put(item: RankBatch | BaseException | None) -> None:
        while not stop.is_set():
            try:
                return ready.put(item, timeout=0.2)  # a consumer that is gone takes nothing: look at `stop`
            except queue.Full:
                continue

    def work() -> None:
        try:
            for batch in _all(feed, start):
                put(batch)
                if stop.is_set():
                    return
            put(None)
        except BaseException as error:
            put(error)

    threading.Thread(target=work, daemon=True, name="ticlm-reader").start()
    try:
        while (item := next_of(ready)) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item
    finally:
        stop.set()


class _Actor:
    """A Ray Data map worker: reads the steps of a block in order, and mixes the sources of each batch itself."""

    def __init__(self, feed: LoaderSpec) -> None:
        self.reader = RankReader(feed)
        self._at: tuple[int, int] | None = None
        self._batches: Iterator[RankBatch] = iter(())

    def __call__(self, block: dict[str, NDArray[Any]]) -> Iterator[dict[str, Any]]:
        for number, step in zip(block["round"].tolist(), block["step"].tolist()):
            if self._at != (number, step):
                self._batches = self.reader.read(number, step)
            batch = next(self._batches)
            self._at = (number, step + 1)
            rows = {f"column:{name}": values[None] for name, values in batch.columns.items()}
            yield {"round": np.array([number]), "step": np.array([step]), **rows}


def _from_ray_data(feed: LoaderSpec, start: tuple[int, int]) -> Iterator[RankBatch]:
    import ray.data

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.execution_options.preserve_order = True  # else blocks come in the order in which they are done
    first, step = start
    steps = [
        {"round": number, "step": s}
        for number in range(first, len(feed.rounds))
        for s in range(step if number == first else 0, feed.rounds[number].steps)
    ]
    if not steps:
        return
    dataset = ray.data.from_items(steps, override_num_blocks=max(1, len(steps) // 16)).map_batches(
        _Actor,
        fn_constructor_args=(feed,),
        batch_size=16,
        batch_format="numpy",
        compute=ray.data.ActorPoolStrategy(size=1),  # one reader, which goes on where the block before ended
        num_cpus=0,
    )
    for batch in dataset.iter_batches(batch_size=1, batch_format="numpy", prefetch_batches=PREFETCH):
        columns = {name[7:]: values[0] for name, values in batch.items() if name.startswith("column:")}
        yield RankBatch(int(batch["round"][0]), int(batch["step"][0]), columns)
