"""The history of a corpus: which inputs earlier builds read, which periods they made, and what that leaves to read.

A period is lost if a build made it and its record is not there any more. It is built again of the inputs that it was
made of, to the same bytes. In a window of deduplication, the other periods of the window are read and judged again
too (`replayed`), because the filter holds what came before; their rows stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import NamedTuple

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import read_record
from ticlm.core.periods import Calendar, span
from ticlm.core.store import Store
from ticlm.datasets.corpus.build_records import BuildRecord, RecordSum, builders, builds, cut_short
from ticlm.datasets.corpus.ledger.counts import Known
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.staging import OPEN
from ticlm.datasets.io.documents import Input

OUTSIDE_CALENDAR = "of months outside the calendar"
OPEN_PERIOD = "of a period that is not over"
UNUSED_SHARDS = "of global shards that are not used"


class Unread(NamedTuple):
    """Inputs that a build has to read. `unopened` counts inputs of which nothing is used, by reason."""

    inputs: list[Input]
    unopened: dict[str, int]


@dataclass(frozen=True)
class BuildHistory:
    """Records of all builds of a corpus, oldest first, and the periods that now exist (`built`)."""

    recipe: CorpusRecipe
    records: Sequence[BuildRecord]
    built: Sequence[str]

    @staticmethod
    def of(store: Store, recipe: CorpusRecipe) -> BuildHistory:
        """Return the history of the corpus in `store`. Raises InputError if the record of a period is damaged."""
        labels = store.folders(paths.PERIODS)
        built = [label for label in labels if read_record(store, paths.period(label)) is not None]
        return BuildHistory(recipe, builds(store), built)

    @cached_property
    def made(self) -> dict[str, BuildRecord]:
        """The record of the build that made each period."""
        return builders(self.records)

    @cached_property
    def cut(self) -> dict[str, str]:
        """Periods that an older release built while `periods.last` lay inside them, and that `last`."""
        return cut_short(self.recipe.calendar, self.made)

    @cached_property
    def lost(self) -> tuple[str, ...]:
        """Periods that were made, are not there now, and lie in the calendar: they are built again."""
        return tuple(label for label in self._gone if self._placed(label))

    @cached_property
    def out_of_reach(self) -> tuple[str, ...]:
        """Periods that were made and are not there now, but go on after `periods.last`."""
        return tuple(label for label in self._gone if not self._placed(label))

    @cached_property
    def replayed(self) -> tuple[str, ...]:
        """Periods that exist, but are judged again because another period of their window is lost."""
        settings = self.recipe.deduplicate
        if settings is None or settings.scope != "window":
            return ()
        windows = {settings.window_of(self.recipe.position(label)) for label in self.lost}
        return tuple(
            label
            for label in self.built
            if label in self.made and settings.window_of(self.recipe.position(label)) in windows
        )

    @cached_property
    def standing(self) -> tuple[date, date] | None:
        """The starts of the first and of the last period that exists or was made; None if there is none."""
        starts = [span(label)[0] for label in {*self.built, *self.made}]
        return (min(starts), max(starts)) if starts else None

    @property
    def _gone(self) -> Iterator[str]:
        return (label for label in sorted(self.made) if label not in self.built)

    def _placed(self, label: str) -> bool:
        return self.recipe.periods.place(self.recipe.calendar.period(label).start) is not None

    def takes(self, label: str, path: str) -> bool:
        """Return whether a build stages documents of this period from the input at `path`. A new period takes documents
        of any input, a finished one of none. A period that is made again takes them from the inputs it was made of."""
        if label in self.lost or label in self.replayed:
            return path in self.entries(label)
        return label not in self.built

    def entries(self, label: str) -> Mapping[str, Input]:
        """Return the inputs that documents of the period were taken from, by path: all inputs of the build that made it
        if its record does not say which."""
        return self._entries[label]

    @cached_property
    def _entries(self) -> dict[str, dict[str, Input]]:
        found: dict[str, dict[str, Input]] = {}
        for record in {record.number: record for record in self.made.values()}.values():
            inputs = {entry.path: entry for entry in record.inputs}
            mine = {label for label, maker in self.made.items() if maker is record}
            found.update({label: {} if record.accounts else inputs for label in mine})
            for path, account in record.accounts.items():
                for label in mine & account.periods.keys() - set(account.refused):
                    found[label][path] = inputs[path]
        return found

    def counted(self, label: str, path: str) -> RecordSum | None:
        """Return the count and hashes of the records that the period took from the input; None if it took none, or if
        that is not known."""
        account = self.made[label].accounts.get(path) if label in self.made else None
        return account.periods.get(label) if account is not None and label not in account.refused else None

    def inputs_of(self, label: str, record: BuildRecord) -> list[str]:
        """Return the inputs of which a build took documents of the period, by the build's record."""
        paths = (path for path, account in record.accounts.items() if label in account.periods)
        return sorted(path for path in paths if self.takes(label, path))

    def known(self, inputs: Sequence[Input]) -> Known:
        """Return what the scans of these inputs must know of earlier builds."""
        changed = {entry.path: entry for entry in inputs}
        counts: dict[str, dict[str, RecordSum]] = {}
        for label, record in self.made.items():
            for path in changed.keys() & record.accounts.keys():
                counted = self.counted(label, path)
                if counted is not None and changed[path] != self.entries(label)[path]:
                    counts.setdefault(path, {})[label] = counted
        again = (*self.lost, *self.replayed)
        return Known(
            counts=counts,
            ends={label: span(last)[1] for label, last in self.cut.items()},
            only={label: frozenset(self.entries(label)) for label in again},
        )

    def waiting(self, path: str) -> dict[str, int]:
        """Return how many documents of the input at `path` wait for the end of a period, by period."""
        _, record = self._last_read.get(path, (None, None))
        if record is None or path not in record.accounts:
            return {}
        count = record.accounts[path].nowhere.get(OPEN, 0)
        return {label: count for label in record.waiting if count and label not in self.made}

    def gone(self, record: BuildRecord) -> Iterator[tuple[str, str, int]]:
        """Yield each input that a build did not find, though documents of a period that it made waited there; with the
        period and the number of these documents."""
        there = {entry.path for entry in record.inputs}
        for path in sorted(self._last_read.keys() - there):
            for label, count in self.waiting(path).items():
                if label in record.periods:
                    yield path, label, count

    @cached_property
    def read_before(self) -> frozenset[Input]:
        """The inputs of all builds, as they were then."""
        return frozenset(entry for record in self.records for entry in record.inputs)

    @cached_property
    def _last_read(self) -> dict[str, tuple[Input, BuildRecord]]:
        return {entry.path: (entry, record) for record in self.records for entry in record.inputs}

    def listed(self) -> list[Input]:
        """Return the inputs that there are now."""
        before = [entry for record in self.records for entry in record.inputs]
        return self.recipe.reader.inputs_after(self.recipe.periods, before, self.made.keys())

    def unread(self) -> Unread:
        """Return the inputs that are new or changed, inputs of lost periods, and inputs with documents outside the
        calendar if its end has moved. If there are any, add the inputs whose documents wait for the end of a period.

        An input that a finished build had to leave out is read again only for a lost period. Raises InputError if an
        input of a lost period is gone.
        """
        recipe, calendar = self.recipe, self.recipe.periods
        given_up = self._given_up()
        needed = self._needed()
        listed = self.listed()
        self._check_there(needed, {entry.path for entry in listed})
        new: set[str] = set()
        waiting: set[str] = set()
        unused = 0
        for entry in listed:
            before, record = self._last_read.get(entry.path, (None, None))
            if not recipe.uses(entry):
                unused += 1
            elif entry.path in given_up and entry.path not in needed and not self.waiting(entry.path):
                continue
            elif entry != before or record is None or entry.path in needed or _moved(record, entry, calendar):
                new.add(entry.path)
            elif any(label in record.waiting for label in _periods(record, entry.path)):
                waiting.add(entry.path)
        chosen = new | waiting if new else new  # what waits is no reason for a build: only new inputs can end a period
        return Unread([entry for entry in listed if entry.path in chosen], self._unopened(unused))

    def _given_up(self) -> set[str]:
        """Return the inputs that could not be read when they were to be read last."""
        found: set[str] = set()
        for record in self.records:
            found |= record.unread.keys()
            found -= {entry.path for entry in record.inputs}
        return found

    def _unopened(self, unused: int) -> dict[str, int]:
        calendar, reader = self.recipe.periods, self.recipe.reader
        outside, waiting = reader.count_outside(calendar), 0
        if calendar.last is not None and (begun := calendar.open_period(span(calendar.last)[0])) is not None:
            waiting = outside - reader.count_outside(calendar.model_copy(update={"last": begun.label}))
        found = {OUTSIDE_CALENDAR: outside - waiting, OPEN_PERIOD: waiting, UNUSED_SHARDS: unused}
        return {reason: count for reason, count in found.items() if count}

    def _needed(self) -> dict[str, str]:
        """Return the inputs of lost and replayed periods, each with one of these; all inputs of the build that made it
        if its record does not say which ones held any of it."""
        found: dict[str, str] = {}
        for label in (*self.replayed, *self.lost):
            found.update(dict.fromkeys(self.entries(label), label))
        return found

    def _check_there(self, needed: Mapping[str, str], listed: set[str]) -> None:
        gone = [(path, label) for path, label in needed.items() if path not in listed]
        known = [(path, label) for path, label in gone if self.made[label].accounts]
        # Records without accounts, of older releases, name all inputs of their build. One of these may be gone without
        # harm; if all of them are, the period is lost.
        for path, label in known or (gone if len(gone) == len(needed) else ()):
            raise self.unlike(label, f"{path} is gone")

    def unlike(self, label: str, why: str) -> InputError:
        """Return the error that a lost period, or one of its window, would not become what it was."""
        missing = label if label in self.lost else self.lost[0]
        of = "" if label == missing else f" (of {label}, in the same window of deduplication)"
        return InputError(
            f"{self.recipe.id}: period {missing} is lost and cannot be built again: {why}{of}; put its inputs back as "
            f"they were, or build a new version"
        )


def _moved(record: BuildRecord, entry: Input, calendar: Calendar) -> bool:
    """Return whether an input has documents outside the calendar, and its end is another since it was read."""
    return record.last != calendar.last and entry.path in record.beyond


def _periods(record: BuildRecord, path: str) -> Mapping[str, RecordSum]:
    account = record.accounts.get(path)
    return {} if account is None else account.periods
