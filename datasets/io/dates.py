"""Dates of documents: from what a record holds to a time in UTC, by guess-free default rules or by a stated format."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Annotated, Literal

from pydantic import AfterValidator

from ticlm.core.periods import Calendar

UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
"""Units of a number that counts from 1970, by how many of them a second has."""
FORMATS = ("iso", *UNITS, "rfc2822", "crawl")
SMALLEST = 10**8
"""Least number that is read as seconds since 1970 (March 1973) without a stated unit. Years and dates written as
numbers, up to 99991231, are smaller."""
NUMBER = "a date or a year written as a number: set fields.timestamp_format"
_ZERO = re.compile(r"\b(?:UTC|GMT)\b", re.IGNORECASE)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
Resolution = Literal["day", "month", "year"]
_FINER: tuple[str, ...] = ("day", "month", "year")


def _checked(form: str) -> str:
    if form not in FORMATS and resolution(form) is None:
        raise ValueError(f"expected {', '.join(FORMATS)} or a pattern of strptime that has a year, such as %Y%m%d")
    return form


TimestampFormat = Annotated[str, AfterValidator(_checked)]
"""How a field writes times: `iso` (ISO 8601, also as a number such as 20240301); `s`, `ms`, `us`, `ns` since 1970;
`rfc2822` (`Fri, 01 Mar 2024 00:00:00 GMT`); `crawl` (`CC-MAIN-2024-10`: the month in which that crawl ended); or a
pattern of strptime, such as `%Y%m%d%H%M%S` or `%d/%m/%Y`, in which `%Z` is UTC, GMT, Z or an offset, on any machine."""


class UnclearNumber(ValueError):
    """A number that may be a year, a date, or a time in a unit that nobody stated."""


def moment(value: object) -> datetime:
    """Return a time in UTC from ISO 8601 (also `2013-05` and `201305`), seconds since 1970, a date or a datetime.

    A time without an offset is taken as UTC. Raises UnclearNumber for numbers that are closer to 1970 than SMALLEST,
    such as 20240301 and 2018, and ValueError for all other formats. Both would have to be guessed, and a wrong guess
    puts a text into the wrong period.
    """
    match value:
        case bool():
            raise ValueError(f"not a date: {value!r}")
        case int() | float():
            return _seconds(value)
        case str() if re.fullmatch(r"\d{9,11}(\.\d*)?", value.strip()):
            return _seconds(float(value))
    return _iso(value)


@cache
def parser(form: str | None) -> Callable[[object], datetime]:
    """Return the function that reads times of this format (see TimestampFormat), or `moment` for None.

    It takes dates and datetimes too, and raises ValueError for everything else. A year or a month by itself is read as
    its first day.
    """
    match form:
        case None:
            return moment
        case "iso":
            return lambda value: _iso(_text(value) if _is_number(value) else value)
        case "rfc2822" | "crawl":
            read = _rfc2822 if form == "rfc2822" else _crawl
            return lambda value: _iso(value) if isinstance(value, date) else read(_text(value))
        case _ if form in UNITS:
            return lambda value: _iso(value) if isinstance(value, date) else _since_1970(_number(value), UNITS[form])
    return lambda value: _iso(value) if isinstance(value, date) else _by_pattern(_text(value), form)


def resolution(form: str | None) -> Resolution | None:
    """Return how finely a format tells time, as far as that is known from the format; None for a pattern that tells no
    date."""
    if form is None or form in FORMATS:
        return "month" if form == "crawl" else "day"
    told = datetime(2019, 11, 23, 14, 5, 6, tzinfo=UTC)
    try:
        read = _by_pattern(told.strftime(form), form)
    except ValueError:
        return None
    match (read.year == told.year, read.month == told.month, read.day == told.day):
        case (True, True, True):
            return "day"
        case (True, True, False):
            return "month"
        case (True, False, False):
            return "year"
    return None


def is_coarser(told: str, needed: str) -> bool:
    """Return whether times that are told by one unit cannot tell another: `month` does not tell the `day`."""
    return _FINER.index(told) > _FINER.index(needed)


def check_resolution(form: str | None, calendar: Calendar) -> None:
    """Raise ValueError if times of this format cannot tell a period of the calendar: a year does not tell its month.

    Its first day would let a text of December into January, before it was written.
    """
    told, needed = resolution(form), {"week": "day", "year": "year"}.get(calendar.step, "month")
    if told is not None and is_coarser(told, needed):
        raise ValueError(
            f"documents.fields.timestamp_format {form} says no {needed}, which periods.step {calendar.step} needs; "
            f"set periods.step to {'month, quarter or year' if told == 'month' else 'year'}"
        )


def _iso(value: object) -> datetime:
    match value:
        case datetime():
            return _utc(value)
        case date():
            return datetime.combine(value, time(), UTC)
        case str():
            text = value.strip()
            if month := re.fullmatch(r"(\d{4})-?(\d{2})", text):
                return datetime(int(month[1]), int(month[2]), 1, tzinfo=UTC)
            return _utc(datetime.fromisoformat(text))
    raise ValueError(f"not a date: {value!r}")


def _seconds(value: float) -> datetime:
    if not math.isfinite(value) or abs(value) >= 1e11:  # beyond the year 5138: milliseconds, most likely
        raise ValueError(f"not seconds since 1970: {value!r}")
    if abs(value) < SMALLEST:
        raise UnclearNumber(f"{value!r} is {NUMBER}")
    return _since_1970(value, 1)


def _since_1970(value: float, per_second: int) -> datetime:
    try:
        micros = value * 10**6 // per_second if isinstance(value, int) else round(value / per_second * 10**6)
        return _EPOCH + timedelta(microseconds=micros)
    except OverflowError:
        raise ValueError(f"beyond the years of a calendar: {value!r}") from None


def _rfc2822(text: str) -> datetime:
    try:
        return _utc(parsedate_to_datetime(text))
    except (TypeError, IndexError, OverflowError):
        raise ValueError(f"not a date of RFC 2822: {text[:80]!r}") from None


def _crawl(text: str) -> datetime:
    found = re.search(r"CC-MAIN-(\d{4})-(\d{2})(?!\d)", text)
    if found is None:
        raise ValueError(f"no crawl: {text[:80]!r}")
    year, week = found.groups()
    known = CRAWL_MONTHS.get(f"{year}-{week}")
    # Of the 111 known crawls none but 2014-23 lies in a later month than that of the last day of its week.
    return _iso(known or f"{date.fromisocalendar(int(year), int(week), 7):%Y%m}")


def _by_pattern(text: str, pattern: str) -> datetime:
    if "%Z" in pattern:  # strptime knows the zones of the machine by name, and takes their times for UTC
        text, pattern = _ZERO.sub("Z", text), pattern.replace("%Z", "%z")
    try:
        return _utc(datetime.strptime(text, pattern))
    except (re.error, OverflowError, TypeError, KeyError, IndexError):  # of odd patterns
        raise ValueError(f"{text[:80]!r} is not written as {pattern}") from None


def _utc(value: datetime) -> datetime:
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError:
        raise ValueError(f"not a date: {value!r}") from None


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _text(value: object) -> str:
    """Return a text as it is, and a whole number as its digits. Raises ValueError for anything else."""
    match value:
        case str():
            return value.strip()
        case int() if not isinstance(value, bool):
            return str(value)
        case float() if value.is_integer():
            return str(int(value))
    raise ValueError(f"not a date: {value!r}")


def _number(value: object) -> float:
    """Return a number, or that in a text. Raises ValueError for anything else."""
    if isinstance(value, str) and re.fullmatch(r"-?\d{1,25}", value.strip()):
        return int(value)
    number = float(value) if isinstance(value, str) else value
    if isinstance(number, int | float) and not isinstance(number, bool) and math.isfinite(number):
        return number
    raise ValueError(f"not a number: {value!r}")


def _months(table: str) -> dict[str, str]:
    """Return months as YYYYMM by the name of a crawl, from lines of a year and `week:month` for each of its crawls."""
    lines = [line.split() for line in table.strip().splitlines()]
    return {f"{year}-{week}": year + month for year, *rest in lines for week, month in (e.split(":") for e in rest)}


CRAWL_MONTHS = _months("""
2013 20:05 48:12
2014 10:03 15:04 23:07 35:08 41:09 42:10 49:11 52:12
2015 06:01 11:02 14:03 18:04 22:05 27:06 32:07 35:08 40:10 48:11
2016 07:02 18:05 22:05 26:06 30:07 36:08 40:09 44:10 50:12
2017 04:01 09:02 13:03 17:04 22:05 26:06 30:07 34:08 39:09 43:10 47:11 51:12
2018 05:01 09:02 13:03 17:04 22:05 26:06 30:07 34:08 39:09 43:10 47:11 51:12
2019 04:01 09:02 13:03 18:04 22:05 26:06 30:07 35:08 39:09 43:10 47:11 51:12
2020 05:01 10:02 16:04 24:06 29:07 34:08 40:10 45:11 50:12
2021 04:01 10:03 17:04 21:05 25:06 31:08 39:09 43:10 49:12
2022 05:01 21:05 27:07 33:08 40:10 49:12
2023 06:02 14:04 23:06 40:10 50:12
2024 10:03 18:04 22:05 26:06 30:07 33:08 38:09 42:10 46:11 51:12
2025 05:01 08:02 13:03 18:05 21:05 26:06 30:07
""")
"""The month in which a crawl of Common Crawl ended, by its name without `CC-MAIN-` (from its announcements). A crawl
that ran over the end of a month lies in the later one, so that no model reads a page before it was there."""
