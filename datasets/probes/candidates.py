"""Candidates: questions whose answer an article gives, as a cloze and as a sentence with a question mark. By rules."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ticlm.core.examples import MASK
from ticlm.core.fingerprint import hash64
from ticlm.datasets.text.matching import contains
from ticlm.datasets.text.sentences import sentences
from ticlm.datasets.text.spans import Span
from ticlm.datasets.text.taggers import Tagger

WORDS = (4, 60)
"""Fewest words of a cloze beside its mask, and most words of a sentence."""
_STOP = """
    a an and are as at be been being but by did do does for from had has have he her his how if in into is it its nor
    not of on or our she so than that the their them then there these they this those to was we were what when where
    which who whom whose why will with you your
"""
STOP = frozenset(_STOP.split())
"""Words that name no subject and carry no relation."""
_DEPENDENT = "he her his it its she that their there these they this those we our i my you your"
DEPENDENT = frozenset(_DEPENDENT.split())
"""First words of sentences that cannot be understood alone."""
WH = {
    **dict.fromkeys(("PERSON", "PER"), "who"),
    **dict.fromkeys(("GPE", "LOC", "FAC"), "which place"),
    **dict.fromkeys(("DATE", "TIME"), "when"),
    **dict.fromkeys(("NUMBER", "CARDINAL", "QUANTITY", "PERCENT"), "how many"),
    **{"ORG": "which organisation", "MONEY": "how much money", "NORP": "which group", "NAME": "who or what"},
}
"""The question word for each kind of span; "what" for all others."""

SHORT, LONG = f"fewer than {WORDS[0]} words beside the answer", f"a sentence of more than {WORDS[1]} words"
ALONE, NAMELESS = "a sentence that cannot be understood alone", "no name beside the answer"
GIVEN, SEPARATOR = "the answer stands in the question", "an answer with a semicolon"
SPELLED, QUOTED, HEADLINE = "a sentence that spells a mask", "a sentence with a quotation", "no whole sentence"
TWICE, KNOWN = "the same question twice", "a sentence that the old corpus has too"

_WORD = re.compile(r"\w+(?:['’-]\w+)*")
_END = re.compile(r"(?:(?<!\.\w)\.|[!?])+$")  # U.S. keeps its last point
_AUXILIARY = frozenset(["is", "are", "was", "were", "has", "have", "had", "will"])
_IS = re.compile(rf"^(?P<subject>.+?) (?P<verb>is|are|was|were) {MASK}[.]?$")


@dataclass(frozen=True, slots=True)
class DatedArticle:
    """A document of the new corpus; `day` is written YYYY-MM-DD."""

    id: str
    text: str
    day: str


@dataclass(frozen=True, slots=True)
class Candidate:
    """A question that an article answers. `cloze` has MASK where the answer stands, `label` is the kind of answer, and
    `sentence` is that of the article (or what a model said there is to know, in a sentence)."""

    cloze: str
    question: str
    answer: str
    label: str
    sentence: str
    article: str
    day: str

    @property
    def id(self) -> str:
        """Return a name that the same question about the same article always has."""
        text = "\0".join((self.article, self.day, self.cloze, self.answer))
        return f"{hash64(text):016x}"


@dataclass
class Drawn:
    """Candidates, the number of all that were looked at, and why the others were left out."""

    kept: list[Candidate] = field(default_factory=list)
    read: int = 0
    dropped: Counter[str] = field(default_factory=Counter)

    def take(self, candidate: Candidate) -> None:
        """Count a candidate, and keep it if it can be asked."""
        self.read += 1
        if reason := unusable(candidate):
            self.dropped[reason] += 1
        else:
            self.kept.append(candidate)


def by_rules(article: DatedArticle, tagger: Tagger) -> Drawn:
    """Return a candidate for each span that the tagger finds in the sentences of an article."""
    drawn = Drawn()
    for sentence, spans in tagged_sentences(article.text, tagger):
        for span in spans:
            drawn.take(masked(article, sentence, span))
    return drawn


def tagged_sentences(text: str, tagger: Tagger) -> Iterator[tuple[str, list[Span]]]:
    """Yield each sentence of a text with its spans."""
    yield from tagger.tagged(cut(text))


def cut(text: str) -> list[str]:
    """Return the sentences of a text; none of them crosses a line."""
    return [sentence for line in text.splitlines() for sentence in sentences(line)]


def masked(article: DatedArticle, sentence: str, span: Span) -> Candidate:
    """Return the candidate that asks for a span of a sentence."""
    answer, cloze = sentence[span.begin : span.end], f"{sentence[: span.begin]}{MASK}{sentence[span.end :]}"
    return Candidate(cloze, question_of(cloze, span.label), answer, span.label, sentence, article.id, article.day)


def question_of(cloze: str, label: str) -> str:
    """Return a cloze as a question. Only "X is MASK." and "MASK does …" are turned around; in all others the question
    word stands in the place of the mask."""
    word = WH.get(label, "what")
    if found := _IS.match(cloze):
        subject = found["subject"]
        first = subject.split()[0]
        subject = subject[0].lower() + subject[1:] if first.lower() in STOP else subject
        return f"{word[0].upper()}{word[1:]} {found['verb']} {subject}?"
    asked = _END.sub("", cloze.strip()).replace(MASK, word)
    return f"{asked[0].upper()}{asked[1:]}?"


def unusable(candidate: Candidate) -> str:
    """Return why a candidate cannot be asked; empty if it can."""
    rest = candidate.cloze.replace(MASK, " ")
    words = _WORD.findall(rest)
    if candidate.cloze.count(MASK) != 1 or "<extra_id_" in candidate.sentence:
        return SPELLED
    if any(mark in candidate.sentence for mark in '"“”«»'):
        return QUOTED
    if not candidate.sentence.rstrip().endswith((".", "!")):
        return HEADLINE
    if len(_WORD.findall(candidate.sentence)) > WORDS[1]:
        return LONG
    if len(words) < WORDS[0]:
        return SHORT
    if words[0].lower() in DEPENDENT:
        return ALONE
    if not subjects(candidate.cloze):
        return NAMELESS
    if ";" in candidate.answer:
        return SEPARATOR
    if contains(f"{rest} {candidate.question}", candidate.answer):
        return GIVEN
    return ""


def subjects(cloze: str) -> frozenset[str]:
    """Return the words that name what a cloze is about: capitalised ones. The first word of the cloze counts only
    before another one, or before a verb such as "is": in "Shares in …" it is no name."""
    first = cloze.lstrip().startswith(MASK)
    words = _WORD.findall(cloze.replace(MASK, " "))
    names = {word for word in words[0 if first else 1 :] if word[0].isupper()}
    if words and not first and words[0][0].isupper() and words[0].lower() not in STOP:
        following = words[1] if len(words) > 1 else ""
        if following[:1].isupper() or following in _AUXILIARY or words[0].endswith(("'s", "’s")):
            names.add(words[0])
    return frozenset(names)


def words_of(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return [word.lower() for word in _WORD.findall(text)]


def distinct(candidates: Sequence[Candidate], known: Sequence[bool], dropped: Counter[str]) -> list[Candidate]:
    """Return the candidates whose sentence is not `known`, each question once; count the others."""
    kept: dict[str, Candidate] = {}
    for candidate, old in zip(candidates, known, strict=True):
        if old:
            dropped[KNOWN] += 1
        elif candidate.cloze in kept:
            dropped[TWICE] += 1
        else:
            kept[candidate.cloze] = candidate
    return list(kept.values())
