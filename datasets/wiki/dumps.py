"""Dumps of a wiki: which files there are, and which state of the wiki each of them shows."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Self

from pydantic import BeforeValidator, model_validator

from ticlm.datasets.io import listing
from ticlm.datasets.io.documents import Input
from ticlm.platform.core.errors import InputError
from ticlm.platform.core.fingerprint import fingerprint
from ticlm.platform.core.periods import Label, Period, span
from ticlm.platform.core.settings import Settings

SUFFIXES = (".xml", ".bz2", ".gz", ".zst", ".7z")
PREFERRED_DAYS = (1, 20)
"""Days whose dump stands for a month, best first; the month's first dump where there is none (TiC-LM, B.1.1)."""
GROWTH = {".bz2": 4.5, ".gz": 3.5, ".zst": 4.0, ".7z": 8.0}
"""Bytes of XML that come of a packed byte, roughly; of histories, those that snapshots keep."""


def _strings(value: object) -> object:
    return [value] if isinstance(value, str) else value


def _by_date(value: object) -> object:
    """`{20160501: path}`, where YAML makes a number of the date."""
    if isinstance(value, Mapping):
        return {str(day): _strings(paths) for day, paths in value.items()}
    return _strings(value)


Paths = Annotated[tuple[str, ...], BeforeValidator(_strings)]
Dated = Annotated[tuple[str, ...] | dict[str, tuple[str, ...]], BeforeValidator(_by_date)]


@dataclass(frozen=True)
class Snapshot:
    """The wiki as it stood on a day (at its end, where a history says so), and the files that hold it. `key` names that
    for what is staged of it."""

    day: date
    inputs: tuple[Input, ...]
    of_history: bool

    @property
    def stamp(self) -> str:
        return f"{self.day:%Y%m%d}"

    @property
    def key(self) -> str:
        return f"{self.stamp}-{fingerprint(self.inputs)[:12]}"

    @property
    def period(self) -> Period:
        """The month of the snapshot."""
        start, end = span(f"{self.day:%Y%m}")
        return Period(label=f"{self.day:%Y%m}", start=start, end=end)


class WikiDumps(Settings):
    """States of a wiki through time, from MediaWiki's XML dumps (`.xml`, also packed as bz2, gz, zst or 7z).

    `dumps` are files, globs or folders of `pages-articles`, in any number of parts; the date of a dump is in its files'
    names (`enwiki-20160501-…`), or said: `{20160501: path}`. Of a month one dump is taken: that of the 1st, else of the
    20th, else the first. Or `history` (`pages-meta-history`) is cut into `snapshots` of days: pages as they stood when
    the day ended, though with the titles and in the namespaces that they have on the day of the history itself,
    which may be later: a dump does not say what they were before.
    """

    dumps: Dated = ()
    history: Paths = ()
    snapshots: tuple[Label, ...] = ()
    namespaces: tuple[int, ...] = (0,)
    lists: bool = True
    """Whether items of lists are paragraphs; headings, tables and infoboxes never are."""

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
        """Every file there is; its `group` is the day of the dump that it belongs to, or all days that a history is cut
        into, so that one more makes another input. InputError that names the `setting` of a path without any."""
        if self.history:
            days = " ".join(f"{day:%Y%m%d}" for day in self.days())
            return _xml(self.history, f"{setting}.history", days)
        if isinstance(self.dumps, dict):
            several = sorted(self.dumps.items())
            return [entry for day, paths in several for entry in _xml(paths, f"{setting}.dumps.{day}", day)]
        found = _xml(self.dumps, f"{setting}.dumps")
        return [entry.model_copy(update={"group": _dated(entry.path, f"{setting}.dumps")}) for entry in found]

    def days(self) -> tuple[date, ...]:
        """The days of the snapshots of a history, in order."""
        return tuple(sorted(map(_day, self.snapshots)))

    def series(self, inputs: Sequence[Input]) -> tuple[list[Snapshot], int]:
        """The snapshots to compare, oldest first, and how many dumps stand back behind another of their month."""
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
    """Roughly how much XML is in these files."""
    return int(sum(entry.size * GROWTH.get(re.sub(r".*(?=\.)", "", entry.path), 1.0) for entry in inputs))


def _rank(day: date) -> tuple[int, int]:
    preferred = PREFERRED_DAYS.index(day.day) if day.day in PREFERRED_DAYS else len(PREFERRED_DAYS)
    return preferred, day.day


def _day(text: str) -> date:
    """ValueError for anything but YYYYMMDD."""
    if not re.fullmatch(r"\d{8}", text):
        raise ValueError(f"{text!r} is not a day, which is written YYYYMMDD")
    return span(text)[0]


def _dated(path: str, setting: str) -> str:
    name = path.rsplit("/", 1)[-1]
    for found in re.findall(r"(?<!\d)(?:19|20)\d{6}(?!\d)", name):
        try:
            span(found)
        except ValueError:
            continue
        return str(found)
    raise InputError(f"{setting}: {name} has no date (YYYYMMDD) in its name; say it: dumps: {{YYYYMMDD: {path}}}")


def _xml(patterns: Sequence[str], setting: str, group: str = "") -> list[Input]:
    """Without the indexes that lie beside dumps of many streams."""
    return [
        Input(path=path, size=size, stamp=stamp, group=group)
        for path, size, stamp in listing.files(patterns, SUFFIXES, setting)
        if "-index" not in path.rsplit("/", 1)[-1]
    ]
