"""Holders of offices who are named with their title before they held it, by the facts of the recipe `world-facts`."""

from __future__ import annotations

import csv
import hashlib
import io
import re
from collections.abc import Iterator, Set
from datetime import date, timedelta
from functools import cache
from importlib.resources import files

from ticlm.datasets.lint.finding import Finding
from ticlm.datasets.lint.first_words import by_first_word

RULES = ("office",)
TITLES = {
    "president": ("president",),
    "prime minister": ("prime-minister",),
    "chancellor": ("chancellor",),
    "premier": ("prime-minister", "regional-leader"),
    "ceo": ("chief-executive",),
    "chief executive": ("chief-executive",),
    "mayor": ("mayor",),
    "governor": ("governor",),
}
"""Titles as texts write them, and the categories of the facts that they stand for."""
_FILES = ("world_facts.csv", "world_changes.csv")
_MARGIN = timedelta(days=120)
"""Elections and appointments are known months before an office begins, and some texts give the title at once."""
_SURNAME = 5
"""Letters of the shortest surname that counts alone, after the title of a head of state or government: Lee, May and
Park are words or many people."""
_HEADS = ("President", "Prime Minister", "Chancellor", "Premier", "Mayor", "Governor")
_NAME = r"\s+([A-ZÀ-Þ][\w.’'-]*(?:\s+[A-ZÀ-Þa-z][\w.’'-]*){0,4})"
_HOLDER = {title: re.compile(title + _NAME) for title in (*_HEADS, "CEO", "Chief Executive", "chief executive")}
_BY_WORD = by_first_word(_HOLDER)
_OTHER = re.compile(r"(?i)\b(?:former|ex|then|future|vice|deputy|next|candidate|first|nominee|as|vice-)[\s,-]*$|\w$")


def office_findings(text: str, words: Set[bytes], day: date) -> Iterator[Finding]:
    """Yield a finding for each person whom `text` gives a title that they had not on `day`. `words` are the words of
    the text."""
    for title in sorted(title for word in _BY_WORD.keys() & words for title in _BY_WORD[word]):
        for hit in _HOLDER[title].finditer(text):
            if _OTHER.search(text[max(0, hit.start() - 20) : hit.start()]):
                continue
            name = _longest(hit.group(1).split(), _holders(TITLES[title.lower()]))
            if name and (first := _holders(TITLES[title.lower()])[name]) > day:
                end = hit.start(1) + len(name)
                yield Finding("office", f"{title} {name}", first, hit.start(), end, "before they held it")


def _longest(words: list[str], holders: dict[str, date]) -> str:
    """Return the longest name of a holder that `words` begin with, or none."""
    names = (" ".join(words[:count]).rstrip(".,;:’'") for count in range(len(words), 0, -1))
    plain = (name.removesuffix("’s").removesuffix("'s") for name in names)
    return next((name for name in plain if name in holders), "")


@cache
def _holders(categories: tuple[str, ...]) -> dict[str, date]:
    """Return each name of the holders of these categories, and the day from which on a text may give it the title.

    A name that the facts know only as one that was replaced has no such day, and neither has one that two people share
    of whom one was there before the facts begin.
    """
    facts = {row["fact"]: row["category"] for row in _rows(_FILES[0])}
    found: dict[str, date] = {}
    began = set[str]()
    for row in sorted(_rows(_FILES[1]), key=lambda row: row["month"]):
        if facts[row["fact"]] not in categories:
            continue
        first = date(int(row["month"][:4]), int(row["month"][4:]), 1) - _MARGIN
        began.update(name for name in row["old"].split("|") if name not in found)
        for name in row["new"].split("|"):
            alone = " " not in name
            if name not in began and (not alone or (len(name) >= _SURNAME and "chief-executive" not in categories)):
                found.setdefault(name, first)
    return found


@cache
def facts_hash() -> str:
    """Return the SHA-256 of the facts, which is part of the identity of what they find."""
    return hashlib.sha256("\0".join(map(_text, _FILES)).encode()).hexdigest()


def _rows(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(_text(name))))


def _text(name: str) -> str:
    # a file of a package above this one: its lines are data, and the recipe `world-facts` reads the same
    return files("ticlm.datasets.evalsets.dated_facts").joinpath(name).read_text(encoding="utf-8")
