"""Dates in the names of configs, splits and files: a crawl, a day, a month or a year."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import NamedTuple

from ticlm.core.periods import Calendar, span
from ticlm.datasets.io import dates

CRAWL = re.compile(r"CC-MAIN-\d{4}-\d{2}(?!\d)")
_DAY = re.compile(r"(?<!\d)(?:19|20)\d\d([-_.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])(?!\d)")
_MONTH = re.compile(r"(?<!\d)(?:19|20)\d\d[-_.]?(?:0[1-9]|1[0-2])(?!\d)")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")


class Days(NamedTuple):
    """The days that a name tells, `start` included, `end` not."""

    start: date
    end: date

    @property
    def last(self) -> date:
        return self.end - timedelta(days=1)

    def in_one(self, calendar: Calendar) -> bool:
        """Return whether one period of a calendar holds all of these days; no, if one of them lies outside."""
        first = calendar.place(self.start)
        return first is not None and first == calendar.place(self.last)

    def labels(self, calendar: Calendar) -> tuple[str, ...]:
        """Return the periods of a calendar that hold any of these days, oldest first."""
        days = (self.start + timedelta(days=n) for n in range((self.end - self.start).days))
        return tuple(dict.fromkeys(period.label for day in days if (period := calendar.place(day)) is not None))


def days_of(name: str) -> Days | None:
    """Return the days that a name tells: of `CC-MAIN-2024-10` the month of that crawl; else the day, or month, or year
    in it (`20231101.en`, `2024_part_03.jsonl.gz`), or all from the first to the last (`20240101-20240131`). None if it
    tells none."""
    if found := CRAWL.search(name):
        try:
            return Days(*span(f"{dates.parser('crawl')(found[0]):%Y%m}"))
        except ValueError:  # a week that its year does not have
            return None
    for pattern in (_DAY, _MONTH, _YEAR):
        days = [days for found in pattern.finditer(name) if (days := _days(re.sub(r"\D", "", found[0]))) is not None]
        if days:
            return Days(days[0].start, max(days[0].end, days[-1].end))
    return None


def _days(digits: str) -> Days | None:
    if len(digits) == 4:
        return Days(date(int(digits), 1, 1), date(int(digits) + 1, 1, 1))
    try:
        return Days(*span(digits))
    except ValueError:  # 31 February
        return None


def without_date(name: str) -> str:
    """Return a name without the dates in it: `en` of `20231101.en`, nothing of `CC-MAIN-2024-10`."""
    for pattern in (CRAWL, _DAY, _MONTH, _YEAR):
        if pattern.search(name):
            return pattern.sub("", name).strip("-_. ")
    return name
