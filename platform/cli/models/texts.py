"""Sets of examples from files of dated texts, for `ticlm eval MODEL… --texts FILES`."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from ticlm.core.errors import InputError

if TYPE_CHECKING:
    from ticlm.core.examples import Examples
    from ticlm.core.periods import Calendar
    from ticlm.datasets.io.documents import Fields, Input
    from ticlm.platform.proposal.inspection import Inspection

STEPS: dict[str, int] = {"month": 1, "quarter": 3, "year": 12}
"""Months of a period."""
VERSION = 12
"""Digits of the hash that is a set's version."""


def made(patterns: Sequence[str], step: str, limit: int, root: str, quiet: bool = False) -> tuple[Examples, list[str]]:
    """Return the set of examples of some files, which is built if it is not there, and lines that say how it was made.

    Its version is a hash of the contents and of all that chooses from them, so the same files never give a second set.
    Raises InputError, in a line, if the files have no texts or no dates, or if all texts are of one period.
    """
    from ticlm.core.fingerprint import fingerprint
    from ticlm.datasets.evalsets import recipe as sets
    from ticlm.datasets.evalsets.dated_texts import DatedTexts
    from ticlm.platform.cli.console import waiting
    from ticlm.platform.proposal import inspection, names

    if step not in STEPS:
        raise InputError(f"--step must be month, quarter or year, got {step}")
    with nullcontext() if quiet else waiting("looking at the texts"):
        found = inspection.inspect(patterns)
        fields, calendar = found.fields(), _calendar(found, step)
        builder = DatedTexts(paths=tuple(patterns), fields=fields, periods=calendar, documents=limit)
        whole = fingerprint((builder.identity, tuple(map(_content, builder.inputs()))))
        recipe = sets.ExampleSetRecipe(
            name=names.name_of(patterns), version=whole[:VERSION], examples=builder, executor="process"
        )
        data = sets.build(recipe, root)
    return data, _lines(data, fields, limit, builder.chars)


def _calendar(found: Inspection, step: str) -> Calendar:
    """Return the calendar months, quarters or years from the first text to the last. Raises InputError if that is one
    period, as there is nothing to compare over time then."""
    from ticlm.core.periods import Calendar

    first, last = (_holding(day, step) for day in (min(found.days), max(found.days)))
    if first == last:
        finer = "" if step == "month" else "; --step month may part them"
        raise InputError(f"--texts: all {found.documents:,.0f} texts are of one {step}, {first}{finer}")
    return Calendar(initial=first.replace("-", ".."), step=step, last=last.replace("-", ".."))


def _holding(day: date, step: str) -> str:
    """Return the label of the calendar month, quarter or year that holds a day."""
    from ticlm.core.periods import of_days

    months = STEPS[step]
    at = day.year * 12 + (day.month - 1) // months * months
    start, end = (date(month // 12, month % 12 + 1, 1) for month in (at, at + months))
    return of_days(start, end).label


def _content(entry: Input) -> tuple[str, str]:
    """Return what tells the contents of a file: the hash of a local one, the stamp of another."""
    import hashlib

    name = entry.path.rpartition("/")[2]
    if "://" in entry.path:
        return name, entry.stamp
    with Path(entry.path).open("rb") as file:
        return name, hashlib.file_digest(file, "sha256").hexdigest()


def _lines(data: Examples, fields: Fields, limit: int, chars: int) -> list[str]:
    from ticlm.datasets.evalsets.recipe import builds

    periods = data.periods.values()
    kept = sum(one.subsets["all"].rows for one in periods)
    read = sum(step.read for one in periods for step in one.steps)
    lost = {name: count for one in builds(data.store)[:1] for step in one.steps for name, count in step.dropped.items()}
    left = "".join(f", {count:,} {name}" for name, count in sorted(lost.items()))
    sample = (
        f"a sample of {kept:,} of {read:,}, at most {limit:,} a period, by a hash with seed 0"
        if kept < read
        else (f"all {kept:,}")
    )
    return [
        f"texts: {sample}; of each the first {chars:,} characters; from {fields.text!r}, dates from "
        f"{fields.timestamp!r}{f'; left out{left[1:]}' if left else ''}",
        f"set: {data.store.uri()}",
    ]
