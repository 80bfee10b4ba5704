"""Sentences of a paragraph: the one way in which diffs, rules and searches cut a text."""

from __future__ import annotations

import re

_GAP = re.compile(r"(?<=[.!?])([\"”’»)\]]*)\s+(?=\S)")
"""The end of a sentence, with the quotation marks and brackets that close after it."""
_TITLES = "Dr|Mr|Mrs|Ms|Messrs|Prof|St|Ste|Mt|Ft|Gen|Col|Lt|Capt|Cpt|Sgt|Maj|Adm|Rev|Hon|Gov|Sen|Rep|Pres"
_NO_END = re.compile(rf"(?<!\w)(?:{_TITLES}|vs|v|cf|e\.g|i\.e|Bros|Dept)\.$")
_MAYBE = re.compile(r"(?<!\w)(?:[^\W\d_a-z]|Jr|Sr|al)\.$")
"""Initials and what follows a name, which end a sentence or not: it depends on the next word."""
STARTERS = (
    "(?:A|After|All|Also|Although|An|As|At|Because|Before|But|By|During|Each|For|From|He|Her|His|How|However|If|In|It|Its"
    "|On|Our|She|Since|Some|Such|That|The|Their|Then|There|These|They|This|Those|To|Under|Until|We|When|Where|Which|While"
    "|With)(?= )"
)
"""Words that begin sentences and are no surnames."""
_STARTER = re.compile(STARTERS)
_BEFORE_DIGITS = re.compile(
    r"(?<!\w)(?:Nos?|pp?|[Vv]ol|[Ff]ig|Op|ca?|approx|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.$"
)
_LONGEST = 8
"""Characters before the end of a sentence that an abbreviation is looked for in."""


def spans(paragraph: str) -> list[tuple[int, int]]:
    """Return the characters [begin, end) of each sentence, without the spaces around it.

    A sentence ends at `.`, `!` or `?` and the quotation marks or brackets that close there, before a space, unless a
    small letter follows or the word before is a common abbreviation: "3.14", "e.g. this" and "Dr. Bach" stay whole. So
    do "J. S. Bach" and "the U.S. Army", but not "the U.S. He left": an initial ends a sentence before one of STARTERS.
    """
    found = []
    begin, text = len(paragraph) - len(paragraph.lstrip()), paragraph.rstrip()
    for gap in _GAP.finditer(text, begin):
        if not _goes_on(text, begin, gap.start(), gap.end()):
            found.append((begin, gap.end(1)))
            begin = gap.end()
    return [*found, (begin, len(text))] if begin < len(text) else found


def sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph, without the spaces around them."""
    return [paragraph[begin:end] for begin, end in spans(paragraph)]


def _goes_on(text: str, begin: int, end: int, following: int) -> bool:
    """Return whether the sentence from `begin` goes on behind the mark at `end`, with the character at `following`."""
    first, before = text[following], max(begin, end - _LONGEST)
    if first.islower() or _NO_END.search(text, before, end):
        return True
    if _MAYBE.search(text, before, end):
        return not _STARTER.match(text, following)
    return first.isdigit() and _BEFORE_DIGITS.search(text, before, end) is not None
