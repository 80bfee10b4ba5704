"""Periods of time: labelled spans such as months, their order, and the period of a date."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, ValidationInfo, model_validator

from ticlm.core.errors import FutureMonthError, InputError
from ticlm.core.settings import Settings

STEP_MONTHS = {"month": 1, "quarter": 3, "half-year": 6, "year": 12}


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


Label = Annotated[str, BeforeValidator(_text, json_schema_input_type=str | int)]
"""A label as written in YAML, where `201305` is an integer."""


def _begins_a_month(day: date, info: ValidationInfo) -> date:
    if day.day != 1:
        raise ValueError(f"{info.field_name} must be the first day of a month, got {day}")
    return day


FirstOfMonth = Annotated[date, AfterValidator(_begins_a_month)]
"""A day on which a month begins."""


class Period(Settings):
    """A labelled span of time, `start` included, `end` not."""

    label: str
    start: date
    end: date


class Timeline(Settings):
    """Periods in order, disjoint; position 0 is the initial one."""

    periods: tuple[Period, ...]

    @model_validator(mode="after")
    def _ordered(self) -> Timeline:
        for before, after in zip(self.periods, self.periods[1:], strict=False):
            if before.end > after.start:
                raise ValueError(f"periods {before.label} and {after.label} overlap or are out of order")
        if not self.periods:
            raise ValueError("a timeline needs at least one period")
        return self

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Labels of the periods, oldest first."""
        return tuple(p.label for p in self.periods)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {label: i for i, label in enumerate(self.labels)}

    def index(self, label: str) -> int:
        """Return the position of a label. Raises InputError if it is not in the timeline."""
        try:
            return self._index[label]
        except KeyError:
            shown = f"{self.labels[0]} … {self.labels[-1]} ({len(self.labels)})"
            raise InputError(f"period {label} is not in the timeline; it has {shown}") from None

    def __len__(self) -> int:
        return len(self.periods)


class Calendar(Settings):
    """How time is cut into periods: an `initial` span, then equal steps. By default calendar months.

    `initial: 201305..201412, step: quarter` pools twenty months, then every three. A bounded calendar (with `last`, or
    `only`) has a timeline; an unbounded one still places any date. A period that goes on after `last` is open: no date
    is placed in it, and a timeline is refused.
    """

    initial: Label | None = None
    """The first period: a label such as 201305, or a span such as 201305..201412."""
    step: Literal["week", "month", "quarter", "half-year", "year"] = "month"
    """Length of every later period."""
    last: Label | None = None
    """The last period; without it, the calendar goes on without end."""
    only: tuple[Label, ...] | Literal["tic-cc"] | None = None
    """The months to use, in place of `initial`, `step` and `last`; `tic-cc` stands for the paper's 114 months."""

    @model_validator(mode="after")
    def _consistent(self) -> Calendar:
        if self.initial is not None:
            span(self.initial)
        if self.step == "week" and self.initial is None:
            raise ValueError("step week needs an initial span to count from, such as 20240101..20240331")
        if self.last is not None and self.initial is None:
            raise ValueError("last needs initial: the timeline would have no start")
        if self.last is not None and self.initial is not None and span(self.last)[1] < span(self.initial)[1]:
            raise ValueError(f"last {self.last} lies before the end of initial {self.initial}")
        if self.only is not None and (self.last is not None or self.initial is not None or self.step != "month"):
            raise ValueError("only lists months by itself: leave out initial, step and last")
        if isinstance(self.only, tuple):
            _check_months(self.only)
        return self

    def timeline(self) -> Timeline:
        """Return all periods of a bounded calendar, oldest first. Raises InputError if it is not bounded."""
        if self.only is not None:
            labels = TIC_CC_MONTHS if self.only == "tic-cc" else self.only
            return Timeline(periods=tuple(of_days(*span(label)) for label in labels))
        if self.initial is None or self.last is None:
            raise InputError("periods: give initial and last (or only), so that the timeline has a start and an end")
        _, last_end = span(self.last)
        periods = []
        for period in self._walk():
            if period.start >= last_end:
                break
            periods.append(period)
        if periods[-1].end != last_end:
            raise InputError(
                f"periods.last: {self.last} ends inside the period {periods[-1].label}; end it with that period"
            )
        return Timeline(periods=tuple(periods))

    def ended_by(self, day: date) -> tuple[Period, ...]:
        """Return the periods that end by `day` (which they exclude), oldest first; without `last` or `only`, all that
        do. Raises InputError if the calendar has no start."""
        if self.initial is None and self.only is None:
            raise InputError("periods: give initial (or only), so that the periods have a start")
        walk = self._walk() if self.only is None and self.last is None else iter(self.timeline().periods)
        return tuple(takewhile(lambda period: period.end <= day, walk))

    def place(self, moment: date | datetime) -> Period | None:
        """Return the period that holds `moment` (UTC). None if it lies outside the calendar, if the period goes on
        after `last`, or if its end is beyond the last possible date."""
        period = self._place(moment)
        return None if period is None or self._goes_on(period) else period

    def open_period(self, moment: date | datetime) -> Period | None:
        """Return the period that holds `moment` if it has begun before the end of `last` and goes on after it; else
        None. Its text waits until `last` has moved."""
        if self.last is None:
            return None
        period = self.model_copy(update={"last": None})._place(moment)
        begun = period is not None and period.start < span(self.last)[1]
        return period if begun and period is not None and self._goes_on(period) else None

    def _goes_on(self, period: Period) -> bool:
        return self.last is not None and period.end > span(self.last)[1]

    def _place(self, moment: date | datetime) -> Period | None:
        try:
            return self._holding(moment)
        except (ValueError, OverflowError):  # December 9999, or UTC pushes it beyond
            return None

    def _holding(self, moment: date | datetime) -> Period | None:
        if isinstance(moment, datetime):
            moment = (moment if moment.tzinfo is None else moment.astimezone(UTC)).date()
        if self.initial is None:
            period = of_days(moment.replace(day=1), _add_months(moment.replace(day=1), 1))
            allowed = TIC_CC_MONTHS if self.only == "tic-cc" else self.only
            return period if allowed is None or period.label in allowed else None
        start, end = span(self.initial)
        if moment < start or (self.last is not None and moment >= span(self.last)[1]):
            return None
        if moment < end:
            return of_days(start, end)
        if self.step == "week":
            begin = end + timedelta(days=7 * ((moment - end).days // 7))
            return of_days(begin, begin + timedelta(days=7))
        months = STEP_MONTHS[self.step]
        ahead = (moment.year - end.year) * 12 + moment.month - end.month
        begin = _add_months(end, ahead // months * months)
        return of_days(begin, _add_months(begin, months))

    def period(self, label: str) -> Period:
        """Return the period with this label. Raises InputError if the calendar has none."""
        try:
            start, end = span(label)
        except ValueError as error:
            raise InputError(str(error)) from None
        found = self.place(start)
        if found is None or found.end != end:
            raise InputError(f"{label} is not a period of this calendar")
        return found

    def _walk(self) -> Iterator[Period]:
        assert self.initial is not None
        start, end = span(self.initial)
        yield of_days(start, end)
        while True:
            start = end
            end = start + timedelta(days=7) if self.step == "week" else _add_months(start, STEP_MONTHS[self.step])
            yield of_days(start, end)


@lru_cache(maxsize=4096)  # a calendar asks for its ends with every document
def span(text: str) -> tuple[date, date]:
    """Return the start and the end (excluded) of `201305`, `20130520`, `201305..201412` or `201305-201412`. Raises
    ValueError if it is none of these."""
    first, _, last = re.sub(r"\.\.|-", " ", text).partition(" ")
    start, end = _bounds(first, text)
    if last:
        end = _bounds(last, text)[1]
    if end <= start:
        raise ValueError(f"{text}: the last month lies before the first")
    return start, end


def last_day(label: str) -> date:
    """Return the last day of a period. Raises ValueError as `span` does."""
    return span(label)[1] - timedelta(days=1)


def require_past(what: str, trained: str, reads: str) -> None:
    """Raise FutureMonthError if the period `reads` ends after the period `trained`; `what` would read it there.

    Raises InputError, which names the setting `what.period`, if one of the two is no span of time.
    """
    try:
        is_later = span(reads)[1] > span(trained)[1]
    except ValueError as error:
        raise InputError(f"{what}.period: {error}; a corpus from outside the timeline is declared with as_of") from None
    if is_later:
        raise FutureMonthError(what, trained, reads)


def _bounds(text: str, whole: str) -> tuple[date, date]:
    try:
        if re.fullmatch(r"\d{6}", text):
            start = date(int(text[:4]), int(text[4:]), 1)
            return start, _add_months(start, 1)
        if re.fullmatch(r"\d{8}", text):
            start = date(int(text[:4]), int(text[4:6]), int(text[6:]))
            return start, start + timedelta(days=1)
    except ValueError:
        pass
    raise ValueError(f"{whole!r} is not a span of time; write YYYYMM, YYYYMMDD or FIRST..LAST")


def _check_months(labels: Sequence[str]) -> None:
    for label in labels:
        if not re.fullmatch(r"\d{6}", label):
            raise ValueError(f"only lists months as YYYYMM, got {label!r}")
        span(label)
    if not labels or list(labels) != sorted(set(labels)):
        raise ValueError("only lists one month or more, each once, oldest first")


def of_days(start: date, end: date) -> Period:
    """Return a period with its label: YYYYMM or YYYYMM-YYYYMM for whole months, days for anything else."""
    if start.day == 1 and end.day == 1:
        first, last = f"{start:%Y%m}", f"{end - timedelta(days=1):%Y%m}"
    else:
        first, last = f"{start:%Y%m%d}", f"{end - timedelta(days=1):%Y%m%d}"
    return Period(label=first if first == last else f"{first}-{last}", start=start, end=end)


def _add_months(day: date, months: int) -> date:
    total = day.year * 12 + day.month - 1 + months
    return date(total // 12, total % 12 + 1, 1)


def _months(spans: Sequence[tuple[int, str]]) -> tuple[str, ...]:
    return tuple(f"{year}{int(m):02d}" for year, months in spans for m in months.split())


_ALL = "1 2 3 4 5 6 7 8 9 10 11 12"
TIC_CC_MONTHS = _months(
    [
        (2013, "5 12"),
        (2014, "3 4 7 8 9 10 11 12"),
        (2015, "1 2 3 4 5 6 7 8 10 11"),
        (2016, "2 4 5 6 7 8 9 10 12"),
        *((year, _ALL) for year in range(2017, 2022)),
        (2022, "1 5 6 7 8 9 10 11 12"),
        (2023, "1 2 3 4 5 6 9 10 11 12"),
        (2024, "2 3 4 5 6 7"),
    ]
)
"""The 114 crawl months of TiC-CC (TiC-LM, section 3; months without a crawl are absent)."""
