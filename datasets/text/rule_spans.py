"""Dates, numbers, ordinals and names of a text, by rules.

A span that is part of a longer name would make a question with half an answer ("Robert E" of "Robert E. Lee"). So names
are read as runs of words that hang together, and where the end of a run is not certain nothing of it is a span.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal

from ticlm.datasets.text.overlap import FUNCTION_WORDS
from ticlm.datasets.text.sentences import STARTERS
from ticlm.datasets.text.spans import Span

SpanLabel = Literal["DATE", "NAME", "NUMBER", "ORDINAL"]

_MONTH = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?|Sept?(?:ember)?|Oct(?:ober)?"
    r"|Nov(?:ember)?|Dec(?:ember)?)\b\.?"
)
_YEAR = r"(?:1[0-9]|20)[0-9]{2}"
_DAY = r"[0-9]{1,2}(?:st|nd|rd|th)?"
_ERA = r"(?:BCE?|CE|AD|B\.C\.|A\.D\.)"
_DIGITS = re.compile(r"[0-9]+")
_FROM_DIGITS = re.compile(
    rf"{_DAY} {_MONTH}(?:,? {_YEAR}\b)?"
    rf"|{_YEAR}-[0-9]{{2}}(?:-[0-9]{{2}})?\b|[0-9]{{1,2}}/[0-9]{{1,2}}/[0-9]{{2,4}}\b"
    rf"|[0-9]+(?:st|nd|rd|th)[ -](?:century|centuries|millennium)\b(?: {_ERA}(?!\w))?"
    rf"|[0-9]+(?:[–-][0-9]+)? {_ERA}(?!\w)"
    rf"|{_YEAR}[–-](?:{_YEAR}|[0-9]{{2}})\b"
    rf"|{_YEAR}s?\b(?![–:/.-][0-9])"
)
_ERA_YEAR = re.compile(r"[0-9]+\b(?![–:/.-][0-9])")
_MONTHS = re.compile("Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec")
_FROM_MONTH = re.compile(rf"{_MONTH} (?:{_DAY}\b(?:,? {_YEAR}\b)?|{_YEAR}\b)")
_BEFORE_DATE = re.compile(r"(?<!\w)(?:(mid-)|(?:AD|A\.D\.) )$")
_NUMBER = re.compile(
    r"[0-9]+(?:[.,:/–−-][0-9]+)*\b%?(?: (?:hundred|thousand|million|billion|trillion)\b)?(?!%|-\w|[.,:/–−][0-9])"
)
_SIGN = re.compile(r"(?:(?<![\w)\]%–−-])[–−-])?[$€£]?$")
_HALVES = frozenset(".,:/–−-")
"""Marks before a number that make it the rest of something: 19 of "covid-19", 5 of ".5"."""
_ORDINAL = re.compile(r"[0-9]+(?:,[0-9]{3})*(?:st|nd|rd|th)\b(?!-\w)")
_BARE = re.compile(rf"{_YEAR}s?|{_YEAR}[–-][0-9]+")

_UPPER = "".join(one for one in map(chr, range(0x2000)) if one.isupper() or one.istitle())
"""Capital letters of the alphabets that have two cases."""
_WORD = rf"[{_UPPER}][\w&'’ʼ]*(?:-[{_UPPER}0-9][\w'’ʼ]*)*(?!-?\w)"
_PART = (
    rf"(?:(?:[{_UPPER}]\.-?)+(?= ?[{_UPPER}])(?! {STARTERS})"  # initials: J. S. Bach, the U.S. Army
    rf"|(?:[{_UPPER}]\.){{2,}}"
    rf"|(?:Dr|Mr|Mrs|Ms|St|Ste|Mt|Ft|Jr|Sr)\.|Nos?\. ?[0-9]+"
    rf"|[0-9]+(?:st|nd|rd|th)(?= [{_UPPER}])|{_WORD})"
)
_INSIDE = r"(?:of (?:the )?|(?:de|del|della|di|da|do|dos|das|du|des|von|van|bin|ibn) (?:la |las |los |le |der |den )?)"
"""Small words within names."""
_UNSURE = r"(?:(?:and|&|for|with) (?:the )?)"
"""Small words within names and between them: "Romeo and Juliet", "London and New York"."""
_START = re.compile(rf"[{_UPPER}0-9](?<![\w'’ʼ-].)")
_RUN = re.compile(rf"{_PART}(?: (?:{_INSIDE}|{_UNSURE})?{_PART})*")
_AND = re.compile(r" (?:and|&) (?!the )")
_BREAK = re.compile(rf" {_UNSURE}")
_BEGINS = re.compile(r"(?:^|[.!?:\n])[\s\"'“‘(\[*#>-]*\Z")
"""What stands before the first word of a sentence."""
_GOES_ON = re.compile(rf" [0-9]|: [\"“‘']?[{_UPPER}]|[-–][\w]|[.,:/][0-9]")
"""What stands behind a run of words that may be the beginning of a longer name: Apollo 11, Star Wars: A New Hope."""
_POSSESSIVE = re.compile(r"['’ʼ]s?$")
_OPENERS = frozenset(["around", "among", "circa", "late", "since", "some", "throughout", "within"])
"""Words beside the function words that begin a sentence without being a name."""


def rule_spans(text: str) -> dict[SpanLabel, list[Span]]:
    """Return what the rules find in a text, by kind."""
    runs = [match.span() for match in _runs(text) if not _is_opener(text, match)]
    found = _from_digits(text)
    bare = [one for one in found["DATE"] if _BARE.fullmatch(text, one.begin, one.end)]
    dates = [one for one in found["DATE"] if not _BARE.fullmatch(text, one.begin, one.end)]
    for month in _MONTHS.finditer(text):  # searching for the whole pattern takes several times as long
        if (date := _FROM_MONTH.match(text, month.start())) and not _is_word(text, month.start() - 1):
            dates.append(Span(*date.span(), "DATE"))
    return {
        "DATE": [*dates, *_beside(bare, runs, text)],
        "NAME": [span for begin, end in runs if _several(text[begin:end]) for span in _names(text, begin, end)],
        "NUMBER": _beside(found["NUMBER"], runs, text),
        "ORDINAL": _beside(found["ORDINAL"], runs, text),
    }


def _runs(text: str) -> Iterator[re.Match[str]]:
    """Yield the longest runs of capitalised words, and of the small words and ordinals within names."""
    end = 0
    for start in _START.finditer(text):
        if start.start() >= end and (run := _RUN.match(text, start.start())):
            end = run.end()
            yield run


def _from_digits(text: str) -> dict[SpanLabel, list[Span]]:
    """Return the dates, numbers and ordinals that begin with a digit, or with what belongs before it."""
    found: dict[SpanLabel, list[Span]] = {"DATE": [], "NUMBER": [], "ORDINAL": []}
    date_end = number_end = 0
    for begin in (match.start() for match in _DIGITS.finditer(text)):
        if _is_word(text, begin - 1):
            continue
        before = _BEFORE_DATE.search(text, max(0, begin - 6), begin)
        era = before is not None and before[1] is None
        if begin >= date_end and (date := (_ERA_YEAR if era else _FROM_DIGITS).match(text, begin)):
            date_end = date.end()
            found["DATE"].append(Span(begin if before is None else before.start(), date_end, "DATE"))
        if ordinal := _ORDINAL.match(text, begin):
            found["ORDINAL"].append(Span(*ordinal.span(), "ORDINAL"))
        if begin >= number_end and (number := _NUMBER.match(text, begin)):
            number_end = number.end()
            sign = _SIGN.search(text, max(0, begin - 2), begin)
            start = begin if sign is None else sign.start()
            if start == 0 or text[start - 1] not in _HALVES:
                found["NUMBER"].append(Span(start, number_end, "NUMBER"))
    return found


def _is_word(text: str, at: int) -> bool:
    """Return whether there is a letter, a digit or an underscore at a place of a text."""
    return at >= 0 and (text[at].isalnum() or text[at] == "_")


def _is_opener(text: str, match: re.Match[str]) -> bool:
    """Return whether a run is the first word of a sentence alone, and no name: "In 1995", "Nearly 40"."""
    word = match[0].lower()
    known = word in FUNCTION_WORDS or word in _OPENERS or word.endswith("ly")
    return known and _begins(text, match.start())


def _begins(text: str, at: int) -> bool:
    return _BEGINS.search(text[max(0, at - 10) : at]) is not None


def _beside(numbers: Sequence[Span], runs: Sequence[tuple[int, int]], text: str) -> list[Span]:
    """Return the numbers that neither overlap with a run of capitalised words nor follow one, as in "Apollo 11"."""
    begins, kept = [begin for begin, _ in runs], []
    for span in numbers:
        nearest = bisect_left(begins, span.end) - 1
        end = runs[nearest][1] if nearest >= 0 else -2
        if not (span.begin < end or (span.begin == end + 1 and text[end] == " ")):
            kept.append(span)
    return kept


def _names(text: str, begin: int, end: int) -> Iterator[Span]:
    """Yield the names of a run of words: the whole of it, or both sides of an "and" if each has two words or more."""
    if _begins(text, begin) or _GOES_ON.match(text, end):
        return
    run = text[begin:end]
    pieces = _AND.split(run)
    if any(_BREAK.search(piece) for piece in pieces) or (len(pieces) > 1 and not all(map(_several, pieces))):
        return
    at = begin
    for piece in pieces:
        at = text.index(piece, at)
        if _several(piece):
            yield Span(at, at + len(_POSSESSIVE.sub("", piece)), "NAME")
        at += len(piece)


def _several(name: str) -> bool:
    """Return whether a name has two words or more, without which it could be any word with a capital."""
    return " " in name
