"""What sets of questions by year share: their rows, and the period of a year."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io import records

NO_QUESTION = "without question"
NO_ANSWERS = "unreadable answers"


def period_of_year(year: int) -> str:
    """Return the label of a year's period."""
    return f"{year}01-{year}12"


def year_of(value: object) -> int | None:
    """Return a year of four digits that is given as a number or text; None for anything else."""
    return int(str(value)) if isinstance(value, int | str) and re.fullmatch(r"[1-9]\d{3}", str(value)) else None


def texts_of(value: object) -> list[str] | None:
    """Return a list of texts without those that are blank; None for anything else."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    return [one.strip() for one in value if one.strip()]


def rows(context: BuildContext, dropped: Counter[str]) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield (name of the file, line, row) of all inputs, lines counted from 0; a line without a question is counted
    in `dropped` by its reason."""
    for entry in context.inputs:
        for number, record in records.records(entry.path, 0, None, ()):
            if isinstance(record, records.BadRecord):
                dropped[record.reason] += 1
            elif not isinstance(record.get("question"), str) or not record["question"].strip():
                dropped[NO_QUESTION] += 1
            else:
                yield entry.path.rsplit("/", 1)[-1], number - 1, dict(record)


def plain(value: object) -> str:
    """Return a value of a row as `Example.about` holds it; "" for none."""
    return "" if value is None else str(value)
