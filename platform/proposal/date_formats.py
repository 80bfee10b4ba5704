"""Formats of dates, told from values: which one of those that builds know reads them, and whether that is certain."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import product

from ticlm.datasets.io import dates

READABLE = 0.95
"""Share of the values that a format has to read: real files have a few empty or broken dates."""
EARLIEST = 1971
"""Years before it are mostly zeros, read as times."""
LONGEST = 60
"""Characters of the longest dates, as `CC-MAIN-2024-10` within a path; what is longer is a text."""
DAYS = (
    *("%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y", "%d-%m-%Y", "%m-%d-%Y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y"),
    *("%d %b %Y", "%d %B %Y", "%b %d, %Y", "%B %d, %Y", "%b %d %Y", "%d-%b-%Y", "%A, %B %d, %Y", "%a, %d %b %Y"),
)
TIMES = ("", " %H:%M:%S", " %H:%M", " %I:%M %p", " %I:%M:%S %p", ", %H:%M", " %H:%M:%S %z")
WHOLE = (
    *("%Y%m%d%H%M%S", "%a %b %d %H:%M:%S %z %Y", "%a %b %d %H:%M:%S %Y", "%Y-%m-%d %H:%M:%S %Z"),
    *("%Y-%m-%d_%H-%M-%S", "%Y_%m_%d", "%d/%b/%Y:%H:%M:%S %z", "%B %Y", "%b %Y", "%m/%Y", "%Y/%m", "%Y"),
)
OTHER_ORDER = {"%d/%m/": "%m/%d/", "%m/%d/": "%d/%m/", "%d-%m-": "%m-%d-", "%m-%d-": "%d-%m-"}
"""Beginnings of patterns in which a day and a month can be taken for one another."""


@dataclass(frozen=True)
class DateFormat:
    """How values are written: a format of `fields.timestamp_format` (None: the default rules read them), and the other
    order of day and month if no value decides between the two."""

    form: str | None
    ambiguous: str | None = None

    def read(self, value: object) -> datetime:
        """Return the time of a value in UTC. Raises ValueError if it has none."""
        return dates.parser(self.form)(value)


class TwoOrders:
    """What values tell of two patterns that differ in the order of day and month alone."""

    def __init__(self, form: str, other: str) -> None:
        self._reads = {form: 0, other: 0}
        self._days: dict[str, set[int]] = {form: set(), other: set()}

    def add(self, value: object) -> None:
        for form, days in self._days.items():
            if _reads(form, value):
                self._reads[form] += 1
                days.add(_read(form, value).day)

    def told(self) -> DateFormat:
        """Return the pattern that reads more values: 31/01 has no other reading.

        If both read as many, a number that stands still is the day (a date for each month); else the first pattern
        counts.
        """
        (form, first), (other, second) = self._reads.items()
        if first != second:
            return DateFormat(form if first > second else other)
        if len(self._days[other]) == 1 < len(self._days[form]):
            return DateFormat(other, form)
        return DateFormat(form, other)


def told(values: Sequence[object]) -> DateFormat | None:
    """Return the format that reads these values, None if no known one does; see TwoOrders."""
    some = [value for value in values if value is not None and value != ""]
    if not some or any(isinstance(value, str) and len(value) > LONGEST for value in some[:5]):
        return None
    for form in _forms(some[0]):
        if _share(form, some) < READABLE:
            continue
        other = _other_order(form)
        if form is None or other is None:
            return DateFormat(form)
        orders = TwoOrders(form, other)
        for value in some:
            orders.add(value)
        return orders.told()
    return None


def _forms(value: object) -> Iterator[str | None]:
    """Yield the formats to try, by the first value; default rules first, as a recipe need not name them."""
    yield None
    if (isinstance(value, int | float) and not isinstance(value, bool)) or str(value).strip().lstrip("-").isdigit():
        yield from ("iso", "s", "ms", "us", "ns", "%Y%m%d%H%M%S", "%Y")
        return
    if re.match(r"(\w{3}, )?\d{1,2} \w{3} \d{4} \d", str(value).strip()):
        yield "rfc2822"
    yield from ("iso", *WHOLE)
    yield from (day + time for day, time in product(DAYS, TIMES))
    yield "crawl"


def _other_order(form: str | None) -> str | None:
    if form is None:
        return None
    return next((form.replace(one, other, 1) for one, other in OTHER_ORDER.items() if form.startswith(one)), None)


def _share(form: str | None, values: Sequence[object]) -> float:
    if not any(_reads(form, value) for value in values[:10]):  # most formats, at a thousandth of the time
        return 0.0
    return sum(_reads(form, value) for value in values) / len(values)


def _reads(form: str | None, value: object) -> bool:
    try:
        return EARLIEST <= _read(form, value).year <= datetime.now().year + 1
    except ValueError:
        return False


def _read(form: str | None, value: object) -> datetime:
    return dates.parser(form)(value)
