"""A date line before each document, which is how a model can be told when a text was written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from typing import Any, Literal

from ticlm.core.settings import Settings
from ticlm.datasets.dedup.settings import Deduplicate
from ticlm.datasets.io import dates
from ticlm.datasets.io.documents import Document
from ticlm.datasets.text.date_lines import DateForm, dated, needs

OF_THEIR_PERIOD = ("masked-csv", "examples")
"""Kinds of documents without dates of their own: theirs are the first days of their periods."""
OF_TEXT = ("packed", "prefix-lm")
"""Kinds of rows that read a document from its first character on, and mask nothing of it."""


class DateLine(Settings):
    """Put a line with its date before each document, in all splits: "Date: January 2015" (Dhingra et al., 2022).

    It is the last filter, so that no other reads the line. The date is that of the document, in UTC. Documents are held
    out, and ordered, as without it.
    """

    kind: Literal["date-line"] = "date-line"
    line: DateForm = "Date: %B %Y"
    """The line, with places for the date: %Y (2015), %m (01), %B (January), %b (Jan) and %d (31); names are English."""

    def __call__(self, document: Document) -> Document | str:
        return replace(document, text=dated(self.line, document.timestamp.date()) + document.text)


def check(filters: Sequence[Any], documents: Any, rows: str, deduplicate: Deduplicate | None) -> None:
    """Raise ValueError if filters of a recipe put dates before texts and its documents have none that are fine enough,
    or another part of the recipe would take the date for text. `rows` is the kind of its rows."""
    places = [at for at, step in enumerate(filters) if isinstance(step, DateLine)]
    if not places:
        return
    if places != [len(filters) - 1]:
        raise ValueError("filters: date-line must stand there once, as the last: others would read the date as text")
    line = filters[-1].line
    kind = getattr(documents, "kind", "")
    if kind in OF_THEIR_PERIOD:
        raise ValueError(
            f"filters: date-line needs documents with dates of their own; those of kind {kind} have only that of "
            "their period"
        )
    form = getattr(getattr(documents, "fields", None), "timestamp_format", None)
    told = dates.resolution(form)
    if told is not None and dates.is_coarser(told, needs(line)):
        raise ValueError(
            f"filters: date-line writes the {needs(line)} ({line}), and documents.fields.timestamp_format {form} says "
            f"only the {told}"
        )
    if rows not in OF_TEXT:
        raise ValueError(f"filters: date-line goes with rows of kind {' or '.join(OF_TEXT)}, got {rows}")
    # any date has as many words; n-grams of the line alone would repeat in every document of a day
    words = len(re.findall(r"\w+|[^\w\s]", dated(line, date(2015, 1, 31))))
    if deduplicate is not None and deduplicate.ngram <= words:
        raise ValueError(
            f"filters: date-line has {words} words, and deduplicate.ngram {deduplicate.ngram} would take it for "
            f"repeated text; give an ngram above {words}"
        )
