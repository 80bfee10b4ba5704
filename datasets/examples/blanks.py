"""Fill-in-the-blank questions: a sentence that mentions subject and object of a triplet, with the object left out
(TiC-LM, B.1.3)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.core.settings import Settings
from ticlm.core.store import Store
from ticlm.datasets.text.matching import whole_words

BLANK = "_____"
PROMPT = "Question: Fill in the blank: {}\nAnswer:"
NESTED = "subject and object in one another"
ABSENT = "object not in these sentences"
APART = "no sentence with subject and object"


class Blanks(Settings):
    """Which sentences make questions, and which other spellings count as the answer.

    With `mentions: both`, a sentence must mention subject and object (the paper); with `object`, the object alone (a
    second file of the released code). With `casings`, the aliases contain the answer with other capitals, as in the
    released code.
    """

    mentions: Literal["both", "object"] = "both"
    """Whether a sentence must mention subject and object, or the object alone."""
    subject_aliases: bool = False
    """Whether an alias of the subject counts as a mention too; its label and its article's title always do."""
    casings: bool = True
    """Whether the aliases contain the answer with other capitals, as in the released code."""


@dataclass(frozen=True, slots=True)
class Blank:
    """A sentence with blanks for its object, and the object as the sentence wrote it."""

    sentence: str
    written: str


def fill_in(sentences: Iterable[str], subject: Sequence[str], answer: str, blanks: Blanks) -> Blank | str:
    """Return the first usable sentence with every mention of the object blanked, or the reason why there is none.

    A usable sentence mentions the object `answer` and the `subject` by one of its names, of which the label is the
    first. A mention is whole words. Sentences that write both names exactly go before those with other capitals; blanks
    replace the object in any case. The subject counts only outside the object. If label and object contain one another,
    there is no question: the answer would stand in it, or the subject would be missing. Other names of the subject that
    contain the object, or are part of it, do not count.
    """
    if _nested(subject[0], answer):
        return NESTED
    known = [name for name in subject if not _nested(name, answer)]
    reason = ABSENT
    folded = answer.casefold()
    candidates = [sentence for sentence in sentences if folded in sentence.casefold() and BLANK not in sentence]
    for ignore_case in (False, True):
        for sentence in candidates:
            written = mention(answer, sentence, ignore_case)
            if written is None:
                continue
            blank = whole_words(answer).sub(BLANK, sentence)
            if blanks.mentions == "object" or any(mention(name, blank, ignore_case) for name in known):
                return Blank(blank, written)
            reason = APART
    return reason


def mention(name: str, text: str, ignore_case: bool = False) -> str | None:
    """Return the first mention of a name in a text, as whole words and as the text writes it, or None."""
    if not ignore_case and name not in text:
        return None
    match = whole_words(name, ignore_case).search(text)
    return match.group() if match else None


def _nested(a: str, b: str) -> bool:
    a, b = a.casefold(), b.casefold()
    return a in b or b in a


def names(label: str, title: str, aliases: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names of a subject, each once: its label, its article's title without the part in parentheses ("Queen"
    for "Queen (chess)"), and its aliases."""
    return tuple(dict.fromkeys((label, re.sub(r"\s*\([^()]*\)$", "", title) or title, *aliases)))


def context(sentence: str) -> str:
    """Return the prompt that a model is shown before the answer."""
    return PROMPT.format(sentence)


def accepted(answer: str, aliases: Sequence[str], written: str, casings: bool) -> tuple[str, ...]:
    """Return other accepted answers: as the sentence wrote it, its aliases, and with `casings` in other capitals."""
    others = [written, *aliases, *(_casings(answer) if casings else ())]
    return tuple(dict.fromkeys(other for other in others if other != answer))


def _casings(text: str) -> Iterator[str]:
    yield text.lower()
    yield text.upper()
    yield text.capitalize()
    yield " ".join(word.capitalize() for word in text.split(" "))
    yield text[:1].upper() + text[1:]
    yield text[:1].lower() + text[1:]


def export(examples: Examples, folder: str) -> list[str]:
    """Write a set of questions in the paper's format into `<folder>/<subset>-<period>.jsonl`; return the files.

    Raises InputError if the set holds texts without answers.
    """
    store, written = Store(folder), []
    for period, manifest in examples.periods.items():
        for subset in manifest.subsets:
            questions = list(examples.read(period, subset))
            if any(question.answer is None for question in questions):
                raise InputError(f"examples {examples.info.id} are no questions: {subset} of {period} has no answers")
            lines = [json.dumps(as_paper_json(question), ensure_ascii=False) + "\n" for question in questions]
            store.write(f"{subset}-{period}.jsonl", "".join(lines).encode())
            written.append(store.uri(f"{subset}-{period}.jsonl"))
    return written


def as_paper_json(example: Example) -> dict[str, Any]:
    """Return a question in the paper's format (Figure 8), with the relation as the released code adds it."""
    return {
        "context": example.text,
        "answer": example.answer,
        "aliases": list(example.aliases),
        "metadata": {"relation": example.about.get("relation", "")},
    }
