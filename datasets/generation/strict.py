"""Strict rules for questions from real text: which sentences are asked about, and how a span of one is asked for.

Each rule answers to what readers found in questions about real text (`docs/evolvingqa.md` has the tables). A rule
that is not sure refuses: a set of questions wants precision, and a wiki has sentences enough.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ticlm.datasets.text.overlap import FUNCTION_WORDS, content_words
from ticlm.datasets.text.spans import Span
from ticlm.datasets.text.spelling import folded, unaccented

LONGEST = 40
"""Most words of a sentence; readers lost the thread of longer ones."""
REFERS, STRANGER = "a sentence that refers to another", "a sentence that does not name its article"
PERSONAL = "a sentence of somebody about himself or his reader"
MARKUP, ENUMERATES = "a sentence with markup or code", "a sentence with a colon, a semicolon or a dash"
OPEN, BRACKETED = "a sentence that is not whole", "an answer in brackets"
SUPPOSED, LENGTHY = "a sentence that supposes or commands", f"a sentence of more than {LONGEST} words"
UNFIT = "an answer in a place that no question word fits"
PIECE = "an answer that may be a piece of a name or of a list"
RENAMED = "answers that share a name"

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_MARKUP = re.compile(r"[`|{}<>=\\_@#^~\[\]]|\*\w|\w\*|::|\(\)|https?:|www\.|\.\.|\w\.\w+\(|--\w|(?:^|\s)[/.]\w")
_MARKS = re.compile(r"[:;…—]| [–-]+ |--")
_NUMBER_MARKS = re.compile(r"\d[:.,]\d")
_ME = frozenset(
    [
        "i",
        "i'm",
        "i've",
        "i'd",
        "i'll",
        "we",
        "we're",
        "we've",
        "we'll",
        "us",
        "our",
        "ours",
        "me",
        "my",
        "mine",
        "you",
        "you're",
        "your",
        "yours",
        "let's",
    ]
)
_PRONOUNS = frozenset(
    ["he", "him", "his", "she", "her", "hers", "it", "its", "they", "them", "their", "theirs", "this", "these", "those"]
)
_POINTS_BACK = frozenset(
    [
        "also",
        "and",
        "another",
        "both",
        "but",
        "currently",
        "consequently",
        "conversely",
        "finally",
        "further",
        "furthermore",
        "hence",
        "here",
        "hereafter",
        "however",
        "indeed",
        "instead",
        "later",
        "likewise",
        "meanwhile",
        "moreover",
        "nevertheless",
        "nonetheless",
        "now",
        "or",
        "otherwise",
        "perhaps",
        "recently",
        "similarly",
        "so",
        "soon",
        "still",
        "subsequently",
        "such",
        "then",
        "thereafter",
        "therefore",
        "thus",
        "today",
        "yet",
    ]
)
_BACK = re.compile(
    r"\b(?:this|these|however|recent(?:ly)?|upcoming|currently|similar|since that|including|(?:left|right|pictured|shown)(?=,)"
    r"|on the (?:left|right)|the (?:former|latter|same|following|above|other)|as (?:well|such)|above|below|former(?=,)|respectively"
    r"|yesterday|today|tomorrow|tonight|(?:last|next|this|past) (?:year|month|week|summer|fall|spring|winter|quarter)|ago"
    r"|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|(?:these|those|recent) (?:years|months|weeks|days)"
    r"|at that (?:time|point)|that (?:same )?(?:year|day|month|time)|the (?:previous|preceding|next|subsequent) \w+"
    r"|(?:a|\w+) (?:years?|months?|days?|weeks?|decades?) (?:later|earlier|before|after))\b",
    re.IGNORECASE,
)
_SUPPOSES = re.compile(
    r"^(?:If|Suppose|Imagine|Consider|Assume|Let|Say|For (?:example|instance)"
    r"|Add|Ask|Call|Check|Choose|Click|Contact|Copy|Create|Download|Enter|Find|Follow|Get|Give|Go|Install|Join|Keep|Learn"
    r"|Look|Make|Meet|Note|Open|Please|Put|Read|Remember|Replace|Run|See|Select|Send|Set|Share|Start|Take|Thanks?|Try"
    r"|Turn|Use|View|Visit|Watch|Write)\b"
)
_VERBS = frozenset(
    [
        "is",
        "are",
        "was",
        "were",
        "has",
        "have",
        "had",
        "will",
        "can",
        "may",
        "must",
        "became",
        "become",
        "becomes",
        "began",
        "begins",
        "won",
        "led",
        "ran",
        "sent",
        "made",
        "held",
        "took",
        "left",
        "lost",
        "built",
        "gave",
        "wrote",
        "met",
        "fell",
        "grew",
        "rose",
        "came",
        "went",
        "spent",
        "saw",
        "brought",
        "sold",
        "bought",
        "fought",
        "found",
        "kept",
        "paid",
        "set",
        "said",
        "sought",
        "taught",
        "told",
        "thought",
        "spoke",
        "chose",
        "drew",
        "stood",
        "understood",
        "contains",
        "includes",
        "uses",
        "provides",
        "supports",
        "requires",
        "allows",
        "needs",
        "returns",
        "defines",
        "means",
        "makes",
        "takes",
        "gives",
        "comprises",
        "consists",
        "covers",
        "belongs",
        "lies",
        "forms",
        "holds",
    ]
)
"""Forms of verbs that are no nouns, or seldom: a sentence needs one, or a word in -ed."""
_PARTICIPLE = re.compile(r", \w+ed (?:by|in|on|at|to|for|with|from)\b")
_VAGUE = re.compile(
    r"(?:The|A|An|One|Some|Many|Most|All|Each|Every|Several) (?:[^\WA-Z]\w*(?:['’]s)?,? ){4}|"
    r"(?:The|A|An|One|Some) (?:[^\WA-Z]\w*(?:['’]s)?,? ){1,3}(?:is|are|was|were|has|have|had|will|can|may)\b"
)
"""The beginning of a sentence about a thing without a name, such as "The country was"."""
_PREPOSITIONS = (
    "about|above|across|after|against|along|alongside|among|around|as|at|before|behind|below|beside|between|beyond|by"
    "|despite|during|for|from|in|inside|into|near|of|off|on|onto|outside|over|since|through|throughout|to|toward"
    "|towards|under|until|upon|via|with|within|without"
)
_AFTER_NAME = re.compile(
    rf"(?: (?:{_PREPOSITIONS}|is|was|were|are|has|had|who|when|while|where|because|but|if)\b"
    r"|, (?:who|where|when|while|which|but|after|before|although)\b|[.!?]*$)"
)
_OF_PERSONS = frozenset(
    [
        "about",
        "against",
        "among",
        "between",
        "beside",
        "by",
        "for",
        "from",
        "of",
        "to",
        "toward",
        "towards",
        "upon",
        "with",
    ]
)
_IS_BEFORE = re.compile(r"\b(?:is|are|was|were|named|called|became|become)$")
_PREPOSED = re.compile(rf"(?:^|\s)({_PREPOSITIONS})$", re.IGNORECASE)
_LISTED = re.compile(r"(?:,|\b(?:and|or|nor|than|between))$", re.IGNORECASE)
_JOINS = re.compile(r"(?:^|\b(?:that|whether|if|because|when|while|although|as|ing))$", re.IGNORECASE)
_BEFORE_DATE = frozenset(
    ["in", "on", "since", "until", "by", "before", "after", "from", "during", "to", "around", "of"]
)
_AFTER_DATE = re.compile(
    rf"(?: (?:{_PREPOSITIONS}|and|but|when|while|where|because|by|with|that)\b|, (?:when|while|but|and|after|with|where)"
    r"\b|[.!?]*$)"
)
_HEDGED = re.compile(
    r"\b(?:than|as (?:many|much|few|little) as|about|some|over|under|almost|nearly|around|roughly|approximately|only|up"
    r" to|at (?:least|most)|estimated|between|top|last|first|next|past|previous|version|versions|v|chapter|section|page|no|number|step|level|option)$",
    re.IGNORECASE,
)
_COUNTED = re.compile(
    r"(?: (?!(?:and|or|of|in|to|by|for|the|a|an)\b)[a-z]{2,}(?:-[a-z]+)?){0,2} ([a-z]{2,}(?:s|ren|people))\b"
)
_NO_PLURAL = frozenset(
    [
        "is",
        "was",
        "has",
        "its",
        "this",
        "thus",
        "as",
        "us",
        "does",
        "less",
        "across",
        "towards",
        "perhaps",
        "always",
        "address",
        "access",
    ]
)
_VERSION = re.compile(r"(?<!the )\bversions?$")
_AFTER_VERSION = re.compile(
    r" (?:and|or) (?:higher|later|greater|newer|above|up)\b| (?:is|was|in|on|for|of|as|to)\b|\.?$"
)
_ONWARDS = re.compile(r"^ (?:and|or) (?:higher|later|greater|newer|above|up)\b")
_SHARE = re.compile(r"^[\d.,–−-]+ ?%$")
_MONEY = re.compile(r"^[$€£¥]")
_YEAR = re.compile(r"(?:1[0-9]|20)[0-9]{2}")
_DECADE = re.compile(r"(?:1[0-9]|20)[0-9]{2}s")
_CENTURY = re.compile(r"[0-9]+(?:st|nd|rd|th)[ -]century", re.IGNORECASE)
_DAY = re.compile(
    r"[0-9]{1,2}(?:st|nd|rd|th)? [A-Z][a-z]+\.?,? [0-9]{4}|[A-Z][a-z]+\.? [0-9]{1,2}(?:st|nd|rd|th)?, [0-9]{4}"
)
_MONTH = re.compile(r"[A-Z][a-z]+\.? [0-9]{4}")
_DISAMBIGUATION = re.compile(r" \([^)]*\)$")
_MOST = re.compile(r"^ ((?:most|least) \w+|\w+est)\b")
_RANKS = re.compile(r"\b(?:rank(?:s|ed)?|finish(?:es|ed)?|came|come[s]?|place[sd]?)$")
_NAMES = frozenset(
    ["NAME", "PERSON", "PER", "ORG", "GPE", "LOC", "FAC", "NORP", "EVENT", "PRODUCT", "WORK_OF_ART", "LAW"]
)
_NUMBERS = frozenset(["NUMBER", "CARDINAL", "QUANTITY", "PERCENT", "MONEY"])
_THING = {"PERSON": "whom", "PER": "whom", "GPE": "which place", "LOC": "which place", "FAC": "which place"}
_THING |= {"ORG": "which organisation", "NAME": "whom or what"}


class Place(NamedTuple):
    """What stands around a span of a sentence, in place of which a question asks."""

    before: str
    answer: str
    after: str
    label: str


def refusal(sentence: str, title: str = "", answer: str = "") -> str:
    """Return why no question is asked about a sentence; empty if it can be. A `title` must be named in it, elsewhere
    than in the answer."""
    words = _WORD.findall(sentence)
    plain = [folded(word).lower() for word in words]
    if _MARKUP.search(sentence):
        return MARKUP
    if _MARKS.search(_NUMBER_MARKS.sub("", sentence)):
        return ENUMERATES
    if not words or not (sentence[0].isupper() or sentence[0].isdigit()) or sentence.count("(") != sentence.count(")"):
        return OPEN
    if len(words) > LONGEST:
        return LENGTHY
    finite = _WORD.findall(_PARTICIPLE.sub(" ", sentence))
    if _VERBS.isdisjoint(finite) and not any(word.islower() and word.endswith("ed") for word in finite):
        return OPEN
    if _SUPPOSES.match(sentence):
        return SUPPOSED
    if not _ME.isdisjoint(plain):
        return PERSONAL
    if plain[0] in _POINTS_BACK or _BACK.search(sentence) or _without_noun(words, plain):
        return REFERS
    if _VAGUE.match(sentence) or (title and not _named(title, sentence.replace(answer, " ") if answer else sentence)):
        return STRANGER
    return ""


def question(sentence: str, span: Span) -> str | None:
    """Return a sentence as a question for a span of it; None if no question word fits in its place."""
    place = Place(sentence[: span.begin], sentence[span.begin : span.end], sentence[span.end :], span.label)
    if place.before.count("(") > place.before.count(")"):
        return None
    if place.label in ("DATE", "TIME"):
        return _of_date(place)
    if place.label in _NUMBERS:
        return _of_number(place)
    if place.label == "ORDINAL":
        return _of_ordinal(place)
    return _of_name(place) if place.label in _NAMES else None


def renamed(outdated: str, answer: str) -> bool:
    """Return whether two names share a word, or the beginning of one: "Germanic Confederation" and "German
    Confederation", "ROK Army" and "South Korean Army" are rather two names of one thing than two things."""
    one, other = (content_words(unaccented(folded(text))) for text in (outdated, answer))
    return any(a == b or (len(a) > 4 and len(b) > 4 and a[:4] == b[:4]) for a in one for b in other if a.isalpha())


def _of_date(place: Place) -> str | None:
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
        if not after.startswith(", ") or "," in rest or not re.match(r"(?:the |a )?[A-Z]", rest):
            return None
        return _asked(f"{rest.rstrip('.!')} {word} {asks}")
    return _asked(f"{before} {asks}{after}") if _AFTER_DATE.match(after) else None


def _date_word(answer: str) -> str | None:
    for form, word in ((_YEAR, "what year"), (_DECADE, "what decade"), (_CENTURY, "what century"), (_DAY, "what date")):
        if form.fullmatch(answer):
            return word
    return "what month" if _MONTH.fullmatch(answer) else None


def _of_number(place: Place) -> str | None:
    before, after = place.before.rstrip(), place.after
    if not before or (_HEDGED.search(before) and not _VERSION.search(before)) or _LISTED.search(before):
        return None
    if found := _VERSION.search(before):
        if not _AFTER_VERSION.match(after):
            return None
        onwards = _ONWARDS.sub(" on", after)
        return _asked(f"{before[: found.start()]}{'from ' if onwards != after else ''}what version{onwards}")
    if _SHARE.match(place.answer):
        return _asked(f"{before} what percentage{after}")
    if _MONEY.match(place.answer):
        return _asked(f"{before} how much money{after}") if _AFTER_NAME.match(after) else None
    counted = _COUNTED.match(after)
    if counted is None or counted[1] in _NO_PLURAL or before.rsplit(" ", 1)[-1].lower() in ("the", "these", "its"):
        return None
    return _asked(f"{before} how many{after}")


def _of_ordinal(place: Place) -> str | None:
    before, after = place.before.rstrip(), place.after
    if (found := _MOST.match(after)) and before.endswith(" the"):
        return _asked(f"{before[:-4]} in what place among the {found[1]}{after[found.end() :]}")
    return _asked(f"{before} in what place{after}") if _RANKS.search(before) else None


def _of_name(place: Place) -> str | None:
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
    preposed = _PREPOSED.search(before)
    if preposed is None or _LISTED.search(before):
        return None
    if preposed[1].lower() not in _OF_PERSONS:
        thing = thing.replace("whom or what", "what")
    return _asked(f"{before} {thing}{after}")


def _asked(text: str) -> str:
    text = " ".join(text.rstrip(" .!").split())
    return f"{text[0].upper()}{text[1:]}?"


def _small(subject: str) -> str:
    """Return a subject as it stands within a sentence."""
    return subject[0].lower() + subject[1:] if subject.split()[0].lower() in FUNCTION_WORDS else subject


def _without_noun(words: list[str], plain: list[str]) -> bool:
    """Return whether a pronoun stands before any name that it could mean."""
    named = False
    for word, lower in zip(words, plain, strict=True):
        if lower in _PRONOUNS and not named:
            return True
        named |= word[0].isupper() and lower not in FUNCTION_WORDS
    return False


def _named(title: str, sentence: str) -> bool:
    """Return whether a sentence has a word of a title, with a capital if it has one there: an article about Christmas
    Island is not named by "the island"."""
    there = _bare(sentence)
    small = {word.lower() for word in there}
    return any(
        len(word) > 2 and word.lower() not in FUNCTION_WORDS and (word in there or (word.islower() and word in small))
        for word in _bare(_DISAMBIGUATION.sub("", title))
    )


def _bare(text: str) -> set[str]:
    return {unaccented(folded(word)).removesuffix("'s") for word in _WORD.findall(text)}
