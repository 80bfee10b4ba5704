"""The sentence around a date, and the words in it that say whether the date was past or still to come."""

from __future__ import annotations

import re
from typing import Literal

Tense = Literal["stamp", "past", "future", "announced", "neutral"]
"""How a sentence uses a date: as the date of the text itself, as past, as planned, as the date of something that is
announced before it happens (a conference), or without a word on it."""

REACH = 240
"""Characters to look at on either side of a date; longer sentences are lists."""
_END = re.compile(r"""[.!?][)"”’*_\]]*\s+(?=[A-Z\[*“"(#])|\n\s*\n|\n\s*(?=[-*#+>|]|\d+\.\s)""")

_STAMP = re.compile(
    r"(?:last\s+(?:updated|modified|edited|reviewed|revised|changed)|page\s+(?:updated|reviewed)|updated|modified|"
    r"reviewed|revised|corrected|edited|"
    r"version\s+(?:of|dated)|update|edit|correction|note|dated|published|posted|retrieved|accessed|archived|crawled|date\s+(?:published|posted|modified))"
    r"(?:\s+(?:on|at|date|in|of))?\s*[:\-–—]?\s*(?:\w{3,6}day,?\s+)?[*_(\[]*$",
    re.IGNORECASE,
)
_NOT_STAMPED = re.compile(r"(?:be|being|get|until|when|once|if|to)\s+(?:\w+ly\s+)?$", re.IGNORECASE)

_OF_A_YEAR = (
    r"\s+(?:about\s+|roughly\s+|~\s*)?(?:the\s+)?(?:(?:very\s+)?(?:end|start|beginning|middle|close|turn|fall|spring|"
    r"summer|winter|autumn|first|second|third|fourth|last|early|mid|late|year|years|half|quarter|holidays?|Q[1-4]|H[12])"
    r"[\s\-]*(?:of\s+|in\s+)?(?:the\s+)?(?:half|quarter|year|years)?\s*(?:of\s+|in\s+)?)*"
    r"(?:calendar\s+|fiscal\s+|FY\s*)?$"
)
"""What may stand between a preposition and a year: "by the end of", "in time for the second quarter of"."""
_FIRM = re.compile(
    r"\b(?:years? from|EO[YM]|by|thru|through|beyond|starting|beginning|effective|for|ahead of|in time for|within|"
    r"no later than|as (?:early|late|soon) as)" + _OF_A_YEAR,
    re.IGNORECASE,
)
"""Before a date that is set, whatever the tense: "the contract was awarded for 2019"."""
_LOOSE = re.compile(r"\b(?:until|till|to|before|after|past|around|toward|towards|into|during|of)" + _OF_A_YEAR, re.I)
"""Before a date that is as often past: "it stood until 2019". A verb in the past wins."""
_FROM_THEN = re.compile(r"\b(?:starting|beginning|until|before|by)\s+(?:with\s+)?(?:the\s+)?$", re.IGNORECASE)
_HAD = re.compile(r"\b(?:had|no longer|not any ?more|used to)\b", re.IGNORECASE)
"""By 2019 it had grown: past, whatever stands before the year."""
_PAST_ATTACHED = re.compile(r"\b(?:since|back in|as of|ended|ending in)\s+(?:early|mid|late)?[\s\-]*$", re.IGNORECASE)

_FUTURE = re.compile(
    r"\b(?:will|shall|would|won['’]t|may|might|could|should|must|can|plan(?:s|ned|ning)?|roadmaps?|road[- ]map|"
    r"milestones?|expect\w*|projections?|projected|projects? that|forecast\w*|estimat\w+|predict\w*|targets?|"
    r"targeted|targeting|goals?|deadlines?|due|schedul\w+|upcoming|forthcoming|in press|to appear|future|next|tomorrow|"
    r"propos\w+|aim\w*|hop(?:e|es|ing)|going to|intend\w*|intent|expir\w+|valid|effective|slated|anticipat\w*|vision|"
    r"strateg\w+|agenda|pledg\w+|mandat\w+|requires?|required|request\w*|sunset\w*|retir(?:e|es|ing)|phasing|"
    r"end[- ]of[- ]life|eol|support(?:ed)? (?:until|through)|lts|complete by|available (?:in|by)|coming|soon|"
    r"eventually|long[- ]term|outlook|candidates?|if|unless|prepar\w+|look(?:s|ing)? (?:ahead|forward)|"
    r"imagine|scenario|horizon|y2k|overflow|test vector|lock ?time|halving|transition\w*|assume\w*|suppose|"
    r"hypothetical\w*|science fiction|removed in|(?:will|is|are|be) released|last to|call for|cfp)\b|['’](?:ll|d)\b",
    re.IGNORECASE,
)
"""Words of plans. They win over a verb in the past."""
_ANNOUNCED = re.compile(
    r"\b(?:authori[sz]\w+|appropriat\w+|FY|fiscal|budget\w*|grants?|funding|editions?|conference|conf|summit|symposium|"
    r"workshop|meetup|meet[- ]up|congress|festival|hackathon|webinars?|events?|register|registration|attend\w*|"
    r"calendar|timeline|submi\w+|appl(?:y|ies|ication|ications)|nominat\w+|challenge|competition|contest|awards?|phase[sd]?|"
    r"renew\w*|leases?|contracts?|terms?|removed|begin(?:s|ning)?|starts?|starting|deliver\w*|census|election|"
    r"save the date|join us|see you|rsvp|"
    r"olympics?|world cup|campaign|presidential|wants?|generation|unix|timestamp|utc|epoch|example|"
    r"e\.g|novel|movie|film)\b",
    re.IGNORECASE,
)
"""Words of things that are announced before they happen. A verb in the past wins over them."""
_PAST = re.compile(
    r"\b(?:was|were|had|did|said|told|wrote|became|began|got|made|came|went|led|took|saw|held|found|grew|fell|rose|won|"
    r"lost|met|gave|sold|bought|built|brought|sent|spent|left|kept|ran|hit|drew|chose|broke|spoke|taught|thought|knew|"
    r"felt|threw|drove|flew|rode|stood|understood|fought|caught|sought|paid|put out|cut|shut|set up|heard|"
    r"read out|learnt|built|shot|spread|swept|struck|stuck|hid|dealt|bore|wore|tore|laid|forgot|forgave|overcame|"
    r"withdrew|ago|previously|recently|earlier|former|formerly|"
    r"(?!need|proposed|expected|planned|scheduled|estimated|projected|required|unlimited|limited|related|interested|"
    r"based|detailed|advanced|embed|feed|speed|shed|exceed|succeed|proceed|indeed|supposed|intended|targeted|united|"
    r"hundred|sacred|seed|breed|red|bed|led|fed)\w{2,}ed)\b",
    re.IGNORECASE,
)


def sentence(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what stands in the same sentence or list item before and after text[start:end]; no more than REACH
    characters of either."""
    after = text[end : end + REACH]
    # one character more: a sentence ends before a capital letter, which may be the first of the match
    left = max(0, start - REACH)
    begin = max((one.end() for one in _END.finditer(text, left, start + 1)), default=left)
    first = _END.search(after)
    return text[begin:start], after[: first.start() if first else len(after)]


def tense(before: str, after: str) -> Tense:
    """Return how a sentence uses the date between `before` and `after`.

    A word on the future wins over a verb in the past: "we planned to finish it in 2030" is no leak, and in a real text
    plans are far more frequent than leaks.
    """
    if (stamped := _STAMP.search(before)) and not _NOT_STAMPED.search(before[: stamped.start()]):
        return "stamp"
    if _FUTURE.search(before) or _FUTURE.search(after):
        return "future"
    if _PAST_ATTACHED.search(before[-30:]) or _HAD.search(before) or _HAD.search(after):
        return "past"
    if _FIRM.search(before[-60:]):
        return "future"
    if _PAST.search(before) or _PAST.search(after):
        return "past"
    if _LOOSE.search(before[-60:]):
        return "future"
    return "announced" if _ANNOUNCED.search(before) or _ANNOUNCED.search(after) else "neutral"


def is_planned(before: str, after: str) -> bool:
    """Return whether a sentence is about what is still to come, wherever it names a time."""
    return bool(_FUTURE.search(before) or _FUTURE.search(after) or _FROM_THEN.search(before))
