"""New files of a corpus: whether they may be appended, and up to which period they reach."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.periods import Calendar, Period, span
from ticlm.core.store import Store
from ticlm.datasets.corpus.ledger.history import BuildHistory
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.io import formats
from ticlm.datasets.io.documents import Document, Input, input_files
from ticlm.datasets.io.file_documents import FileDocuments


class AlreadyRead(InputError):
    """Raised if there is nothing to append. `what` says so without what to do next."""

    def __init__(self, what: str, remedy: str) -> None:
        super().__init__(f"{what}; {remedy}")
        self.what = what


@dataclass(frozen=True)
class NewFiles:
    """Files that may be appended to a corpus. `last` is the period that they reach to, `late` counts their documents of
    periods that are built, and `unlisted` are the files, as they were named, that the recipe does not list yet."""

    last: str
    late: int
    documents: int
    unlisted: tuple[str, ...]


def look_at(recipe: CorpusRecipe, named: Sequence[str], root: str, file: str, today: date | None = None) -> NewFiles:
    """Read new files of a recipe's corpus, or those that its patterns match by now if none is named. `file` is the
    recipe's own file.

    Raises InputError in one line if a file is not there, is named twice, cannot be read with the recipe's fields, was
    read before, or has no document of a later period that is over and complete.
    """
    store = Store(Store(root).uri(paths.corpus(recipe.id)))
    history = BuildHistory.of(store, recipe)
    if not history.built or history.standing is None:
        raise InputError(
            f"{recipe.id} is not built yet in {root}; build it first: "
            f"ticlm data build {shlex.quote(file)} --root {shlex.quote(root)}"
        )
    listed = {entry.path: entry for entry in history.listed()}
    entries, unlisted = _entries(recipe, named, listed) if named else (_waiting(listed.values(), history), ())
    if not entries:
        what = f"{recipe.id} has read all files that its recipe lists"
        raise AlreadyRead(what, "name the new file, or put it beside them")
    recipe.reader.check(entries)
    today = today or datetime.now(UTC).date()
    counts, calendar = _documents(recipe, entries), recipe.calendar
    start_of_last = history.standing[1]
    new = {period: newest for period, (_, newest) in counts.items() if period.start > start_of_last}
    late = sum(count for period, (count, _) in counts.items() if period.start <= start_of_last)
    if not new and all(entry in history.read_before for entry in entries):
        raise AlreadyRead(f"{entries[0].path}: {recipe.id} has read it already", "ticlm run goes on with its studies")
    if not new:
        raise InputError(_nothing_new(recipe, entries, counts, history))
    last = _last(new, calendar, today, entries[0].path)
    _check_no_gap(recipe, max(history.built, key=lambda label: span(label)[0]), last, new)
    return NewFiles(last.label, late, sum(count for count, _ in counts.values()), unlisted)


def _entries(
    recipe: CorpusRecipe, named: Sequence[str], listed: dict[str, Input]
) -> tuple[list[Input], tuple[str, ...]]:
    """Return the inputs that files are, and those files that the recipe does not list."""
    real = {os.path.realpath(path) if "://" not in path else path: entry for path, entry in listed.items()}
    found: dict[str, Input] = {}
    unlisted = []
    for name in named:
        place = os.path.realpath(Path(name).expanduser()) if "://" not in name else name
        if "://" not in name and not os.path.isfile(place):
            raise InputError(f"{name}: {'a folder; name its files' if os.path.isdir(place) else 'no such file'}")
        if place in found:
            raise InputError(f"{name} is named twice")
        if place not in real:
            if not isinstance(recipe.documents, FileDocuments):
                kind = getattr(recipe.documents, "kind", type(recipe.documents).__name__)
                raise InputError(f"{name} is none of the inputs of {recipe.id}, whose documents are of kind {kind}")
            real[place] = input_files([name], formats.SUFFIXES, "FILE")[0]
            unlisted.append(name)
        found[place] = real[place]
    return list(found.values()), tuple(unlisted)


def _waiting(listed: Iterable[Input], history: BuildHistory) -> list[Input]:
    """Return the inputs that no build has read, and those with documents after the end of the calendar."""
    read = {entry.path: record for record in history.records for entry in record.inputs}
    return [entry for entry in listed if entry not in history.read_before or entry.path in read[entry.path].beyond]


def _documents(recipe: CorpusRecipe, entries: Sequence[Input]) -> dict[Period, tuple[int, datetime]]:
    """Return the number of documents of each period in these inputs, and the time of the newest one of each."""
    counts, newest = Counter[Period](), dict[Period, datetime]()
    for entry in entries:
        for piece in recipe.reader.pieces(entry):
            for outcome in recipe.reader.read(piece):
                if isinstance(outcome, Document) and (period := recipe.calendar.place(outcome.timestamp)) is not None:
                    counts[period] += 1
                    newest[period] = max(newest.get(period, outcome.timestamp), outcome.timestamp)
    return {period: (count, newest[period]) for period, count in counts.items()}


def _nothing_new(
    recipe: CorpusRecipe,
    entries: Sequence[Input],
    counts: dict[Period, tuple[int, datetime]],
    history: BuildHistory,
) -> str:
    name = entries[0].path
    last = max(history.built, key=lambda label: span(label)[0])
    if not counts:
        return f"{name}: none of its documents lies in the calendar of {recipe.id}"
    found = ", ".join(sorted(period.label for period in counts))
    return f"{name}: its documents are of {found}, but {recipe.id} is built up to {last}; only later ones can be added"


def _last(new: dict[Period, datetime], calendar: Calendar, today: date, name: str) -> Period:
    """Return the newest period that is over and whose documents reach its last month. Raises InputError if none is."""
    newest = max(new, key=lambda period: period.start)
    over = [period for period in new if period.end <= today]
    if not over:
        first = min(new, key=lambda period: period.start)
        raise InputError(
            f"{name}: {first.label} is not over: it ends on {first.end - timedelta(days=1)}; append it then"
        )
    whole = [period for period in over if period is not newest or _reaches_end(period, new[period], calendar)]
    if not whole:
        raise InputError(
            f"{name}: its documents end in {new[newest]:%Y-%m}, and the {calendar.step} {newest.label} goes on; "
            "append all of its months together"
        )
    return max(whole, key=lambda period: period.start)


def _reaches_end(period: Period, newest: datetime, calendar: Calendar) -> bool:
    final = period.end - timedelta(days=1)
    return calendar.step == "week" or (newest.year, newest.month) == (final.year, final.month)


def _check_no_gap(recipe: CorpusRecipe, before: str, last: Period, new: dict[Period, datetime]) -> None:
    """Raise InputError if a period between the last one that is built and the new end has no document."""
    calendar, labels = recipe.calendar, {period.label for period in new}
    if calendar.only is not None:
        return
    whole = Calendar(initial=calendar.initial or before, step=calendar.step, last=last.label).timeline()
    between = [period.label for period in whole.periods if period.start > span(before)[0]]
    if missing := next((label for label in between if label not in labels), None):
        raise InputError(
            f"no document is of {missing}, which lies between {before} and {last.label}; name its file too"
        )
