"""The choice of a calendar: a first span with about half of the text, then equal steps that each have enough of it."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import accumulate, pairwise
from typing import Literal

from ticlm.core.errors import InputError
from ticlm.core.periods import STEP_MONTHS, Calendar, Timeline, of_days
from ticlm.datasets.io.dates import is_coarser, resolution
from ticlm.platform.proposal.inspection import Amount, Inspection

Step = Literal["week", "month", "quarter", "year"]
STEPS: tuple[Step, ...] = ("week", "month", "quarter", "year")
DOCUMENTS = 20
"""Documents of a period at least: with fewer, a share of a quarter may leave none to evaluate on (.75^20: 0.3 %)."""
BYTES = 40_000
"""Text of a period at least: about 15,000 tokens, so a hundred rows of 128 to train and to evaluate on."""
LEAST_DOCUMENTS, LEAST_BYTES = 8, 10_000
"""What a period has at the very least. It is asked for only where no step gives the above."""
EVEN = 0.04
"""Share of the mean text of a later period that the smallest one has, if some step gives that: all updates take as many
passes, so that a tiny period beside large ones gets no step, or they need far more time than it is worth."""
ALONE = 0.5
"""Share of a period's text that one document may be, if some step gives that: more, and its numbers are those of this
document."""
FEWEST, MOST = 6, 24
"""Periods that a study of no time and of half an hour may have: scoring grows with their square."""
FIRST = 0.5
"""Share of the text in the first span, if later periods then have enough."""
LEAST_FIRST_BYTES = 100_000
"""Text of the first span at least: three passes over it give the smallest model (15,000 parameters) six tokens for each
parameter; fewer than five teach it next to nothing (docs/sizing.md)."""
LEAST_PERIODS = 3
"""Periods at least, the first included: two updates."""
FAR = 0.25
"""How far from a half the first span's share may be, if another step brings it nearer."""
SLACK = {"week": 2, "month": 8, "quarter": 23, "year": 61}
"""Days of silence at the end of a period, a quarter of a step for weeks and months and less for longer ones: after
more, the files ended before the period did."""
STRAY = 0.002
"""Share of the documents that may lie before a gap of two years at the beginning; such dates are mostly wrong."""


@dataclass(frozen=True)
class Demand:
    """What a calendar must give: documents and bytes of every period, the share of its text that one document may be,
    how far the first span's share may be from FIRST, and the share of the mean text that the smallest period has."""

    documents: int
    bytes: int
    alone: float
    far: float
    even: float

    def has_enough(self, amount: Amount) -> bool:
        return amount.documents >= self.documents and amount.bytes >= self.bytes

    def is_met_by(self, amount: Amount) -> bool:
        return self.has_enough(amount) and amount.longest <= self.alone * amount.bytes


DEMANDS = (
    Demand(DOCUMENTS, BYTES, ALONE, FAR, EVEN),
    Demand(DOCUMENTS, BYTES, ALONE, 1.0, EVEN),
    Demand(DOCUMENTS, BYTES, 1.0, FAR, EVEN),
    Demand(DOCUMENTS, BYTES, 1.0, 1.0, EVEN),
    Demand(DOCUMENTS, BYTES, 1.0, FAR, 0.0),
    Demand(DOCUMENTS, BYTES, 1.0, 1.0, 0.0),
    Demand(LEAST_DOCUMENTS, LEAST_BYTES, 1.0, 1.0, 0.0),
)
"""From the best to the least: the first that any step meets is taken."""


@dataclass(frozen=True)
class ChosenPeriods:
    """A calendar, its periods with their text, and what was left out, in words."""

    calendar: Calendar
    step: Step
    timeline: Timeline
    amounts: tuple[Amount, ...]
    notes: tuple[str, ...]

    @property
    def first(self) -> Amount:
        return self.amounts[0]

    @property
    def later(self) -> tuple[Amount, ...]:
        return self.amounts[1:]


def of_files(found: Inspection, minutes: float, after: date | None = None) -> ChosenPeriods:
    """Return the calendar for files that were looked at, and a study of so many minutes. Raises as `chosen` does."""
    most = min(MOST, FEWEST + round(0.6 * minutes)) if after is None else MOST  # the first span cannot take more
    return chosen(found.days, datetime.now(UTC).date(), most, _finest(found), after)


def chosen(
    days: Mapping[date, Amount], today: date, most: int, finest: Step = "week", after: date | None = None
) -> ChosenPeriods:
    """Return the finest calendar of at most `most` periods whose periods all have enough text.

    `finest` is the finest step that the dates tell. A model has seen all text before `after`, if that is given: the
    first span ends there, or what little text is before is left out. The last period is over by `today`. Raises
    InputError, in a line, for text of one month alone, and if no calendar has enough text.
    """
    days, notes = _without_strays(days)
    if not days or len({(day.year, day.month) for day in days}) < 2:
        when = f"{min(days):%Y%m}" if days else "no month"
        raise InputError(f"all documents are dated {when}: a study needs text of several months; add files of others")
    if after is not None and max(days) < after:
        told = f"all of this text is from before {after}: the model may know it, so that a gain is no sign of news"
        notes = [*notes, told]
        after = None
    if after is not None:
        days, notes = _known_apart(days, after, notes)
        after = None if min(days) >= after else after  # it has seen none of this text: nothing is special
    text = _Text(days)
    for asked in DEMANDS:
        for step in STEPS[STEPS.index(finest) :]:
            if step == "week" and max(days) - min(days) > timedelta(days=300):
                continue  # quarters of a year: months tell more than a week's noise
            found = _of_step(step, text, today, most, asked, after)
            if found is not None:
                return _described(found, step, days, notes)
    if after is not None:
        raise InputError(
            f"--as-of: from {after} on there must be two periods with {LEAST_DOCUMENTS} documents and "
            f"{LEAST_BYTES:,} bytes of text each; the documents are of {min(days)} to {max(days)}"
        )
    raise InputError(
        f"{text.whole.documents:,.0f} documents with {text.whole.bytes:,.0f} bytes of text are too little to "
        f"learn from: there must be {LEAST_FIRST_BYTES:,} bytes to begin with, and then two periods with "
        f"{LEAST_DOCUMENTS} documents and {LEAST_BYTES:,} bytes each"
    )


def _finest(found: Inspection) -> Step:
    if found.days and all(day.day == 1 for day in found.days):
        return "month"  # months as such: 2016-01
    told = resolution(found.roles.format.form)
    return "week" if told is None or not is_coarser(told, "day") else "month" if told == "month" else "year"


def _of_step(
    step: Step,
    text: _Text,
    today: date,
    most: int,
    asked: Demand,
    after: date | None = None,
) -> tuple[Timeline, list[Amount]] | None:
    """Return the periods of this step, or None if some have too little text or there are too few or too many.

    The first span ends where it holds half of the text, or as near to that as leaves neither too few periods nor too
    many; at most `asked.far` from it.
    """
    # Text that ends in July says that the files do: the quarter is not over, whatever today is. Later dates are wrong.
    newest = max((day for day in text.days if day <= today), default=today)
    last = min(today, newest + timedelta(days=1 + SLACK[step]))
    edges = [edge for edge in _edges(step, text.days[0], text.days[-1], after) if edge <= last]
    fitting = []
    for at, edge in enumerate(edges[1:-1] if after is None else edges[1:2], 1):
        ends = edges[at:]
        amounts = [text.between(edges[0], edge), *(text.between(one, two) for one, two in pairwise(ends))]
        while len(amounts) > LEAST_PERIODS and not asked.has_enough(amounts[-1]):  # a last month that is a stub
            amounts.pop()
        away = abs(amounts[0].bytes / text.whole.bytes - FIRST)
        enough = (after is not None or amounts[0].bytes >= LEAST_FIRST_BYTES) and all(
            asked.is_met_by(one) for one in amounts
        )
        sizes = [one.bytes for one in amounts[1:]]
        enough = enough and all(one >= asked.even * sum(sizes) / len(sizes) for one in sizes)
        if enough and (after is not None or away <= asked.far) and LEAST_PERIODS <= len(amounts) <= most:
            fitting.append((away, ends[: len(amounts)], amounts))
    if not fitting:
        return None
    _, ends, amounts = min(fitting, key=lambda one: one[0])
    return Timeline(periods=tuple(of_days(one, two) for one, two in zip((edges[0], *ends), ends))), amounts


class _Text:
    """The text of days, summed from the first one on."""

    def __init__(self, days: Mapping[date, Amount]) -> None:
        self.amounts, self.days = days, sorted(days)
        self._documents = list(accumulate((days[day].documents for day in self.days), initial=0.0))
        self._bytes = list(accumulate((days[day].bytes for day in self.days), initial=0.0))

    @property
    def whole(self) -> Amount:
        return Amount(self._documents[-1], self._bytes[-1])

    def between(self, start: date, end: date) -> Amount:
        one, two = bisect_left(self.days, start), bisect_left(self.days, end)
        longest = max((self.amounts[day].longest for day in self.days[one:two]), default=0)
        return Amount(self._documents[two] - self._documents[one], self._bytes[two] - self._bytes[one], longest)


def _described(
    found: tuple[Timeline, list[Amount]], step: Step, days: Mapping[date, Amount], notes: list[str]
) -> ChosenPeriods:
    timeline, amounts = found
    last = timeline.periods[-1]
    calendar = Calendar(initial=timeline.labels[0].replace("-", ".."), step=step, last=last.label.replace("-", ".."))
    rest = sum(amount.documents for day, amount in days.items() if day >= last.end)
    if rest:
        notes.append(f"{rest:,.0f} documents from {last.end} on wait: their {step} is not over, or has too little text")
    return ChosenPeriods(calendar, step, calendar.timeline(), tuple(amounts), tuple(notes))


def _without_strays(days: Mapping[date, Amount]) -> tuple[dict[date, Amount], list[str]]:
    """Return the days without the few documents that lie years before all others, and what was left out."""
    ordered = sorted(days)
    limit, before = STRAY * sum(amount.documents for amount in days.values()), 0.0
    for one, two in pairwise(ordered):
        before += days[one].documents
        if before > limit:
            break
        if two - one > timedelta(days=730):
            kept = {day: days[day] for day in ordered if day >= two}
            return kept, [
                f"{before:,.0f} documents from before {two} are left out: years lie between them and the rest"
            ]
    return dict(days), []


def _edges(step: Step, first: date, last: date, after: date | None = None) -> Iterator[date]:
    """Yield the days on which periods of this step may begin, from the one with the first document to the one after
    the last: Mondays, first days of months, of calendar quarters and of years, or else what is counted from `after`.
    The first is that of a month."""
    if after is not None:
        if first < after:
            yield first.replace(day=1)
        yield from _counted(step, after, last)
    elif step == "week":
        yield first
        yield from _counted(step, first + timedelta(days=7 - first.weekday()), last)
    else:
        yield first.replace(day=1)
        months = STEP_MONTHS[step]
        at = first.year * 12 + (first.month - 1) // months * months + months
        yield from _counted(step, date(at // 12, at % 12 + 1, 1), last)


def _counted(step: Step, edge: date, last: date) -> Iterator[date]:
    """Yield a day and those that are whole steps behind it, up to the first one after `last`."""
    yield edge
    while edge <= last:
        at = edge.year * 12 + edge.month - 1 + STEP_MONTHS.get(step, 0)
        edge = edge + timedelta(days=7) if step == "week" else date(at // 12, at % 12 + 1, 1)
        yield edge


def _known_apart(days: Mapping[date, Amount], after: date, notes: list[str]) -> tuple[Mapping[date, Amount], list[str]]:
    """Return the days for a model that may have seen all before `after`, without those if they have too little text to
    be a period."""
    before = Amount()
    for day, amount in days.items():
        if day < after:
            before.documents += amount.documents
            before.bytes += amount.bytes
    if before.documents == 0 or DEMANDS[-1].has_enough(before):
        return days, notes
    kept = {day: amount for day, amount in days.items() if day >= after}
    told = f"{before.documents:,.0f} documents from before {after} are left out: too few to show what the model knows"
    return kept or days, [*notes, told]
