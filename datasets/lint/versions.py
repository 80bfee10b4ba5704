"""Versions of software that was released after the date of a text, by the packaged table of releases."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import Any

from ticlm.datasets.lint.finding import Finding
from ticlm.datasets.lint.first_words import first_word
from ticlm.datasets.lint.sentences import is_planned, sentence
from ticlm.datasets.lint.tables import first_day, table

RULES = ("version",)
PLANNED_DAYS = 400
"""Days that a version may lie ahead, the margin of its product included, if the sentence is about what is to come."""
Number = tuple[int, ...]
_MADE_BY = re.compile(r"""(?:powered by|generated (?:by|with)|generator["']?(?: content=["'])?:?)\s*$""", re.IGNORECASE)
_WORDS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-./")
"""A product's name is no part of a longer word or path."""


@dataclass(frozen=True)
class Releases:
    """The releases of a product: the earliest day of each version that is known, margin taken off."""

    margin: timedelta
    first: tuple[tuple[Number, date], ...] = ()
    start: date | None = None
    every: int = 0
    major: int = 1
    from_number: bool = False

    def earliest(self, number: Number) -> date | None:
        """Return the first day on which this version can be spoken of, or None if it is not known."""
        if self.from_number:
            year, month = 2000 + number[0], number[1] if len(number) > 1 else 0
            return date(year, month, 1) - self.margin if 1 <= month <= 12 and 4 <= number[0] < 50 else None
        if self.start is not None:
            if len(number) < 2 or number[0] != self.major or not 0 < number[1] <= 400:
                return None
            return self.start + timedelta(days=self.every * number[1]) - self.margin
        below = [released for known, released in self.first if known <= number and _same_kind(known, number)]
        return max(below) - self.margin if below else None


def version_findings(text: str, words: Set[bytes], day: date) -> Iterator[Finding]:
    """Yield a finding for each version in `text` that nobody spoke of on `day`. `words` are the words of the text."""
    products = _products()
    for key in products.keys() & words:
        for word, releases in products[key]:
            for hit in _pattern(word).finditer(text):
                if text[max(0, hit.start() - 1) : hit.start()] in _WORDS:
                    continue
                number = tuple(int(part) for part in hit.group(1).split("."))
                first = releases.earliest(number)
                made_by = bool(_MADE_BY.search(text[max(0, hit.start() - 30) : hit.start()]))
                if first is not None and made_by:
                    first += releases.margin  # a page can only be made by what was released
                if first is None or first <= day:
                    continue
                ahead = (first - day).days
                if made_by or ahead > PLANNED_DAYS or not is_planned(*sentence(text, hit.start(), hit.end())):
                    yield Finding("version", hit.group(), first, hit.start(), hit.end())


def _same_kind(known: Number, number: Number) -> bool:
    """Return whether the entry can speak for a version: no product is more than 30 versions behind the table, so a
    larger number is another thing (Windows 95, iPhone 4000)."""
    return number[0] <= known[0] + 12


@cache
def _products() -> dict[bytes, list[tuple[str, Releases]]]:
    """Return the names of products with their releases, by first words."""
    found: dict[bytes, list[tuple[str, Releases]]] = {}
    for row in table("versions.yaml"):
        for word in row["words"]:
            found.setdefault(first_word(word), []).append((word, _releases(row)))
    return found


def _releases(row: dict[str, Any]) -> Releases:
    first = tuple(
        (tuple(int(part) for part in number.split(".")), first_day(released))
        for number, released in row.get("first", {}).items()
    )
    return Releases(
        margin=timedelta(days=row["margin"]),
        first=first,
        start=row.get("from") and first_day(row["from"]),
        every=row.get("every", 0),
        major=row.get("major", 1),
        from_number=row.get("from_number", False),
    )


@cache
def _pattern(word: str) -> re.Pattern[str]:
    """Return the pattern of a product's version. It begins with the plain word, which `re` finds by a fast search."""
    # a version is no price, time or share: `iPhone 6,000`, `Windows 10:30`, `Go 12%`
    return re.compile(rf"{re.escape(word)}(?:[ \n](?:version |v)?|[-/]v?)(\d{{1,3}}(?:\.\d{{1,3}})*)(?![\w%]|[.,:]\d)")
