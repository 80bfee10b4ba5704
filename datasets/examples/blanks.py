"""Blanks: a sentence that mentions subject and object of a triplet, asked with the object left out (TiC-LM, B.1.3)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ticlm.platform.core.errors import InputError
from ticlm.platform.core.examples import Example, Examples
from ticlm.platform.core.settings import Settings
from ticlm.platform.core.store import Store

BLANK = "_____"
PROMPT = "Question: Fill in the blank: {}\nAnswer:"
NESTED = "subject and object in one another"
ABSENT = "object not in these sentences"
APART = "no sentence with subject and object"


class Blanks(Settings):
    """Which sentences serve, and what else counts as the answer.

    A sentence `mentions` both subject and object (the paper), or the object alone (a second file of the code released
    with it). With `casings`, the answer in other capitals is among its aliases (so released).
    """

    mentions: Literal["both", "object"] = "both"
    subject_aliases: bool = False
    """Whether an alias of the subject mentions it too; its label and its article's title always do."""
    casings: bool = True


@dataclass(frozen=True, slots=True)
class Blank:
    """A sentence without its object, and how the sentence wrote that."""

    sentence: str
    written: str


def fill_in(sentences: Iterable[str], subject: Sequence[str], answer: str, blanks: Blanks) -> Blank | str:
    """The first sentence that mentions the object `answer` and the `subject` by one of its names (its label is the
    first), with a blank for every mention of the object in whatever case; or the reason why there is none.

    A mention is whole words. Sentences that write both names as they are go first, then those with other capitals. The
    subject counts only outside of the object. Label and object inside one another make no question: the answer would
    stand in it, or the subject would not; another name of the subject that is so does not count.
    """
    if _nested(subject[0], answer):
        return NESTED
    known = [name for name in subject if not _nested(name, answer)]
    reason = ABSENT
    folded = answer.casefold()
    held = [sentence for sentence in sentences if folded in sentence.casefold() and BLANK not in sentence]
    for ignore_case in (False, True):
        for sentence in held:
            written = mention(answer, sentence, ignore_case)
            if written is None:
                continue
            blank = _pattern(answer, True).sub(BLANK, sentence)
            if blanks.mentions == "object" or any(mention(name, blank, ignore_case) for name in known):
                return Blank(blank, written)
            reason = APART
    return reason


def mention(name: str, text: str, ignore_case: bool = False) -> str | None:
    """How a text writes a name first, as whole words; None where it does not."""
    if not ignore_case and name not in text:
        return None
    found = _pattern(name, ignore_case).search(text)
    return found.group() if found else None


def _pattern(name: str, ignore_case: bool) -> re.Pattern[str]:
    """The name with no letter or digit on either side."""
    return re.compile(rf"(?<!\w){re.escape(name)}(?!\w)", re.IGNORECASE if ignore_case else re.NOFLAG)


def _nested(one: str, other: str) -> bool:
    one, other = one.casefold(), other.casefold()
    return one in other or other in one


def names(label: str, title: str, aliases: Sequence[str] = ()) -> tuple[str, ...]:
    """What a subject is called: its label, its article's title without what tells it from others of that name ("Queen"
    of "Queen (chess)"), and aliases; each once."""
    return tuple(dict.fromkeys((label, re.sub(r"\s*\([^()]*\)$", "", title) or title, *aliases)))


def context(sentence: str) -> str:
    """What a model is shown before the answer."""
    return PROMPT.format(sentence)


def accepted(answer: str, aliases: Sequence[str], written: str, casings: bool) -> tuple[str, ...]:
    """Other ways to give the answer: as the sentence wrote it, its aliases, and with `casings` in other capitals."""
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
    """Write a set of questions as the paper does, a line each, into `<folder>/<subset>-<period>.jsonl`; the files.

    InputError for a set that holds texts without answers.
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
    """A question as the paper writes it (Figure 8), with the relation as the released code adds it."""
    return {
        "context": example.text,
        "answer": example.answer,
        "aliases": list(example.aliases),
        "metadata": {"relation": example.about.get("relation", "")},
    }
