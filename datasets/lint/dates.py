"""Dates that a text states: days, months and years in prose, in URLs, in copyrights and in stamps of pages.

A later date alone is no sign: texts announce events and plan years ahead. So the words around it decide
(`sentences.tense`), and how far ahead it lies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import NamedTuple

from ticlm.datasets.lint.finding import Finding
from ticlm.datasets.lint.sentences import sentence, tense

RULES = ("date", "month", "year", "url", "copyright", "stamp")

STAMP_DAYS = 7
"""Days that the date of the text itself (`last updated …`) may lie ahead: time zones, posts that are dated early."""
URL_DAYS = 31
"""Days that a path such as /2024/05/ may lie ahead: posts that are written before they are published."""
PAST_DAYS = 31
"""Days that a date of which the text speaks as past may lie ahead."""
NEUTRAL_DAYS = {"date": 400, "month": 400, "year": 760}
"""Days from which on a date without a word on it is a sign: events are announced up to a year before. A year alone may
be a number of many things, and plans name years: two whole years."""

ANNOUNCED_DAYS = 760
"""Days from which on the day or month of an event is a sign: nobody announces a meeting two years before."""

YEAR = re.compile(r"20[0-4]\d(?!\d)")  # begins with plain characters: `re` then searches twenty times as fast
"""Each year that could be later than some date. A year in words, of two digits, or after 2049 is not found."""
_DIGITS = frozenset("0123456789.")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = {name: number for number, name in enumerate(_MONTHS, 1)}
_NAMES = r"(Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?|"
_NAMES += r"Nov(?:ember)?|Dec(?:ember)?)\.?"
_MONTH_DAY = re.compile(rf"\b{_NAMES}\s+(?:the\s+)?(\d{{1,2}})(?:st|nd|rd|th)?,?\s+$")
_DAY_MONTH = re.compile(rf"(?<!\d)(\d{{1,2}})(?:st|nd|rd|th)?\s+(?:of\s+)?{_NAMES},?\s+$")
_MONTH_ONLY = re.compile(rf"\b{_NAMES},?\s+(?:of\s+)?$")
_SLASHED = re.compile(r"(?<![\d/])(\d{1,2})/(\d{1,2})/$")
_ISO = re.compile(r"[-/](0[1-9]|1[0-2])[-/](0[1-9]|[12]\d|3[01])(?!\d)")
_ISO_MONTH = re.compile(r"-(0[1-9]|1[0-2])(?![\d-])")
_PATH = re.compile(r"/(0[1-9]|1[0-2])(?:/(0[1-9]|[12]\d|3[01]))?/")
_URL_END = re.compile(r"[\s)>\"'\]]")
_IN_URL = re.compile(r"(?:https?:|www\.|\]\(|href=|src=|!\[)[^\s<>\"']*$")
_EVENT_URL = re.compile(r"event|meetup|calendar|conf|schedule|webinar|summit|register|agenda|deadline|session", re.I)
_COPYRIGHT = re.compile(r"(?:©|\(c\)|&copy;|copyright)[^\n]{0,40}$", re.IGNORECASE)
_NO_YEAR_BEFORE = re.compile(
    r"(?:[$€£¥#№~×@=+%&_\d/]|\d[,.]|[A-Za-z]-|\w/|[A-Za-z]|[-–—]\s?\d*|[Rr]oom |[Pp]ort |[Pp]ages? |pp?\.\s?|"
    r"\b[A-Z]{2,8}s? |\b(?:[Ii]ssues?|[Nn]umbers?|[Nn]o\.|[Tt]rack(?:er)?|[Cc]ode|[Bb]lock|[Vv]ersion|[Mm]odel|"
    r"[Ss]ection|[Cc]hapter) )$"
)
_NO_YEAR_AFTER = re.compile(
    r"(?:[,.]\d|[-_/]?[A-Za-z_@#%=]|\s?(?:%|°|px|[kMGT]?Hz|[kMGT]i?B\b|ms\b|bits?\b|bytes?\b|[kKMm]\b|people|users|lines|"
    r"words|votes|stars|sats?|satoshis?|vbytes?|BTC|blocks?|commits?|issues?|pages?|miles|dollars|edition|Edition)|"
    r"\s?[-–—]\s?\d|/\d{2,4})"
)
_EDITION = re.compile(r"\b(?:Rust|rust|edition|Edition|edition\s?=\s?\")\s*[\"'`]?$")


class StatedDate(NamedTuple):
    """A date in a text: the rule that reads it, its first day, and its span."""

    rule: str
    first: date
    start: int
    end: int


def date_findings(text: str, day: date) -> Iterator[Finding]:
    """Yield a finding for each date in `text` that is later than `day`, and of which the text does not speak as still
    to come."""
    for found in stated_dates(text, day):
        why = _why(text, found, (found.first - day).days)
        if why is not None:
            rule = "stamp" if why == "stamp" else found.rule
            yield Finding(rule, text[found.start : found.end], found.first, found.start, found.end, why)


def stated_dates(text: str, day: date) -> Iterator[StatedDate]:
    """Yield the dates in `text` that begin after `day`, whatever the text says of them."""
    for hit in YEAR.finditer(text):
        year = int(hit.group())
        if year < day.year or text[max(0, hit.start() - 1) : hit.start()] in _DIGITS:
            continue
        found = _stated(text, hit.start(), hit.end(), year)
        if found is not None and found.first > day:
            yield found


def _why(text: str, found: StatedDate, ahead: int) -> str | None:
    """Return how the text uses the date if that makes it a sign, else None."""
    if found.rule == "url":
        return "path" if ahead > URL_DAYS else None
    if found.rule == "copyright":
        return "copyright" if ahead > PAST_DAYS else None
    how = tense(*sentence(text, found.start, found.end))
    if how == "future" or (how == "announced" and found.rule == "year"):
        return None
    limits = {"stamp": STAMP_DAYS, "past": PAST_DAYS, "announced": ANNOUNCED_DAYS}
    return how if ahead > limits.get(how, NEUTRAL_DAYS[found.rule]) else None


def _stated(text: str, start: int, end: int, year: int) -> StatedDate | None:
    """Return the date whose year is text[start:end], or None if that is no year, or says nothing."""
    before, after = text[max(0, start - 24) : start], text[end : end + 24]
    word = text[max(0, start - 200) : start].rsplit(None, 1)[-1] if before[-1:].strip() else ""
    if word and _IN_URL.search(word):
        return _in_url(text, start, end, year)
    if iso := _ISO.match(after):
        return _made("date", year, iso.group(1), iso.group(2), start, end + iso.end())
    if (iso := _ISO_MONTH.match(after)) and int(iso.group(1)) != (year + 1) % 100 and not before.endswith(("-", "/")):
        return _made("month", year, iso.group(1), 1, start, end + iso.end())
    if named := _MONTH_DAY.search(before):
        return _made("date", year, named.group(1), named.group(2), start - len(before) + named.start(), end)
    if named := _DAY_MONTH.search(before):
        return _made("date", year, named.group(2), named.group(1), start - len(before) + named.start(), end)
    if named := _MONTH_ONLY.search(before):
        return _made("month", year, named.group(1), 1, start - len(before) + named.start(), end)
    if slashed := _SLASHED.search(before):  # 3/4/2024 is read as the earlier of its two days
        first = min(int(slashed.group(1)), int(slashed.group(2)))
        return _made("date", year, first, 1, start - len(before) + slashed.start(), end)
    if _COPYRIGHT.search(text[max(0, start - 50) : start]):
        return _made("copyright", year, 1, 1, start, end)
    if _NO_YEAR_BEFORE.search(before) or _NO_YEAR_AFTER.match(after) or _EDITION.search(before):
        return None
    return _made("year", year, 1, 1, start, end)


def _in_url(text: str, start: int, end: int, year: int) -> StatedDate | None:
    """Return the date of a path or file name; a year alone in a URL may be the name of an event or of a plan."""
    left = max(text.rfind(mark, 0, start) for mark in " \n\t(<\"'[") + 1
    right = _URL_END.search(text, end)
    url = text[left : right.start() if right else len(text)]
    if _EVENT_URL.search(url):
        return None
    after = text[end : end + 12]
    found = _PATH.match(after) if text[start - 1 : start] == "/" else None
    found = found or _ISO.match(after)
    return found and _made("url", year, found.group(1), found.group(2) or 1, start, end + found.end())


def _made(rule: str, year: int, month: str | int, day: str | int, start: int, end: int) -> StatedDate | None:
    number = _MONTH[month[:3].lower()] if isinstance(month, str) and month[0].isalpha() else int(month)
    try:
        return StatedDate(rule, date(year, number, int(day)), start, end)
    except ValueError:  # 31 June is no date, and no sign
        return None
