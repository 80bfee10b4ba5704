"""Staging: documents that were read wait on the store, in sorted runs, until their periods are built.

The order of the documents of a period is that of a hash (`CorpusRecipe.place_in_order`), and every run is sorted by it.
So a range of the order can be collected from all runs with bounded memory, and its contents depend neither on which
task read a document nor on when.
"""

from __future__ import annotations

import threading
from collections import Counter
from datetime import date, datetime
from functools import partial

import pyarrow as pa
from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.corpus.build_records import ALREADY_BUILT
from ticlm.datasets.corpus.ledger.counts import NOTHING_KNOWN, Damage, DocumentCounts, Known
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.sorted_runs import Group, Row, StagedRuns
from ticlm.datasets.corpus.splits import SPLITS
from ticlm.datasets.filters.union import FilterOutcome, passed
from ticlm.datasets.io import records
from ticlm.datasets.io.apart import Apart, Bounds, Death
from ticlm.datasets.io.apart import passed as done_with_a_record
from ticlm.datasets.io.documents import Bad, Document, Piece, Skipped
from ticlm.datasets.io.fetching import Unreachable
from ticlm.datasets.web import warc_records
from ticlm.datasets.web.hosts import host_of
from ticlm.datasets.wiki import mediawiki

BREAKS = (*records.BREAKS, *warc_records.BREAKS, mediawiki.BROKEN)
"""Reasons of a Bad that say that an input is damaged."""
RUN_BYTES = 64 << 20
"""Characters of text that a reading task holds in memory before it sorts them and writes a run."""
OUTSIDE = "outside the calendar"
OPEN = "in a period that is not over"
UNUSED = "in a global shard that is not used"
READ = "read"
"""The first step of every build, which turns records into documents of a period and a split."""
FORMAT = 4
"""Version of the staged files. A build that was interrupted under an older version starts again."""
DEATHS = 2
"""So often the process that reads may die of one piece. Once may be chance: a machine short of memory."""


class Scan(Settings):
    """Summary of reading one piece. `bad` counts records that cannot be used, by reason, and `first` says where each
    reason occurred first. `unread` says why the piece could not be read to its end; such a scan has nothing else."""

    piece: Piece
    periods: dict[str, DocumentCounts]
    nowhere: DocumentCounts
    bad: dict[str, int]
    first: dict[str, str]
    groups: tuple[Group, ...]
    sources: tuple[str, ...]
    unread: str | None = None
    damage: Damage | None = None
    hashes: dict[str, int] = Field(default_factory=dict)
    """Of each period, the sum of the hashes of its documents, modulo 2^64."""
    same: tuple[str, ...] = ()
    """Periods of which the input begins with the documents that it had in an earlier build."""
    after_end: dict[str, int] = Field(default_factory=dict)
    """Records of periods that were built half, after the end that the calendar had then."""
    newest: date | None = None
    """The day of the newest document of any period."""
    parts: tuple[Step, ...] = ()
    """What became of parts of the texts, such as the templates of a wiki's pages, counted of the whole piece."""


def scan_key(recipe: CorpusRecipe, piece: Piece, known: Known = NOTHING_KNOWN) -> str:
    """Return the name of a scan: the same piece of the same input is read once under the same calendar."""
    again = (sorted(known.only),) if known.only else ()
    return fingerprint((piece, recipe.periods.last, *again))[:24]


def scan(store: Store, folder: str, recipe: CorpusRecipe, piece: Piece, known: Known = NOTHING_KNOWN) -> Scan:
    """Read a piece, stage its documents below `folder`, write a summary there last of all, and return it.

    A piece that cannot be read to its end leaves no summary, so that it is read again. It is read in a process of its
    own, as records and filters may kill it: beyond `limits.record_cpu_s` and `limits.record_memory`, or by a crash.
    """
    for deaths in range(1, DEATHS + 1):
        try:
            return _reader(store, folder, recipe, known)(piece)
        except Death as death:
            if deaths == DEATHS:
                why = f"the process that read it died {DEATHS} times, the last time at {death.place}: {death}"
                return _unread(piece, f"{piece.input.path}: {why}")
    raise AssertionError("the last death has returned")


def end_reading() -> None:
    """End the processes that read for this one. They would end by themselves some time after they read."""
    with _changing:
        for thread, (_, reader) in list(_readers.items()):
            if thread.is_alive() and thread is not threading.current_thread():
                reader.kill()  # only its thread may close what it waits for
            else:
                reader.end()
                del _readers[thread]


_readers: dict[threading.Thread, tuple[tuple[str, int | None, str, CorpusRecipe, Known], Apart[Piece, Scan]]] = {}
"""Of each thread that reads, its build and its process, which the kernel ends with the thread."""
_changing = threading.Lock()


def _reader(store: Store, folder: str, recipe: CorpusRecipe, known: Known) -> Apart[Piece, Scan]:
    """Return the process that reads for this thread: the same as long as the build is the same."""
    build, me = (store.root, store.lease, folder, recipe, known), threading.current_thread()
    with _changing:
        # pyarrow loads pandas for its first array. The forked process has it then, and no fork comes amid that import.
        pa.array([0])
        for thread in [thread for thread in _readers if not thread.is_alive()]:
            _readers.pop(thread)[1].end()
        if me in _readers and _readers[me][0] != build:
            _readers.pop(me)[1].end()
        if me not in _readers:
            bounds = Bounds(recipe.limits.record_cpu_s, recipe.limits.record_memory)
            _readers[me] = build, Apart(partial(_scan, *build), bounds)
        return _readers[me][1]


def _scan(root: str, lease: int | None, folder: str, recipe: CorpusRecipe, known: Known, piece: Piece) -> Scan:
    store = Store(root, lease)  # connections of the other process cannot be used here
    key = scan_key(recipe, piece, known)
    reading = _Reading(recipe, StagedRuns(store, f"{folder}/{key}", RUN_BYTES), piece.input.path, known)
    try:
        for outcome in recipe.reader.read(piece):
            if isinstance(outcome, Step):
                reading.parts = Step.sum([reading.parts, [outcome]])
                continue
            reading.take(outcome)
            done_with_a_record()
    except Unreachable as error:
        return _unread(piece, str(error))
    done = reading.done(piece)
    store.write(f"{folder}/{key}.json", done.model_dump_json().encode())
    return done


def _unread(piece: Piece, why: str) -> Scan:
    nothing = DocumentCounts()
    return Scan(piece=piece, periods={}, nowhere=nothing, bad={}, first={}, groups=(), sources=(), unread=why)


class _Reading:
    """The state of reading a piece: documents on their way to the store, and counts of all records."""

    def __init__(self, recipe: CorpusRecipe, staged: StagedRuns, path: str, known: Known) -> None:
        self.recipe, self.staged = recipe, staged
        self.names = [READ, *(_step_name(recipe, at) for at in range(len(recipe.filters)))]
        self._moving = any(getattr(step, "moving", False) for step in recipe.filters)
        self.damage: Damage | None = None
        self.parts: tuple[Step, ...] = ()
        self.same: list[str] = []
        self.after_end: Counter[str] = Counter()
        self.newest: date | None = None
        self.hashes: dict[str, int] = {}
        self._had, self._ends = known.counts.get(path, {}), known.ends
        self._again = known.only.keys()
        self._elsewhere = {label for label, paths in known.only.items() if path not in paths}
        self._dropped: dict[str | None, Counter[tuple[int, str]]] = {}
        self._edited: dict[str | None, Counter[int]] = {}
        self._masked: dict[str | None, Counter[tuple[int, str]]] = {}
        self._read: Counter[str | None] = Counter()
        self._newest: dict[str | None, dict[str, datetime]] = {}
        self._bad: Counter[str] = Counter()
        self._first: dict[str, str] = {}

    def take(self, outcome: Document | Bad | Skipped) -> None:
        result = self._filtered(outcome) if self._moving else None
        when = outcome.timestamp if result is None or result.document is None else result.document.timestamp
        period = None if when is None else self.recipe.periods.place(when)
        label = None if period is None else period.label
        end = None if label is None else self._ends.get(label)
        after = when is not None and end is not None and when.date() >= end
        if after and label in self._again:  # an older release built the period half: it stays as it was
            label = None
        self._read[label] += 1
        if isinstance(outcome, Bad):
            self._bad[outcome.reason] += 1
            self._first.setdefault(outcome.reason, outcome.where)
            if outcome.reason in BREAKS:
                self.damage = Damage.sum([self.damage, Damage.of(outcome)])
        place = (0, 0)
        if label is not None and isinstance(outcome, Document):
            place = self.recipe.place_in_order(outcome)
        reason = (0, ALREADY_BUILT) if after and label is None else self._staged(label, outcome, place, when, result)
        if reason is not None:
            self._dropped.setdefault(label, Counter())[reason] += 1
        if label is not None and outcome.timestamp is not None:
            self.after_end[label] += after
            # its stated day: one that a filter reads from a text must not end the periods of all other documents
            self._noted(label, outcome.timestamp.date(), place)

    def _noted(self, label: str, day: date, place: tuple[int, int]) -> None:
        """Add a record to the sum of its period's hashes, and note the period in `same` once the input has begun with
        all that an earlier build took from it. The place of a document in the order is its hash; other records have
        none."""
        self.hashes[label] = total = (self.hashes.get(label, 0) + sum(place)) % (1 << 64)
        if any(place):
            self.newest = day if self.newest is None else max(day, self.newest)
        if label in self._had and self._had[label] == (self._read[label], total):
            self.same.append(label)

    def _filtered(self, outcome: Document | Bad | Skipped) -> FilterOutcome | None:
        """Return what the filters make of a document of a split; None of anything else."""
        if not isinstance(outcome, Document) or self.recipe.split_of(outcome) is None:
            return None
        return passed(outcome, self.recipe.filters)

    def _staged(
        self,
        label: str | None,
        outcome: Document | Bad | Skipped,
        place: tuple[int, int],
        when: datetime | None,
        result: FilterOutcome | None,
    ) -> tuple[int, str] | None:
        """Stage a document, or return the step (from 0) at which it is left out, and the reason. `when` is its date;
        `result` is what the filters made of it, if it was asked already."""
        if when is not None and label is None:
            return 0, OUTSIDE if self.recipe.periods.open_period(when) is None else OPEN
        if not isinstance(outcome, Document):
            return 0, outcome.reason
        assert label is not None
        split = self.recipe.split_of(outcome)
        if split is None:
            return 0, UNUSED
        # filters that move no document are asked only now: most documents of an archive may lie outside the calendar
        result = result or passed(outcome, self.recipe.filters)
        self._edited.setdefault(label, Counter()).update(result.edited)
        self._masked.setdefault(label, Counter()).update(result.masked)
        kept = result.document
        if kept is None:
            assert result.step is not None and result.reason is not None
            return result.step + 1, result.reason
        if kept is not outcome:
            place = self.recipe.place_in_order(kept)
        if label not in self._elsewhere:
            key = self.recipe.key_of(outcome)
            self.staged.add(label, Row(SPLITS.index(split), *place, kept.source, host_of(kept.id), kept.text, key))
        assert when is not None  # of a document with a period
        newest = self._newest.setdefault(label, {})
        newest[kept.source] = max(when, newest.get(kept.source, when))
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
            damage=self.damage,
            hashes=self.hashes,
            same=tuple(self.same),
            after_end=dict(self.after_end),
            newest=self.newest,
            parts=self.parts,
        )

    def _tally(self, label: str | None, read: int) -> DocumentCounts:
        steps, left = [], read
        for at, name in enumerate(self.names):
            dropped = {why: n for (step, why), n in self._dropped.get(label, Counter()).items() if step == at}
            edited = self._edited.get(label, Counter())[at - 1] if at else 0
            masked = {kind: n for (step, kind), n in self._masked.get(label, Counter()).items() if step == at - 1}
            counts = {"dropped": dict(sorted(dropped.items())), "masked": dict(sorted(masked.items()))}
            steps.append(Step(name=name, read=left, edited=edited, **counts))
            left = steps[-1].kept
        return DocumentCounts.of(read, steps, self._newest.get(label, {}))


def _step_name(recipe: CorpusRecipe, at: int) -> str:
    """Return the filter's kind, with a number if the recipe has several of that kind."""
    kinds = [step.kind for step in recipe.filters]
    before = kinds[:at].count(kinds[at])
    return f"{kinds[at]} {before + 1}" if before else kinds[at]
