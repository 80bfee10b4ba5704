"""Dumps of a wiki: their files, and the snapshot of the wiki that each file belongs to."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, model_validator

from ticlm.datasets.io import listing
from ticlm.datasets.io.documents import Input
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.fingerprint import fingerprint
from ticlm.platform.core.periods import Label, Period, span
from ticlm.platform.core.settings import Settings

SUFFIXES = (".xml", ".bz2", ".gz", ".zst", ".7z")
PREFERRED_DAYS = (1, 20)
"""Days whose dump is used for a month, best first; else the first dump of the month is used (TiC-LM, B.1.1)."""
GROWTH = {".bz2": 4.5, ".gz": 3.5, ".zst": 4.0, ".7z": 8.0}
"""Approximate bytes of XML per packed byte; for histories, bytes of the pages that snapshots keep."""


def _strings(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _by_date(value: object) -> object:
    """Turn the keys of `{20160501: path}` into texts, as YAML reads the date as a number."""
    if isinstance(value, Mapping):
        return {str(day): _strings(paths) for day, paths in value.items()}
    return _strings(value)


Paths = Annotated[tuple[str, ...], BeforeValidator(_strings, json_schema_input_type=str | tuple[str, ...])]
Strings = str | tuple[str, ...]
Dated = Annotated[
    tuple[str, ...] | dict[str, tuple[str, ...]],
    BeforeValidator(_by_date, json_schema_input_type=Strings | dict[str, Strings]),
]


@dataclass(frozen=True)
class Snapshot:
    """The wiki as it stood on a day (for a history, at the end of the day), and the files that hold it."""

    day: date
    inputs: tuple[Input, ...]
    of_history: bool

    @property
    def stamp(self) -> str:
        """The day, as YYYYMMDD."""
        return f"{self.day:%Y%m%d}"

    @property
    def key(self) -> str:
        """A name for staged data of this snapshot; it depends on the files."""
        return f"{self.stamp}-{fingerprint(self.inputs)[:12]}"

    @property
    def period(self) -> Period:
        """The month of the snapshot."""
        start, end = span(f"{self.day:%Y%m}")
        return Period(label=f"{self.day:%Y%m}", start=start, end=end)


class WikiDumps(Settings):
    """Snapshots of a wiki over time, from MediaWiki's XML dumps (`.xml`, or packed as bz2, gz, zst or 7z).

    Give either `dumps` or `history`. `dumps` are files, globs or folders of `pages-articles`, in any number of parts.
    The date of a dump is read from the names of its files (`enwiki-20160501-…`) or given as `{20160501: path}`. One
    dump is used per month: that of the 1st, else of the 20th, else the first.

    A `history` (`pages-meta-history`) gives a snapshot for each day in `snapshots`, with pages as they stood at the end
    of that day. Their titles and namespaces are those of the day of the history, which may be later, because a dump
    does not hold earlier ones.
    """

    dumps: Dated = ()
    """Files, globs or folders of `pages-articles`, dated by their names or given as `{20160501: path}`."""
    history: Paths = ()
    """Files of `pages-meta-history`, which give a snapshot for each day in `snapshots`."""
    snapshots: tuple[Label, ...] = ()
    """Days of the snapshots that are taken from `history`."""
    namespaces: tuple[int, ...] = (0,)
    """Numbers of the namespaces whose pages are read; 0 holds the articles."""
    lists: bool = True
    """Whether list items count as paragraphs; headings, tables and infoboxes never do."""
    moved: Literal["changed", "unchanged"] = "changed"
    """What a passage is that only moved within its article: `changed` in the paper's algorithm."""

    def without_meaning(self) -> frozenset[str]:
        # sets were built so before there was a choice
        return frozenset({"moved"} if self.moved == "changed" else ())

    @model_validator(mode="after")
    def _one_or_the_other(self) -> Self:
        if bool(self.dumps) == bool(self.history):
            raise ValueError("give either dumps or history")
        if bool(self.history) != bool(self.snapshots):
            raise ValueError("history needs snapshots (days, as YYYYMMDD), and dumps have none")
        days = [_day(day) for day in (*self.snapshots, *(self.dumps if isinstance(self.dumps, dict) else ()))]
        if self.snapshots and len({(day.year, day.month) for day in days}) < len(days):
            raise ValueError("snapshots must lie in different months, which their periods are named after")
        return self

    def files(self, setting: str = "examples") -> list[Input]:
        """Return every file, with its dump's day as `group`. For a history, `group` lists all snapshot days, so that
        another day makes it another input.

        Raises InputError, which names the `setting`, for a path without files.
        """
        if self.history:
            days = " ".join(f"{day:%Y%m%d}" for day in self.days())
            return _xml(self.history, f"{setting}.history", days)
        if isinstance(self.dumps, dict):
            by_day = sorted(self.dumps.items())
            return [entry for day, paths in by_day for entry in _xml(paths, f"{setting}.dumps.{day}", day)]
        entries = _xml(self.dumps, f"{setting}.dumps")
        return [entry.model_copy(update={"group": _dated(entry.path, f"{setting}.dumps")}) for entry in entries]

    def days(self) -> tuple[date, ...]:
        """Return the days of a history's snapshots, in order."""
        return tuple(sorted(map(_day, self.snapshots)))

    def series(self, inputs: Sequence[Input]) -> tuple[list[Snapshot], int]:
        """Return the snapshots to compare, oldest first, and the number of dumps not used because their month has
        another."""
        if self.history:
            return [Snapshot(day, tuple(inputs), True) for day in self.days()], 0
        dumps: dict[date, list[Input]] = {}
        for entry in inputs:
            dumps.setdefault(_day(entry.group), []).append(entry)
        months: dict[tuple[int, int], date] = {}
        for day in sorted(dumps, key=_rank):
            months.setdefault((day.year, day.month), day)
        chosen = sorted(months.values())
        return [Snapshot(day, tuple(dumps[day]), False) for day in chosen], len(dumps) - len(chosen)


def xml_bytes(inputs: Sequence[Input]) -> int:
    """Return the approximate number of bytes of XML in these files."""
    return int(sum(entry.size * GROWTH.get(re.sub(r".*(?=\.)", "", entry.path), 1.0) for entry in inputs))


def _rank(day: date) -> tuple[int, int]:
    preferred = PREFERRED_DAYS.index(day.day) if day.day in PREFERRED_DAYS else len(PREFERRED_DAYS)
    return preferred, day.day


def _day(text: str) -> date:
    """Parse a day. Raises ValueError for anything other than YYYYMMDD."""
    if not re.fullmatch(r"\d{8}", text):
        raise ValueError(f"{text!r} is not a day, which is written YYYYMMDD")
    return span(text)[0]


def _dated(path: str, setting: str) -> str:
    name = path.rsplit("/", 1)[-1]
    for digits in re.findall(r"(?<!\d)(?:19|20)\d{6}(?!\d)", name):
        try:
            span(digits)
        except ValueError:
            continue
        return str(digits)
    raise InputError(f"{setting}: {name} has no date (YYYYMMDD) in its name; give it: dumps: {{YYYYMMDD: {path}}}")


def _xml(patterns: Sequence[str], setting: str, group: str = "") -> list[Input]:
    """Return the XML files, without the index files that come with multistream dumps."""
    return [
        Input(path=path, size=size, stamp=stamp, group=group)
        for path, size, stamp in listing.files(patterns, SUFFIXES, setting)
        if "-index" not in path.rsplit("/", 1)[-1]
    ]
