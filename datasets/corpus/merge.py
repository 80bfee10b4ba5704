"""Merging: many small runs of a period become fewer large ones, before its parts are collected from them.

Every archive leaves a run of its own, and a part reads a slice of each run of its period. A row group is the smallest
unit that can be decoded, so with thousands of runs a part would open thousands of files, and decode a whole group of
each for a single document. Runs are merged in batches, level by level, until no period has more than FAN_IN runs:

    level = 0
    while todo := batches(groups, level):
        groups = merged(groups, (merge(store, folder, batch) for batch in todo))
        level += 1

The parts of a period keep their bounds, their documents and their order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.corpus.parts import collect, parts_of, period_folder
from ticlm.datasets.corpus.sorted_runs import Group, Row, writing_run

FAN_IN = 128
"""Most runs that a part or a merge reads. A part decodes about one row group of each besides its own bytes."""
MERGED_BYTES = 1 << 30
"""Text of a merged run, or more if a month has so much that it would keep more than FAN_IN runs. A merge holds one part
and a row group of each run in memory, whatever the size of the run that it writes."""

TASK_BYTES = 1 << 30
"""Memory of a merge."""


class MergeBatch(Settings):
    """Row groups of one period, in several runs, that become one run."""

    period: str
    level: int
    number: int
    groups: tuple[Group, ...]

    @property
    def runs(self) -> tuple[str, ...]:
        return tuple(sorted({group.run for group in self.groups}))


class Merged(Settings):
    """The result of a merge: the `groups` of the new run replace the period's groups in `runs`. `batch` is the
    fingerprint of the batch."""

    batch: str
    period: str
    runs: tuple[str, ...]
    groups: tuple[Group, ...]


def batches(groups: Sequence[Group], level: int) -> list[MergeBatch]:
    """Return the batches to merge at this level, by period and by the names of runs; none if no period has more than
    FAN_IN runs. Each batch has at least two runs, so every level leaves fewer; large runs are not written again."""
    periods: dict[str, dict[str, list[Group]]] = {}
    for group in groups:
        periods.setdefault(group.period, {}).setdefault(group.run, []).append(group)
    return [
        MergeBatch(
            period=period, level=level, number=number, groups=tuple(group for run in names for group in runs[run])
        )
        for period, runs in sorted(periods.items())
        for number, names in enumerate(_batched({run: sum(g.bytes for g in mine) for run, mine in runs.items()}))
    ]


def _batched(sizes: Mapping[str, int]) -> Iterator[list[str]]:
    """Yield the names of the runs of each batch, given the sizes of all runs of a period.

    Two neighbouring batches are together larger than the limit. The limit is chosen so that fewer than FAN_IN batches
    remain if only size ends a batch, and that fewer than FAN_IN / 2 runs exceed it: so at least two runs can be merged.
    """
    if len(sizes) <= FAN_IN:
        return
    limit = max(MERGED_BYTES, 2 * sum(sizes.values()) // FAN_IN)
    batch: list[str] = []
    size = 0
    for run in sorted(run for run in sizes if sizes[run] < limit):
        if len(batch) == FAN_IN or (len(batch) > 1 and size + sizes[run] > limit):
            yield batch
            batch, size = [], 0
        batch.append(run)
        size += sizes[run]
    if len(batch) > 1:
        yield batch


def merge(store: Store, folder: str, batch: MergeBatch) -> Merged:
    """Write the documents of a batch as one run into its period's folder, then its summary, and return that.

    If the summary of the same batch is there, nothing is done again. The bytes follow from the batch alone.
    """
    path = f"{period_folder(folder, batch.period)}/merged/{batch.level}-{batch.number:05d}"
    key = fingerprint(batch)
    if store.exists(f"{path}.json"):
        standing = Merged.model_validate(store.read_json(f"{path}.json"))
        if standing.batch == key:
            return standing
        store.remove(f"{path}.json")  # of a build that was given up, for other inputs
    with writing_run(store, f"{path}.parquet") as run:
        for part in parts_of([batch.period], batch.groups)[batch.period]:
            table = collect(store, part.spans, part.low, part.high)
            run.write(batch.period, [Row(*values) for values in zip(*(column.to_pylist() for column in table.columns))])
    done = Merged(batch=key, period=batch.period, runs=batch.runs, groups=tuple(run.groups))
    store.write(f"{path}.json", done.model_dump_json().encode())
    return done


def merged(groups: Sequence[Group], results: Iterable[Merged]) -> list[Group]:
    """Return the groups after a level, with the groups of new runs in the place of the groups of merged runs. The order
    of `results` does not matter."""
    done = sorted(results, key=lambda one: (one.period, one.runs))
    gone = {(one.period, run) for one in done for run in one.runs}
    left = [group for group in groups if (group.period, group.run) not in gone]
    return left + [group for one in done for group in one.groups]
