"""Whether a sentence of real text can be asked about: it stands alone, is whole, and names what its article is about.

Each rule answers to what readers found in questions about real text (`docs/evolvingqa.md` has the tables). A rule that
is not sure refuses: a set of questions wants precision, and a wiki has sentences enough.
"""

from __future__ import annotations

import re

from ticlm.datasets.text.overlap import FUNCTION_WORDS
from ticlm.datasets.text.spelling import folded, unaccented

LONGEST = 40
"""Most words of a sentence; readers lost the thread of longer ones."""
REFERS, STRANGER = "a sentence that refers to another", "a sentence that does not name its article"
PERSONAL, COMMANDS = "a sentence of somebody about himself or his reader", "a sentence that supposes or commands"
MARKUP, ENUMERATES = "a sentence with markup or code", "a sentence with a colon, a semicolon or a dash"
LONE = "a sentence about a name of one word that its title does not have"
OPEN, LENGTHY = "a sentence that is not whole", f"a sentence of more than {LONGEST} words"

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_MARKUP = re.compile(r"[`|{}<>=\\_@#^~\[\]]|\*\w|\w\*|::|\(\)|https?:|www\.|\.\.|\w\.\w+\(|--\w|(?:^|\s)[/.]\w")
_MARKS = re.compile(r"[:;…—]| [–-]+ |--")
_NUMBER_MARKS = re.compile(r"\d[:.,]\d")
_ME_WORDS = """
    i i'm i've i'd i'll we we're we've we'll us our ours me my mine you you're your yours let's
"""
_ME = frozenset(_ME_WORDS.split())

_PRONOUNS_WORDS = """
    he him his she her hers it its they them their theirs this these those
"""
_PRONOUNS = frozenset(_PRONOUNS_WORDS.split())

_POINTS_BACK_WORDS = """
    also and another both but currently consequently conversely finally further furthermore hence here hereafter
    however indeed instead later likewise meanwhile moreover nevertheless nonetheless now or otherwise perhaps
    recently similarly so soon still subsequently such then thereafter therefore thus today yet
"""
_POINTS_BACK = frozenset(_POINTS_BACK_WORDS.split())
_BACK = re.compile(
    r"\b(?:this|these|however|recent(?:ly)?|upcoming|currently|similar|just|now|so far|to date|including|respectively"
    r"|(?:since|from|of|by) that|over the (?:last|past|summer|weekend|winter|years|next)|above|below"
    r"|ago|(?:left|right|pictured|shown|former)(?=,)|on the (?:left|right)|as (?:well|such)"
    r"|the (?:former|latter|same|following|above|other)|the (?:previous|preceding|next|subsequent) \w+"
    r"|yesterday|today|tomorrow|tonight|(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
    r"|(?:last|next|past) (?:year|month|week|summer|fall|spring|winter|quarter)|those (?:years|months|weeks|days)"
    r"|at that (?:time|point)|that (?:same )?(?:year|day|month|time)"
    r"|\w+ (?:years?|months?|days?|weeks?|decades?) (?:later|earlier|before|after))\b",
    re.IGNORECASE,
)
_LATER_SUBJECT = re.compile(r"[^,]*, (?:it|he|she|they)\b")
"""A main clause whose subject is a pronoun: a name before it is often another's ("Inspired by Paris, it evokes …")."""
_TWICE = re.compile(r"(\w+) (?:\w+ )\1\b")
"""A name as a heading that ran into its sentence: "Ada Stone Ada joined …"."""
_COMMANDS = re.compile(
    r"^(?:If|Suppose|Imagine|Consider|Assume|Let|Say|For (?:example|instance)"
    r"|Add|Ask|Call|Check|Choose|Click|Contact|Copy|Create|Download|Enter|Find|Follow|Get|Give|Go|Install|Join|Keep|Learn"
    r"|Look|Make|Meet|Note|Open|Please|Put|Read|Remember|Replace|Run|See|Select|Send|Set|Share|Start|Take|Thanks?|Try"
    r"|Turn|Use|View|Visit|Watch|Write)\b"
)
_VERBS_WORDS = """
    is are was were has have had will can may must became become becomes began begins won led ran sent made held
    took left lost built gave wrote met fell grew rose came went spent saw brought sold bought fought found kept
    paid set said sought taught told thought spoke chose drew stood understood contains includes uses provides
    supports requires allows needs returns defines means makes takes gives comprises consists covers belongs
    lies forms holds
"""
_VERBS = frozenset(_VERBS_WORDS.split())
"""Forms of verbs that are no nouns, or seldom: a sentence needs one, or a word in -ed."""
_PARTICIPLE = re.compile(r", \w+ed (?:by|in|on|at|to|for|with|from)\b")
_VAGUE = re.compile(
    r"(?:The|A|An|One|Some|Many|Most|All|Each|Every|Several) (?:[^\WA-Z]\w*(?:['’]s)?,? ){4}|"
    r"(?:The|A|An|One|Some) (?:[^\WA-Z]\w*(?:['’]s)?,? ){1,3}(?:is|are|was|were|has|have|had|will|can|may)\b"
)
"""The beginning of a sentence about a thing without a name, such as "The country was"."""
_NAME = r"([A-Z][a-zà-ÿ]+)(?:['’]s)?"
_NO_SUBJECT = r" (?!(?:of|and|or|in|at|on|from|to|by|with|for)\b)[a-z]"
_SUBJECT = re.compile(_NAME + _NO_SUBJECT)
_CLAUSE_SUBJECT = re.compile(rf"^[^,]*, {_NAME}{_NO_SUBJECT}")
_DISAMBIGUATION = re.compile(r" \([^)]*\)$")


def refusal(sentence: str, title: str = "", answer: str = "", whole: bool = True) -> str:
    """Return why no question is asked about a sentence; empty if it can be. A `title` must be named in it, elsewhere
    than in the answer: as a `whole`, or by one of its words; of a headline, one word says little about who is meant."""
    words = _WORD.findall(sentence)
    plain = [folded(word).lower() for word in words]
    if _MARKUP.search(sentence):
        return MARKUP
    if _MARKS.search(_NUMBER_MARKS.sub("", sentence)):
        return ENUMERATES
    if not words or not (sentence[0].isupper() or sentence[0].isdigit()) or sentence.count("(") != sentence.count(")"):
        return OPEN
    if _TWICE.match(sentence):
        return OPEN
    if len(words) > LONGEST:
        return LENGTHY
    finite = _WORD.findall(_PARTICIPLE.sub(" ", sentence))
    if _VERBS.isdisjoint(finite) and not any(word.islower() and word.endswith("ed") for word in finite):
        return OPEN
    if _COMMANDS.match(sentence):
        return COMMANDS
    if not _ME.isdisjoint(plain):
        return PERSONAL
    if (
        plain[0] in _POINTS_BACK
        or _BACK.search(sentence)
        or _LATER_SUBJECT.match(sentence)
        or _without_noun(words, plain)
    ):
        return REFERS
    rest = sentence.replace(answer, " ") if answer else sentence
    if _VAGUE.match(sentence) or (title and not (_named_whole if whole else _named)(title, rest)):
        return STRANGER
    return LONE if title and not whole and _lone(sentence, title) else ""


def _without_noun(words: list[str], plain: list[str]) -> bool:
    """Return whether a pronoun stands before any name that it could mean."""
    named = False
    for word, lower in zip(words, plain, strict=True):
        if lower in _PRONOUNS and not named:
            return True
        named |= word[0].isupper() and lower not in FUNCTION_WORDS
    return False


def _named_whole(title: str, sentence: str) -> bool:
    """Return whether a sentence has a title as it stands, but for a small first letter: headlines stand in none."""
    name, there = (unaccented(folded(text)) for text in (_DISAMBIGUATION.sub("", title).strip(), sentence))
    first, rest = re.escape(name[:1]), re.escape(name[1:])
    return bool(name) and bool(re.search(rf"(?<!\w)(?:{first}|{first.lower()}){rest}(?!\w)", there))


def _lone(sentence: str, title: str) -> bool:
    """Return whether a sentence, or the clause behind its first comma, begins with a name of one word that its title
    does not have: persons are called so who were introduced before ("Ada joined …")."""
    found = [one[1] for one in (_SUBJECT.match(sentence), _CLAUSE_SUBJECT.search(sentence)) if one is not None]
    known = {word.lower() for word in _bare(title)}
    return any(name.lower() not in FUNCTION_WORDS and name.lower() not in known for name in found)


def _named(title: str, sentence: str) -> bool:
    """Return whether a sentence has a word of a title, with a capital if it has one there: an article about Christmas
    Island is not named by "the island"."""
    there = _bare(sentence)
    small = {word.lower() for word in there}
    words = (word for word in _bare(_DISAMBIGUATION.sub("", title)) if len(word) > 2 and not word.isdigit())
    return any(
        word.lower() not in FUNCTION_WORDS and (word in there or (word.islower() and word in small)) for word in words
    )


def _bare(text: str) -> set[str]:
    return {unaccented(folded(word)).removesuffix("'s") for word in _WORD.findall(text)}
