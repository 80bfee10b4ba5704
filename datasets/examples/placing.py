"""Placing records of files in periods: by a date, or by the label of a period."""

from __future__ import annotations

import re
from typing import Annotated

from pydantic import AfterValidator

from ticlm.core.periods import Calendar, Label, Period, span
from ticlm.datasets.io.dates import parser


class UnusableExample(Exception):
    """A record cannot be used as an example; the message is the reason."""


UNDATED = ("without date", "unreadable date")
"""Reasons of an UnusableExample whose date is the trouble."""


def placed(stamp: object, periods: Calendar, form: str | None = None) -> str:
    """Return the label of the period that a stamp names: a date that the calendar places, or a span of time. `form` is
    how dates are written (see `dates.TimestampFormat`).

    Raises UnusableExample.
    """
    if stamp is None or stamp == "":
        raise UnusableExample("without date")
    # 201305; read as seconds it would lie in the 1970s
    if form is None and isinstance(stamp, int) and len(str(stamp)) in (6, 8):
        stamp = str(stamp)
    try:
        if form is None and isinstance(stamp, str) and re.fullmatch(r"\d{6,8}(-|\.\.)\d{6,8}", stamp):
            span(stamp)
            return stamp.replace("..", "-")
        when = parser(form)(stamp)
    except ValueError:
        raise UnusableExample("unreadable date") from None
    period = periods.place(when)
    if period is None:
        raise UnusableExample("in a period that is not over" if periods.open_period(when) else "outside the periods")
    return period.label


def _plain(label: str) -> str:
    span(label)
    return label.replace("..", "-")


OnePeriod = Annotated[Label, AfterValidator(_plain)]
"""The label of a period in settings: a month, a day, or a span such as 202005-202104."""


def period_of(label: str) -> Period:
    """Return the period with this label."""
    start, end = span(label)
    return Period(label=label, start=start, end=end)
