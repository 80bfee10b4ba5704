"""Questions from sentences of real text: which question word fits in the place of a span.

The question word stands where the answer stood ("… became part of the union in what year?"), as in a quiz. English
needs no other order there, and no rule has to find the verb. Where no word fits, there is no question.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ticlm.datasets.text.overlap import FUNCTION_WORDS, content_words
from ticlm.datasets.text.spans import Span
from ticlm.datasets.text.spelling import folded, unaccented

UNFIT = "an answer in a place that no question word fits"
RENAMED = "answers that share a name"

_PREPOSITIONS = (
    "about|above|across|after|against|along|alongside|among|around|as|at|before|behind|below|beside|between|beyond|by"
    "|despite|during|for|from|in|inside|into|near|of|off|on|onto|outside|over|since|through|throughout|to|toward"
    "|towards|under|until|upon|via|with|within|without"
)
_AFTER_NAME = re.compile(
    rf"(?: (?:{_PREPOSITIONS}|is|was|were|are|has|had|who|when|while|where|because|but|if)\b"
    r"|, (?:who|where|when|while|which|but|after|before|although)\b|[.!?]*$)"
)
_OFFICE = re.compile(r"(?:President|Prime Minister|King|Queen|Emperor|General|Senator|Governor|Dr|Mr|Mrs|Ms|Sir)\b")
_OF_PERSONS_WORDS = """
    about against among between beside by for from of to toward towards upon with
"""
_OF_PERSONS = frozenset(_OF_PERSONS_WORDS.split())
_IS_BEFORE = re.compile(r"\b(?:is|are|was|were|named|called|became|become)$")
_PREPOSED = re.compile(rf"(?:^|\s)({_PREPOSITIONS})$", re.IGNORECASE)
_LISTED = re.compile(r"(?:,|\b(?:and|or|nor|than|between))$", re.IGNORECASE)
_JOINS = re.compile(r"(?:^|\b(?:that|whether|if|because|when|while|although|as))$", re.IGNORECASE)
_BEFORE_DATE_WORDS = """
    in on since until by before after from during to around of
"""
_BEFORE_DATE = frozenset(_BEFORE_DATE_WORDS.split())
_AFTER_DATE = re.compile(
    rf"(?: (?:{_PREPOSITIONS}|and|but|when|while|where|because|that)\b"
    r"|, (?:when|while|but|and|after|with|where)\b|[.!?]*$)"
)
_HEDGED = re.compile(
    r"\b(?:than|as (?:many|much|few|little) as|about|some|over|under|almost|nearly|around|roughly|approximately|only"
    r"|up to|at (?:least|most)|estimated|between|top|last|first|next|past|previous|a|an|their|his|her"
    r"|all|fixed|release|v|chapter|section|page|no|number"
    r"|step|level|option)$",
    re.IGNORECASE,
)
"""What stands before numbers that are no counts, or that a question cannot ask for exactly."""
_COUNTED = re.compile(
    r"(?: (?!(?:and|or|of|in|to|by|for|the|a|an)\b)[a-z]{2,}(?:-[a-z]+)?){0,2} ([a-z]{2,}(?:s|ren|people))\b"
)
_NO_PLURAL_WORDS = """
    is was has its this thus as us does less across towards perhaps always address access
"""
_NO_PLURAL = frozenset(_NO_PLURAL_WORDS.split())
_VERSION = re.compile(r"(?<!the )\bversions?$")
_AFTER_VERSION = re.compile(
    r" (?:and|or) (?:higher|later|greater|newer|above|up)\b| (?:is|was|in|on|for|of|as|to)\b|\.?$"
)
_ONWARDS = re.compile(r"^ (?:and|or) (?:higher|later|greater|newer|above|up)\b")
_VERSION_OF = re.compile(r"\b(in|with|since|from|until|to|at|before|after) ((?:[A-Z][\w.]* ?)+) versions?$")
_SHARE = re.compile(r"^[\d.,–−-]+ ?%$")
_MONEY = re.compile(r"^[$€£¥]")
_YEAR = re.compile(r"(?:1[0-9]|20)[0-9]{2}")
_CLAUSES = re.compile(r",|\b(?:and|but|or|which|who|that|what|by|until|after|before|when)\b|\b[12][0-9]{3}")
"""What makes a clause too long for a date at its end: it would belong to the last part."""
_DECADE = re.compile(r"(?:1[0-9]|20)[0-9]{2}s")
_CENTURY = re.compile(r"[0-9]+(?:st|nd|rd|th)[ -]century", re.IGNORECASE)
_DAY = re.compile(
    r"[0-9]{1,2}(?:st|nd|rd|th)? [A-Z][a-z]+\.?,? [0-9]{4}|[A-Z][a-z]+\.? [0-9]{1,2}(?:st|nd|rd|th)?, [0-9]{4}"
)
_MONTH = re.compile(r"[A-Z][a-z]+\.? [0-9]{4}")
_MOST = re.compile(r"^ ((?:most|least) \w+|\w+est)\b")
_RANKS = re.compile(r"\b(?:rank(?:s|ed)?|finish(?:es|ed)?|came|come[s]?|place[sd]?)$")
_NAMES = frozenset(
    ["NAME", "PERSON", "PER", "ORG", "GPE", "LOC", "FAC", "NORP", "EVENT", "PRODUCT", "WORK_OF_ART", "LAW"]
)
NUMBERS = frozenset(["NUMBER", "CARDINAL", "QUANTITY", "PERCENT", "MONEY"])
_THING = {"PERSON": "whom", "PER": "whom", "GPE": "which place", "LOC": "which place", "FAC": "which place"}
_THING |= {"ORG": "which organisation", "NAME": "whom or what"}


class AnswerPlace(NamedTuple):
    """What stands around a span of a sentence, in place of which a question asks."""

    before: str
    answer: str
    after: str
    label: str


def question(sentence: str, span: Span) -> str | None:
    """Return a sentence as a question for a span of it; None if no question word fits in its place."""
    place = AnswerPlace(sentence[: span.begin], sentence[span.begin : span.end], sentence[span.end :], span.label)
    if place.before.count("(") > place.before.count(")"):
        return None
    if place.label in ("DATE", "TIME"):
        return _of_date(place)
    if place.label in NUMBERS:
        return _of_number(place)
    if place.label == "ORDINAL":
        return _of_ordinal(place)
    return _of_name(place) if place.label in _NAMES else None


def renamed(outdated: str, answer: str) -> bool:
    """Return whether two names share a word, or the beginning of one: "Germanic Confederation" and "German
    Confederation", "ROK Army" and "South Korean Army" are rather two names of one thing than two things."""
    one, other = (content_words(unaccented(folded(text))) for text in (outdated, answer))
    return any(a == b or (len(a) > 4 and len(b) > 4 and a[:4] == b[:4]) for a in one for b in other if a.isalpha())


def _of_date(place: AnswerPlace) -> str | None:
    before, after = place.before.rstrip(), place.after
    word = before.rsplit(" ", 1)[-1].lower()
    article = word == "the"
    if article:
        before = before[:-3].rstrip()
        word = before.rsplit(" ", 1)[-1].lower()
    asks = _date_word(place.answer)
    if asks is None or word not in _BEFORE_DATE or article != asks.endswith(("decade", "century")):
        return None
    if before.lower() == word:  # "In 1921, Moscow placed …": the phrase goes to the end, or the clause has no inversion
        rest = after.removeprefix(",").strip()
        if not after.startswith(", ") or _CLAUSES.search(rest) or not re.match(r"(?:the |a )?[A-Z]", rest):
            return None
        return _asked(f"{rest.rstrip('.!')} {word} {asks}")
    if re.match(r" (?:and|or|to) (?:the |[A-Z][a-z]+ )*[0-9]", after):
        return None
    return _asked(f"{before} {asks}{after}") if _AFTER_DATE.match(after) else None


def _date_word(answer: str) -> str | None:
    for form, word in ((_YEAR, "what year"), (_DECADE, "what decade"), (_CENTURY, "what century"), (_DAY, "what date")):
        if form.fullmatch(answer):
            return word
    return "what month" if _MONTH.fullmatch(answer) else None


def _of_number(place: AnswerPlace) -> str | None:
    before, after = place.before.rstrip(), place.after
    if not before or _HEDGED.search(before) or _LISTED.search(before):
        return None
    if found := _VERSION.search(before):
        if not _AFTER_VERSION.match(after):
            return None
        onwards = _ONWARDS.sub(" on", after)
        if of := _VERSION_OF.search(before):
            return _asked(f"{before[: of.start()]}{of[1]} what version of {of[2]}{after}") if onwards == after else None
        return _asked(f"{before[: found.start()]}{'from ' if onwards != after else ''}what version{onwards}")
    if _SHARE.match(place.answer):
        return _asked(f"{before} what percentage{after}")
    if _MONEY.match(place.answer):
        return _asked(f"{before} how much money{after}") if _AFTER_NAME.match(after) else None
    counted = _COUNTED.match(after)
    if counted is None or counted[1] in _NO_PLURAL or before.rsplit(" ", 1)[-1].lower() in ("the", "these", "its"):
        return None
    return _asked(f"{before} how many{after}")


def _of_ordinal(place: AnswerPlace) -> str | None:
    before, after = place.before.rstrip(), place.after
    if (found := _MOST.match(after)) and before.endswith(" the"):
        return _asked(f"{before[:-4]} in what place among the {found[1]}{after[found.end() :]}")
    return _asked(f"{before} in what place{after}") if _RANKS.search(before) else None


def _of_name(place: AnswerPlace) -> str | None:
    before, after = place.before.rstrip(), place.after
    words = place.answer.split()
    if any(word.lower() in FUNCTION_WORDS and word[0].isupper() for word in words) or not _AFTER_NAME.match(after):
        return None
    thing = _THING.get(place.label, "what")
    if not before:
        return _asked(f"{thing.replace('whom', 'who')}{after}")
    if before.endswith(" the"):  # a name with an article is no person's
        before, thing = before[:-4], "what" if "whom" in thing else thing
        if _LISTED.search(before) or _JOINS.search(before) or re.match(r" (?:of|is|was|are|were|has|had)\b", after):
            return None
        return _asked(f"{before} {thing}{after}")
    if _IS_BEFORE.search(before):
        whole = re.fullmatch(r"(.+?) (is|was)", before) if after in (".", "") else None
        subject = whole[1] if whole else ""
        if whole and " " in subject and not re.search(r"[,()]", subject):
            return _asked(f"{thing.replace('whom', 'who')} {whole[2]} {_small(subject)}")
        return None
    if _OFFICE.match(place.answer):
        thing = "whom"
    preposed = _PREPOSED.search(before)
    if preposed is None or _LISTED.search(before):
        return None
    if preposed[1].lower() not in _OF_PERSONS:
        thing = "what" if thing == "whom or what" else thing
    return _asked(f"{before} {thing}{after}")


def _asked(text: str) -> str:
    text = " ".join(text.rstrip(" .!").split())
    return f"{text[0].upper()}{text[1:]}?"


def _small(subject: str) -> str:
    """Return a subject as it stands within a sentence."""
    return subject[0].lower() + subject[1:] if subject.split()[0].lower() in FUNCTION_WORDS else subject
