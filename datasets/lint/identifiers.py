"""Identifiers that carry a date: arXiv, CVE, series of numbers that only grow, laws and memoranda.

None of these can be written before it exists, so the words around it do not matter.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

from ticlm.datasets.lint.finding import Finding
from ticlm.datasets.lint.tables import first_day, table

RULES = ("arxiv", "cve", "number")

_PATTERNS = (
    # kind, what each of them begins with, the pattern: plain searches find in which text to look at all
    ("arxiv", ("rXiv", "rxiv"), r"\b[aA]r[xX]iv(?:\.org/(?:abs|pdf|html)/|[:\s]+)(\d{2})(0[1-9]|1[0-2])\.\d{4,5}\b"),
    ("cve", ("CVE-20",), r"CVE-(20\d\d)-\d{4,}"),
    ("pep", ("PEP",), r"PEP[-\s]?(?:0{1,2})?(\d{3})\b"),
    ("rfc", ("RFC",), r"RFC[-\s]?(\d{4})\b"),
    ("rfc", ("/rfc",), r"/rfc(\d{4})\b"),
    ("order", ("Executive Order", "E.O.", "EO "), r"\b(?:Executive Order|E\.O\.|EO)\s+(?:No\.\s+)?(1[34]\d{3})\b"),
    ("law", ("Law", "L."), r"\b(?:Public\s+Law|P\.\s?L\.|Pub\.\s?L\.)\s+(?:No\.\s+)?(1[12]\d)[-–](?:\d{1,3})\b"),
    ("memo", ("M-1", "M-2"), r"\bM-([12]\d)-\d\d\b"),
)
_SERIES = {"pep": "pep", "rfc": "rfc", "order": "executive-order"}
_CVE_DAYS = 100
"""Days before its year from which on a CVE may be met: blocks of a new year's ids are reserved in autumn."""


def identifier_findings(text: str, day: date) -> Iterator[Finding]:
    """Yield a finding for each identifier that did not exist on `day`."""
    for kind, triggers, pattern in _PATTERNS:
        if not any(trigger in text for trigger in triggers):
            continue
        for hit in re.finditer(pattern, text):
            first = _first_day(kind, [int(part) for part in hit.groups()])
            if first is not None and first > day:
                yield Finding(kind if kind in RULES else "number", hit.group(), first, hit.start(), hit.end(), kind)


def _first_day(kind: str, numbers: list[int]) -> date | None:
    match kind, numbers:
        case "arxiv", [year, month]:
            return date(2000 + year, month, 1) if year < 50 else None
        case "cve", [year]:
            return date(year, 1, 1) - timedelta(days=_CVE_DAYS)
        case "law", [congress]:
            # a congress begins on 3 January of an odd year: the 113th in 2013
            return date(2013 + 2 * (congress - 113), 1, 3)
        case "memo", [fiscal]:
            # memoranda of the OMB count fiscal years, which begin in October; some are drafted shortly before
            return date(1999 + fiscal, 9, 1)
        case _, [number] if kind in _SERIES:
            return _in_series(_SERIES[kind], number)
    return None


def _in_series(name: str, number: int) -> date | None:
    series = table("numbers.yaml")[name]
    below = [known for known in series["first"] if known <= number]
    if not below or (name == "rfc" and number > 9999):
        return None
    return first_day(series["first"][max(below)]) - timedelta(days=series["margin"])
