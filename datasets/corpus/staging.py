"""Staging: what was read lies on the store in sorted runs, until the periods it belongs to are built.

A document's place among those of its period is a hash (`CorpusRecipe.place_in_order`), and every run is sorted by
it. So a
stretch of the order can be collected from all runs with a bounded amount of memory, and what it holds depends neither
on who read what nor on when.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pydantic import Field

from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.sorted_runs import Group, Row, RunWriter
from ticlm.datasets.filters.refinedweb import passed
from ticlm.datasets.io.documents import Bad, Document, Piece, Skipped
from ticlm.datasets.io.fetching import Unreachable
from ticlm.datasets.web.hosts import host_of
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.fingerprint import fingerprint
from ticlm.platform.core.mixture import Split
from ticlm.platform.core.settings import Settings
from ticlm.platform.core.store import Store

RUN_BYTES = 64 << 20
OUTSIDE = "outside the calendar"
UNUSED = "in a global shard that is not used"
READ = "read"
"""The first step of every build: records become documents of a period and a split."""
FORMAT = 2
"""Of what lies on the store while a build goes on; an older one is begun anew."""
SPLITS: tuple[Split, ...] = ("train", "eval", "tune")


class DocumentCounts(Settings):
    """Documents read that belong to one period (or to none), and those left out among them, by reason and by step."""

    read: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)
    steps: tuple[Step, ...] = ()

    @staticmethod
    def of(read: int, steps: Sequence[Step]) -> DocumentCounts:
        dropped: Counter[str] = Counter()
        for step in steps:
            dropped.update(step.dropped)
        return DocumentCounts(read=read, dropped=dict(sorted(dropped.items())), steps=tuple(steps))

    @staticmethod
    def sum(tallies: Sequence[DocumentCounts]) -> DocumentCounts:
        return DocumentCounts.of(sum(t.read for t in tallies), Step.sum([t.steps for t in tallies]))


class Scan(Settings):
    """What reading a piece found. `bad` and `first` count what was wrong with records, and say where it was first.
    `unread` says why the piece could not be read to its end; such a scan holds nothing else."""

    piece: Piece
    periods: dict[str, DocumentCounts]
    nowhere: DocumentCounts
    bad: dict[str, int]
    first: dict[str, str]
    groups: tuple[Group, ...]
    sources: tuple[str, ...]
    unread: str | None = None


def scan_key(recipe: CorpusRecipe, piece: Piece) -> str:
    """Name of a scan: the same piece of the same input under the same calendar is read once."""
    return fingerprint((piece, recipe.periods.last))[:24]


def scan(store: Store, folder: str, recipe: CorpusRecipe, piece: Piece) -> Scan:
    """Read a piece, stage its documents below `folder`, and leave a summary there that says so, last of all.

    A piece that cannot be read to its end leaves none, so that it is read again.
    """
    key = scan_key(recipe, piece)
    reading = _Reading(recipe, _Runs(store, f"{folder}/{key}"))
    try:
        for outcome in recipe.reader.read(piece):
            reading.take(outcome)
    except Unreachable as error:
        nothing = DocumentCounts()
        return Scan(
            piece=piece, periods={}, nowhere=nothing, bad={}, first={}, groups=(), sources=(), unread=str(error)
        )
    done = reading.done(piece)
    store.write(f"{folder}/{key}.json", done.model_dump_json().encode())
    return done


class _Reading:
    """What has been read of a piece so far: documents on their way to the store, and counts of everything."""

    def __init__(self, recipe: CorpusRecipe, staged: _Runs) -> None:
        self.recipe, self.staged = recipe, staged
        self.names = [READ, *(_step_name(recipe, at) for at in range(len(recipe.filters)))]
        self._dropped: dict[str | None, Counter[tuple[int, str]]] = {}
        self._edited: dict[str | None, Counter[int]] = {}
        self._read: Counter[str | None] = Counter()
        self._bad: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def take(self, outcome: Document | Bad | Skipped) -> None:
        period = None if outcome.timestamp is None else self.recipe.periods.place(outcome.timestamp)
        label = None if period is None else period.label
        self._read[label] += 1
        if isinstance(outcome, Bad):
            self._bad[outcome.reason] += 1
            self._first.setdefault(outcome.reason, outcome.where)
        reason = self._staged(label, outcome)
        if reason is not None:
            self._dropped.setdefault(label, Counter())[reason] += 1

    def _staged(self, label: str | None, outcome: Document | Bad | Skipped) -> tuple[int, str] | None:
        """Stage a document, or say at which step it is left out, and why."""
        if outcome.timestamp is not None and label is None:
            return 0, OUTSIDE
        if not isinstance(outcome, Document):
            return 0, outcome.reason
        assert label is not None
        split = self.recipe.split_of(outcome)
        if split is None:
            return 0, UNUSED
        result = passed(outcome, self.recipe.filters)
        self._edited.setdefault(label, Counter()).update(result.edited)
        kept = result.document
        if kept is None:
            assert result.step is not None and result.reason is not None
            return result.step + 1, result.reason
        place = self.recipe.place_in_order(kept)
        self.staged.add(label, Row(SPLITS.index(split), *place, kept.source, host_of(kept.id), kept.text))
        return None

    def done(self, piece: Piece) -> Scan:
        self.staged.flush()
        tallies = {label: self._tally(label, count) for label, count in self._read.items()}
        return Scan(
            piece=piece,
            nowhere=tallies.pop(None, DocumentCounts()),
            periods={label: tally for label, tally in tallies.items() if label is not None},
            bad=dict(self._bad),
            first=self._first,
            groups=tuple(self.staged.groups),
            sources=tuple(sorted(self.staged.sources)),
        )

    def _tally(self, label: str | None, read: int) -> DocumentCounts:
        steps, left = [], read
        for at, name in enumerate(self.names):
            dropped = {why: n for (step, why), n in self._dropped.get(label, Counter()).items() if step == at}
            edited = self._edited.get(label, Counter())[at - 1] if at else 0
            steps.append(Step(name=name, read=left, dropped=dict(sorted(dropped.items())), edited=edited))
            left = steps[-1].kept
        return DocumentCounts.of(read, steps)


def _step_name(recipe: CorpusRecipe, at: int) -> str:
    """A filter's kind, numbered where a recipe has several of a kind."""
    kinds = [step.kind for step in recipe.filters]
    before = kinds[:at].count(kinds[at])
    return f"{kinds[at]} {before + 1}" if before else kinds[at]


class _Runs:
    """Documents collected until they fill a run, then sorted and written; so memory is bounded by a run."""

    def __init__(self, store: Store, prefix: str) -> None:
        self.store, self.prefix = store, prefix
        self.groups: list[Group] = []
        self.sources: set[str] = set()
        self._rows: dict[str, list[Row]] = {}
        self._size = 0
        self._runs = 0

    def add(self, label: str, row: Row) -> None:
        self._rows.setdefault(label, []).append(row)
        self.sources.add(row.source)
        self._size += len(row.text)
        if self._size >= RUN_BYTES:
            self.flush()

    def flush(self) -> None:
        if not self._rows:
            return
        run = RunWriter(f"{self.prefix}-{self._runs:04d}.parquet")
        for label in sorted(self._rows):
            run.write(label, sorted(self._rows[label], key=lambda row: (row.order, row.tie)))
        self.groups += run.save(self.store)
        self._rows, self._size, self._runs = {}, 0, self._runs + 1
