"""A filter of texts that are later than their stated date, by the rules of the leak lint."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Literal

from ticlm.core.settings import Settings
from ticlm.datasets.io.documents import Document
from ticlm.datasets.lint import linting, rules

REASON = "later than its date"


class LintedBy(Settings):
    """What determines the texts that the filter changes: its action, and the rules and tables of the lint."""

    action: str
    rules: str


class LaterThanItsDate(Settings):
    """Leave out documents whose text cannot be as old as their date (`ticlm data lint` has the rules), or date them
    anew.

    It sees one document, so the rules that learn from a corpus (series of numbers, names, copies) are not applied. They
    need `ticlm data lint` on the recipe.
    """

    kind: Literal["later-than-its-date"] = "later-than-its-date"
    action: Literal["drop", "move"] = "drop"
    """`drop` leaves the document out, counted under the rule that found it. `move` gives it the latest date that was
    found as its date: it belongs to that date's period, where this step counts it as edited."""

    @property
    def identity(self) -> Settings:
        return LintedBy(action=self.action, rules=linting.rules_hash())

    @property
    def moving(self) -> bool:
        """Return whether documents may get another date."""
        return self.action == "move"

    def __call__(self, document: Document) -> Document | str:
        found = rules.findings(document.text, document.timestamp.date())
        if not found:
            return document
        latest = max(found, key=lambda one: one.earliest)
        if self.action == "drop":
            return f"{REASON}: {latest.rule}"
        day = latest.earliest
        return replace(document, timestamp=datetime(day.year, day.month, day.day, tzinfo=document.timestamp.tzinfo))
