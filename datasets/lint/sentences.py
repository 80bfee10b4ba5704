"""The sentence around a date, and the words in it that say whether the date was past or still to come."""

from __future__ import annotations

import re
from typing import Literal

Tense = Literal["stamp", "past", "future", "neutral"]
"""How a sentence uses a date: as the date of the text itself, as past, as still to come, or without a word on it."""

REACH = 240
"""Characters to look at on either side of a date; longer sentences are lists."""
_END = re.compile(r"""[.!?][)"”’*_\]]*\s+(?=[A-Z\[*“"(#])|\n\s*\n|\n\s*(?=[-*#+>|]|\d+\.\s)""")

_STAMP = re.compile(
    r"(?:last\s+(?:updated|modified|edited|reviewed|revised|changed)|page\s+(?:updated|reviewed)|updated|modified|"
    r"published|posted|retrieved|accessed|archived|crawled|date\s+(?:published|posted|modified))"
    r"(?:\s+(?:on|at|date|in))?\s*[:\-–—]?\s*(?:\w{3,6}day,?\s+)?[*_(\[]*$",
    re.IGNORECASE,
)
_NOT_STAMPED = re.compile(r"(?:be|being|get|until|when|once|if|to)\s+(?:\w+ly\s+)?$", re.IGNORECASE)

_ATTACHED_FUTURE = re.compile(
    r"\b(?:years? from|EO[YM]|by|until|till|thru|through|to|beyond|before|after|past|starting|beginning|effective|"
    r"for|ahead of|of|in time for|around|toward|towards|into|within|during|"
    r"no later than|as (?:early|late|soon) as)\s+(?:about\s+|roughly\s+|~\s*)?"
    r"(?:the\s+)?(?:(?:very\s+)?(?:end|start|beginning|middle|close|turn|fall|spring|summer|winter|autumn|first|second|"
    r"third|fourth|last|early|mid|late|year|years|half|quarter|holidays?|Q[1-4]|H[12])[\s\-]*(?:of\s+|in\s+)?(?:the\s+)?"
    r"(?:half|quarter|year|years)?\s*(?:of\s+|in\s+)?)*(?:calendar\s+|fiscal\s+|FY\s*)?$",
    re.IGNORECASE,
)
_PAST_ATTACHED = re.compile(r"\b(?:since|back in|as of|ended|ending in)\s+(?:early|mid|late)?[\s\-]*$", re.IGNORECASE)

_FUTURE = re.compile(
    r"\b(?:will|shall|would|won['’]t|may|might|could|should|must|can|"
    r"plan(?:s|ned|ning)?|roadmaps?|road[- ]map|milestones?|expect\w*|projections?|projected|projects? that|"
    r"forecast\w*|estimat\w+|predict\w*|targets?|targeted|targeting|goals?|deadlines?|due|schedul\w+|upcoming|forthcoming|"
    r"in press|to appear|future|next|tomorrow|propos\w+|aim\w*|hop(?:e|es|ing)|going to|intend\w*|intent|expir\w+|"
    r"valid|effective|slated|anticipat\w*|vision|strateg\w+|agenda|pledg\w+|mandat\w+|requires?|required|request\w*|"
    r"authori[sz]\w+|appropriat\w+|FY|fiscal|budget\w*|grants?|funding|edition|editions|conference|conf|summit|"
    r"symposium|workshop|meetup|meet[- ]up|congress|festival|hackathon|webinars?|events?|register|registration|rsvp|"
    r"save the date|join us|see you|attend\w*|calendar|timeline|call for|cfp|submi\w+|appl(?:y|ies|ication|ications)|"
    r"nominat\w+|challenge|competition|contest|awards?|sunset\w*|retir(?:e|es|ing)|phase[sd]?|phasing|"
    r"end[- ]of[- ]life|eol|support(?:ed)? (?:until|through)|lts|renew\w*|leases?|contracts?|terms?|tomorrow|later|"
    r"removed|(?:will|is|are|be) released|last to|"
    r"begin(?:s|ning)?|starts?|starting|deliver\w*|complete by|available (?:in|by)|coming|soon|eventually|"
    r"long[- ]term|outlook|census|election|olympics?|world cup|candidates?|campaign|presidential|if|unless|"
    r"prepar\w+|wants?|look(?:s|ing)? (?:ahead|forward)|imagine|scenario|horizon|generation|y2k|unix|timestamp|"
    r"overflow|utc|epoch|test vector|example|e\.g|lock ?time|halving|schedule[sd]?|transition\w*|"
    r"assume\w*|suppose|hypothetical\w*|science fiction|novel|movie|film)\b|['’](?:ll|d)\b",
    re.IGNORECASE,
)
_PAST = re.compile(
    r"\b(?:was|were|had|did|said|told|wrote|became|began|got|made|came|went|led|took|saw|held|found|grew|fell|rose|won|"
    r"lost|met|gave|sold|bought|built|brought|sent|spent|left|kept|ran|hit|drew|chose|broke|spoke|taught|thought|knew|"
    r"felt|showed|ago|previously|recently|earlier|former|formerly|"
    r"(?!need|proposed|expected|planned|scheduled|estimated|projected|required|unlimited|limited|related|interested|"
    r"based|detailed|advanced|embed|feed|speed|shed|exceed|succeed|proceed|indeed|supposed|intended|targeted|united|"
    r"hundred|sacred|seed|breed|red|bed|led|fed)\w{2,}ed)\b",
    re.IGNORECASE,
)


def sentence(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what stands in the same sentence or list item before and after text[start:end]; no more than REACH
    characters of either."""
    before, after = text[max(0, start - REACH) : start], text[end : end + REACH]
    begin = max((end.end() for end in _END.finditer(before)), default=0)
    first = _END.search(after)
    return before[begin:], after[: first.start() if first else len(after)]


def tense(before: str, after: str) -> Tense:
    """Return how a sentence uses the date between `before` and `after`.

    A word on the future wins over a verb in the past: "we planned to finish it in 2030" is no leak, and in a real text
    plans are far more frequent than leaks.
    """
    if (stamped := _STAMP.search(before)) and not _NOT_STAMPED.search(before[: stamped.start()]):
        return "stamp"
    if _ATTACHED_FUTURE.search(before[-60:]) or _FUTURE.search(before) or _FUTURE.search(after):
        return "future"
    if _PAST_ATTACHED.search(before[-30:]) or _PAST.search(before) or _PAST.search(after):
        return "past"
    return "neutral"
