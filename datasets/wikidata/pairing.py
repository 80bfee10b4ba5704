"""Steps of a wiki, each with the two dumps of Wikidata that are nearest in time to its two snapshots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise

from ticlm.core.accounting import Step
from ticlm.core.fingerprint import hash64
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.wiki.changed_texts import Split, WikiStep, by_passages, diffed
from ticlm.datasets.wiki.dumps import Snapshot, WikiDumps
from ticlm.datasets.wikidata.dumps import GROUP, Wikidata, WikidataDump
from ticlm.datasets.wikidata.statements import GROUPS, Statements, staged

Work = tuple[str, Sequence[int]]
"""The name of a task's writer, and the buckets that the task reads."""
DumpsOfStep = tuple[WikidataDump, WikidataDump]


@dataclass(frozen=True)
class PairedStep:
    """What changed between two snapshots of a wiki, and the older and the newer dump of Wikidata, staged."""

    wiki: WikiStep
    older: Statements
    newer: Statements

    @property
    def key(self) -> str:
        """A name for the staged data of the period that differs for other dumps and other buckets."""
        read = " ".join((self.wiki.buckets.folder, self.older.info_path, self.newer.info_path))
        return f"{self.wiki.period.label}-{hash64(read):016x}"

    @property
    def inputs(self) -> tuple[str, ...]:
        """The paths of all files that the step comes from."""
        files = [entry.path for snapshot in (self.wiki.old, self.wiki.new) for entry in snapshot.inputs]
        return tuple(dict.fromkeys((*files, *self.older.inputs, *self.newer.inputs)))


def groups(buckets: Buckets) -> list[Work]:
    """Return the names of the writers with the buckets that each reads."""
    return [(f"{first:05d}", tuple(range(first, buckets.count, GROUPS))) for first in range(min(GROUPS, buckets.count))]


def pairs(
    snapshots: Sequence[Snapshot], dumps: Sequence[WikidataDump], within_days: int
) -> tuple[dict[str, DumpsOfStep], Counter[str]]:
    """Return the older and the newer dump of each step by the label of its period, and the number of steps without
    them by reason.

    Each snapshot goes with the dump that is nearest in time, at most `within_days` away and not after the snapshot's
    month; the earlier one of two that are equally near.
    """
    paired: dict[str, DumpsOfStep] = {}
    unpaired: Counter[str] = Counter()
    for old, new in pairwise(snapshots):
        before, after = (_nearest(snapshot, dumps, within_days) for snapshot in (old, new))
        if before is None or after is None:
            unpaired[f"no dump of Wikidata within {within_days} days"] += 1
        elif before.day >= after.day:
            unpaired["no other dump of Wikidata than before"] += 1
        else:
            paired[new.period.label] = (before, after)
    return paired, unpaired


def _nearest(snapshot: Snapshot, dumps: Sequence[WikidataDump], within_days: int) -> WikidataDump | None:
    def distance(dump: WikidataDump) -> tuple[int, date]:
        return abs((dump.day - snapshot.day).days), dump.day

    candidates = [dump for dump in dumps if dump.day < snapshot.period.end]
    nearest = min(candidates, key=distance, default=None)
    return nearest if nearest is not None and distance(nearest)[0] <= within_days else None


def paired_steps(
    context: BuildContext,
    wiki: WikiDumps,
    wikidata: Wikidata,
    paired: Callable[[Sequence[Snapshot]], tuple[dict[str, DumpsOfStep], Counter[str]]],
    split: Split = by_passages,
) -> Iterator[PairedStep]:
    """Yield each step of the wiki that has two dumps and whose period is not in `context.built`, oldest first.

    What was staged of a step and of dumps that no later step needs is removed when the next step is requested. Steps
    without dumps are counted. Raises InputError if the snapshots are of another wiki than `wikidata.site`.
    """
    pages = [entry for entry in context.inputs if not entry.group.startswith(GROUP)]
    snapshots = wiki.series(pages)[0]
    found, unpaired = paired(snapshots)
    read = len(found) + sum(unpaired.values())
    context.steps.append(Step(name="steps of the wiki", read=read, dropped=dict(sorted(unpaired.items()))))
    waiting = {label: pair for label, pair in found.items() if label not in context.built}
    skipped = frozenset(snapshot.period.label for snapshot in snapshots) - waiting.keys()
    known: dict[str, Statements] = {}
    for step in diffed(replace(context, built=context.built | skipped), wiki, pages, split, wikidata.site):
        pair = waiting.pop(step.period.label)
        for dump in pair:
            if dump.date not in known:
                known[dump.date] = staged(context, wikidata, dump)
                context.steps[:] = Step.sum([context.steps, known[dump.date].steps])
        yield PairedStep(step, *(known[dump.date] for dump in pair))
        for day in known.keys() - {dump.date for several in waiting.values() for dump in several}:
            known.pop(day).forget()
