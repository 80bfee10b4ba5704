"""The rules that read one text: each gives findings, and all of them together are `findings`."""

from __future__ import annotations

from datetime import date

from ticlm.datasets.lint import dates, identifiers, names, offices, versions
from ticlm.datasets.lint.finding import Finding
from ticlm.datasets.lint.first_words import words_of
from ticlm.datasets.lint.names import NOTHING_ADDED, KnownNames

VERSION = 1
"""Raise it when the same text and tables begin to give other findings."""
RULES = (*dates.RULES, *identifiers.RULES, *versions.RULES, *offices.RULES, *names.RULES)
"""The names of the rules, in the order of the report; those that compare texts are in `learned.RULES`."""


def findings(text: str, day: date, known: KnownNames = NOTHING_ADDED) -> tuple[Finding, ...]:
    """Return the signs that `text` is later than `day`, the last day that it may be from, in the order of the text.

    The result depends on the arguments and the packaged tables alone.
    """
    words = words_of(text)
    found = [
        *dates.date_findings(text, day),
        *identifiers.identifier_findings(text, day),
        *versions.version_findings(text, words, day),
        *offices.office_findings(text, words, day),
        *names.name_findings(text, words, day, known),
    ]
    return tuple(sorted(found, key=lambda one: (one.start, one.end, one.rule)))
