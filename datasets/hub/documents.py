"""Documents of the Hugging Face hub: whole data sets with dates, or a seeded share of each period."""

from __future__ import annotations

import json
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal

from pydantic import model_validator

from ticlm.core.errors import InputError, TiclmWarning
from ticlm.core.periods import Calendar, Label, Timeline, span
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.hub import names, parquet, places, repository, share
from ticlm.datasets.hub.names import Days
from ticlm.datasets.hub.places import NAMED, PlaceInSet
from ticlm.datasets.hub.repository import HubFile
from ticlm.datasets.io import formats, records
from ticlm.datasets.io.documents import Bad, Document, Documents, Fields, Input, Piece, Skipped
from ticlm.datasets.io.fetching import Unreachable
from ticlm.datasets.io.file_documents import columns
from ticlm.datasets.io.listing import Patterns
from ticlm.datasets.io.records import BadRecord, Record

HUB = "hub."
RECORD = "hub.json"
"""In the corpus's folder: the data set, and the commits that it was built of."""
OUTSIDE = "a date that its {} does not allow"


class HubDocuments(Documents):
    """Rows of a data set on the Hugging Face hub, or of a local folder that is laid out like one.

    Files are read where they lie, by ranges: there is no download first. Beside its columns a row has the fields
    `hub.config`, `hub.split` and `hub.file`, the names of where it is, and `hub.language`, its config's name without a
    date (`en` of `20231101.en`). `fields.timestamp: hub.config` takes the date in the name of the config.
    """

    kind: Literal["hub"] = "hub"
    path: str
    """Name of the data set on the hub, or a local folder."""
    name: str | None = None
    """Name of its configuration."""
    configs: Patterns = ()
    """Names of several configurations, or patterns such as CC-MAIN-2024-*; by default the default one."""
    split: str = "train"
    """Name of its split, or a pattern."""
    revision: str | None = None
    """A commit, tag or branch; with a commit, the same rows are read every time."""
    per_period: share.Cap | None = None
    """The most that is read of each period; by default all."""
    seed: int = 0
    """Seed of the choice of files and row groups under `per_period`."""
    within: Literal["config", "split", "file"] | None = None
    """What tells by its name of which days its rows are, though they have dates of their own. Files of other days than
    those of the calendar are not opened, and rows with a date outside of theirs are left out."""
    dates: Mapping[str, Label] = {}
    """Dates (YYYYMM, YYYYMMDD, FIRST..LAST) of configs, splits or files whose names tell none, or another."""
    fields: Fields = Fields()
    """Names of the rows' columns, and how their dates are written."""

    @model_validator(mode="after")
    def _consistent(self) -> HubDocuments:
        if self.name is not None and self.configs:
            raise ValueError("give name (one config) or configs (patterns), not both")
        stamp = self.fields.timestamp
        if stamp.startswith(HUB) and stamp.removeprefix(HUB) not in NAMED:
            raise ValueError(
                f"fields.timestamp {stamp}: dates are in the names of {', '.join(map(HUB.__add__, NAMED))}"
            )
        if stamp.startswith(HUB) and self.within is not None:
            raise ValueError(f"within: {stamp} gives all rows the date in a name already; leave within out")
        for label in self.dates.values():
            span(label)
        return self

    @property
    def identity(self) -> Settings:
        """Return the settings that determine the bytes of a corpus: the fields and the choice, not where the rows
        are."""
        if self.per_period is None and self.within is None and not self.dates:
            return self.fields.identity
        dates = tuple(sorted(self.dates.items()))
        seed = self.seed if self.per_period is not None else 0
        return share.HubIdentity(
            fields=self.fields.identity, per_period=self.per_period, seed=seed, within=self.within, dates=dates
        )

    def settled(self, store: Store) -> HubDocuments:
        """Return these settings with the commit that the revision is now. Warns if the corpus was built of another."""
        commit = repository.commit_of(self.path, self.revision)
        before = store.read_json(RECORD)["commits"][-1] if commit and store.exists(RECORD) else commit
        if before != commit:
            line = (
                f"{self.path} has moved since this corpus was built of it: from commit {before[:12]} to {commit[:12]}"
            )
            warnings.warn(line, TiclmWarning, stacklevel=2)
        return self.pinned()

    def pinned(self) -> HubDocuments:
        """Return these settings with the commit that the revision is now; of a local folder, as they are."""
        return self.model_copy(update={"revision": repository.commit_of(self.path, self.revision) or None})

    def at_commit(self, path: str) -> str:
        """Return the path of an input with the commit in it, as `hf://datasets/ORG/NAME@COMMIT/…`."""
        return path.replace(f"{repository.SCHEME}{self.path}/", f"{repository.SCHEME}{self.path}@{self._commit}/", 1)

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return an input for each file that is read, ordered by path. Raises InputError if the data set cannot be
        listed, has no such config or split, or has a config without a date."""
        return self.inputs_after(calendar, (), ())

    def inputs_after(self, calendar: Calendar, before: Sequence[Input], made: Collection[str]) -> list[Input]:
        """Return the inputs; under a cap, what files give to periods that are made stays as it was."""
        files = [(file, labels) for file, labels in self._files(calendar) if labels != ()]
        if self.per_period is None:
            found = [places.entry(file, {}) for file, _ in files]
        else:
            known = [(file, labels if labels is not None else _all_of(calendar)) for file, labels in files]
            given = dict(share.plan(known, self.per_period, self.seed, self._weighed, made))
            found = list(places.entries([file for file, _ in files], given, before, made))
        return sorted(found, key=lambda entry: entry.path)

    def count_outside(self, calendar: Calendar) -> int:
        """Return how many files hold nothing of the calendar, by the names of their configs, splits or themselves."""
        return sum(labels == () for _, labels in self._files(calendar))

    def pieces(self, entry: Input) -> list[Piece]:
        """Cut a file that is read whole into ranges; under a cap, the order of its row groups is that of a hash."""
        place = PlaceInSet.of(entry)
        cuts = [(0, None)] if place.budgets else formats.stretches(self._url(place), entry.size)
        return [Piece(input=entry, start=start, end=end) for start, end in cuts]

    def check(self, inputs: Sequence[Input]) -> None:
        """Raise InputError if `fields` fit none of the first rows of the first input, or if no input may give as much
        as its first row. It names the columns there are."""
        if not inputs:
            return
        place = PlaceInSet.of(inputs[0])
        seen: list[Record] = []

        def first() -> Iterator[Record]:
            for _, record in self._records(inputs[0], 0, None, look=True):
                if not isinstance(record, BadRecord):
                    seen[:] = [record]
                    yield record

        try:
            wrong = self._read_fields.wrong(first())  # it ends at the first document
        except (InputError, OSError):  # which the build itself reports
            return
        if wrong is not None:
            raise InputError(f"{place.file}: {wrong}; its columns are {', '.join(columns(self._url(place)))}")
        found = self._read_fields.document(seen[-1], "") if seen else None
        if self.per_period is not None and isinstance(found, Document):
            size = self.per_period.size(found)
            if size > max(max(PlaceInSet.of(entry).budgets.values()) for entry in inputs):
                what = f"the first row of {place.file} has {size:,} bytes"
                raise InputError(f"documents.per_period: {self.per_period} leaves no file as much as a row; {what}")

    def read(self, piece: Piece) -> Iterator[Document | Bad | Skipped]:
        """Yield a Document or a Bad for each row that is read, in order. A part of a file that is broken is one Bad."""
        place = PlaceInSet.of(piece.input)
        if self.per_period is None:
            yield from self._outcomes(piece, place, None)
        else:
            purse = share.Purse(self.per_period, place.budgets)
            yield from share.kept(self._outcomes(piece, place, purse), purse)

    def beside(self, store: Store, timeline: Timeline) -> None:
        """Record of which commits of the data set the corpus is made."""
        self._record(store)

    def unchanged(self, store: Store) -> None:
        """Record a commit that has nothing new, if the corpus can be written, so that no later build tells of it."""
        with suppress(OSError):
            self._record(store)

    def _record(self, store: Store) -> None:
        commit = repository.commit_of(self.path, self.revision)
        before = store.read_json(RECORD)["commits"] if store.exists(RECORD) else []
        if commit and commit not in before[-1:]:
            store.write(RECORD, json.dumps({"path": self.path, "commits": [*before, commit]}, indent=1).encode())

    def _outcomes(
        self, piece: Piece, place: PlaceInSet, purse: share.Purse | None
    ) -> Iterator[Document | Bad | Skipped]:
        before: int | None = None if piece.start else 0
        for number, record in self._records(piece.input, piece.start, piece.end, purse):
            found = record if isinstance(record, BadRecord) else self._outcome(record, place)
            if isinstance(found, BadRecord):
                found = Bad(found.reason, "", lost=found.lost)
            if isinstance(found, Bad):
                before = records.lines_before(self._url(place), piece.start) if before is None else before
                found = replace(found, where=f"{place.file}:{before + number}")
            yield found

    def _outcome(self, record: Record, place: PlaceInSet) -> Document | Bad | Skipped:
        found = self._read_fields.document(record, "")
        if self.within is None or found.timestamp is None:
            return found
        days = self._days(place.named(self.within), self.within)
        inside = days.start <= found.timestamp.date() < days.end
        return found if inside else Skipped(OUTSIDE.format(self.within), found.timestamp)

    def _records(
        self, entry: Input, start: int, end: int | None, purse: share.Purse | None = None, look: bool = False
    ) -> Iterator[tuple[int, Record | BadRecord]]:
        """Yield the rows of a file or a range of it, each with the names of where it is. A `look` fetches little
        of what it does not read."""
        place = PlaceInSet.of(entry)
        url, read = self._url(place), [name for name in self._read_fields.names() if not name.startswith(HUB)]
        where, keys = place.record(), formats.keys_of(place.file)
        if self.fields.timestamp.startswith(HUB):
            kind = self.fields.timestamp.removeprefix(HUB)
            where["date"] = f"{self._days(place.named(kind), kind).start:%Y-%m-%d}"
        if place.file.endswith(".parquet") and (purse is not None or look):
            rows = parquet.rows(url, read, self._read_fields, (self.seed, place.file), purse)
        else:
            rows = formats.rows(url, start, end, read)
        for number, record in rows:
            yield number, record if isinstance(record, BadRecord) else {**keys, **record, "hub": where}

    @property
    def _read_fields(self) -> Fields:
        """The names of the fields of the records that `_records` yields."""
        if not self.fields.timestamp.startswith(HUB):
            return self.fields
        return self.fields.model_copy(update={"timestamp": f"{HUB}date", "timestamp_format": None})

    def _url(self, place: PlaceInSet) -> str:
        return repository.url_of(place.file, self._commit)

    @property
    def _commit(self) -> str:
        """The commit of these settings; only a branch or a tag is asked for, as each process of a build would."""
        pinned = self.revision is not None and repository.COMMIT.fullmatch(self.revision)
        return str(self.revision) if pinned else repository.commit_of(self.path, self.revision)

    def _files(self, calendar: Calendar) -> Iterator[tuple[HubFile, tuple[str, ...] | None]]:
        """Yield every file of the chosen configs and splits, with the periods that it may hold; None if rows tell."""
        commit = repository.commit_of(self.path, self.revision)
        configs = self.configs if self.name is None else (self.name,)
        listed = repository.files_at if commit else repository.files
        stamp = self.fields.timestamp
        kind = stamp.removeprefix(HUB) if stamp.startswith(HUB) else self.within
        of_name: dict[str, tuple[str, ...]] = {}
        for file in listed(self.path, commit, configs, self.split):
            if kind is None:
                yield file, None
                continue
            name = PlaceInSet(file.path, file.config, file.split).named(kind)
            if name not in of_name:
                of_name[name] = self._labels(name, kind, calendar)
            yield file, of_name[name]

    def _labels(self, name: str, kind: str, calendar: Calendar) -> tuple[str, ...]:
        """Return the periods that hold any of the days of a name. Raises InputError if rows take the date of the name,
        and not all of its days lie in one period: the first day would bring text into a period before it was written.
        """
        days = self._days(name, kind)
        labels = days.labels(calendar)
        if self.within is None and labels and not days.in_one(calendar):
            raise InputError(
                f"documents.fields.timestamp: {kind} {name} of {self.path} tells no day of one period: its days are "
                f"{days.start} to {days.last}; leave it out, or name a column with dates there, and set "
                f"documents.within: {kind}"
            )
        return labels

    def _days(self, name: str, kind: str) -> Days:
        days = Days(*span(self.dates[name])) if name in self.dates else names.days_of(name)
        if days is None:
            raise InputError(
                f"documents: {kind} {name} of {self.path} has no date in its name; leave it out, or set "
                f"documents.dates: {{{name}: YYYYMM}}"
            )
        return days

    def _weighed(self, file: HubFile, labels: share.Labels) -> Mapping[str, float]:
        assert self.per_period is not None
        found: Mapping[str, float] | None = None
        if file.path.endswith(".parquet"):
            url = repository.url_of(file.path, self._commit)
            with suppress(Unreachable):  # the build counts what it cannot read (`limits.inputs`)
                found = parquet.weights(url, self._read_fields, labels, self.per_period)
        return share.guessed(file, labels, self.per_period) if found is None else found


def _all_of(calendar: Calendar) -> tuple[str, ...]:
    if calendar.only is None and (calendar.initial is None or calendar.last is None):
        raise InputError("documents.per_period: dates in a column need periods.initial and periods.last, or only")
    return calendar.timeline().labels
