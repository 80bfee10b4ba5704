"""What the lint reads and finds: a dated text, and a sign in it that the text is later than its date."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date


@dataclass(frozen=True, slots=True)
class Finding:
    """A sign that a text is later than its date: the rule, what matched, and the first day it can be from.

    `start` and `end` are the span of the match in the text, in characters. `why` says what the match is, if the rule
    alone does not.
    """

    rule: str
    matched: str
    earliest: date
    start: int
    end: int
    why: str = ""


@dataclass(frozen=True, slots=True)
class LintText:
    """A text to lint: `day` is the last day it may be from, `period` the label of its period.

    `id` is its url if it is known: copies of one id are one page that was crawled again. Rules that learn names compare
    texts of one `source` only.
    """

    text: str
    day: date
    period: str
    id: str = ""
    source: str = ""
