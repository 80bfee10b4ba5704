"""Lines that date a text: "Date: January 2015" (Dhingra et al., 2022), in English wherever they are written."""

from __future__ import annotations

import re
from datetime import date
from typing import Annotated

from pydantic import AfterValidator

MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
"""English names; the names of the modules `calendar` and `datetime` are in the language of the process."""
PLACES = {"Y": "year", "m": "month", "B": "month", "b": "month", "d": "day"}
"""What may stand behind a percent sign, and how finely it tells the time."""


def _checked(form: str) -> str:
    found = re.findall(r"%(.?)", form, re.DOTALL)
    if "\n" in form or not found or "Y" not in found or any(one not in PLACES for one in found):
        places = ", ".join(f"%{one}" for one in PLACES)
        raise ValueError(f"expected one line with %Y, and of {places} no others behind a percent sign, got {form!r}")
    return form


DateForm = Annotated[str, AfterValidator(_checked)]
"""A line with places for a date: %Y (2015), %m (01), %B (January), %b (Jan), %d (31)."""


def needs(form: str) -> str:
    """Return how finely dates must be known for a line of this form: `year`, `month` or `day`."""
    told = {PLACES[one] for one in re.findall("%(.)", form)}
    return next(unit for unit in ("day", "month", "year") if unit in told)


def dated(form: str, day: date) -> str:
    """Return the line that dates a text by this day, with its newline."""
    month = MONTHS[day.month - 1]
    values = {"Y": f"{day.year:04d}", "m": f"{day.month:02d}", "B": month, "b": month[:3], "d": f"{day.day:02d}"}
    return re.sub("%(.)", lambda found: values[found[1]], form) + "\n"
