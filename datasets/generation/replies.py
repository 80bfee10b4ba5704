"""Reading replies: a question with two answers or with one, "no factual update", and a judge's true or false.

Whatever the prompt did not ask for is Unreadable: a guess at what a model meant is worth less than a counted loss.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from ticlm.datasets.llm.prompts import Unreadable

_NOTHING = re.compile(r"\W*no (?:factual updates?|questions?)\W*", re.IGNORECASE)
_LABEL = re.compile(r"\s*[*_#>-]*\s*(question|answer ?[12]?)\s*[*_]*\s*:\s*[*_]*\s*(.*?)\s*", re.IGNORECASE)
_VERDICT = re.compile(r"\W*(?:([ab])\b\W*)?(?:(true|false)\b\W*)?", re.IGNORECASE)
_QUOTES = "\"'“”‘’«»`*[]"


class Reply(NamedTuple):
    """A question, and its answers in the order of the prompt: the outdated and the updated one, or one alone."""

    question: str
    answers: tuple[str, ...]


def question(reply: str, answers: int) -> Reply | None:
    """Return the question of a reply and its `answers` (1 or 2), or None if the model says that there is none.

    Raises Unreadable if the reply is not one line for the question and one for each answer, in this order.
    """
    if not reply.strip():
        raise Unreadable("an empty reply")
    if _NOTHING.fullmatch(reply):
        return None
    wanted = ("question", "answer") if answers == 1 else ("question", "answer1", "answer2")
    found = [_LABEL.fullmatch(line) for line in reply.splitlines() if line.strip()]
    names = tuple(match[1].lower().replace(" ", "") if match else "" for match in found)
    if names != wanted:
        raise Unreadable("a reply without the lines that were asked for")
    asked, *given = [match[2].strip(_QUOTES).strip() for match in found if match]
    if not asked.endswith("?"):
        raise Unreadable("a question without a question mark")
    if not all(given):
        raise Unreadable("an empty answer")
    return Reply(asked, tuple(given))


def verdict(reply: str, options: tuple[bool, bool]) -> bool:
    """Return what a judge said, given what (A) and (B) meant: "(A) True", "A", "True", with any other punctuation.

    Raises Unreadable for anything else, and for a letter that does not stand for the word behind it.
    """
    found = _VERDICT.fullmatch(reply)
    if found is None or not (found[1] or found[2]):
        raise Unreadable("neither true nor false")
    letter = None if found[1] is None else options["ab".index(found[1].lower())]
    word = None if found[2] is None else found[2].lower() == "true"
    if letter is not None and word is not None and letter != word:
        raise Unreadable("a letter that stands for another option")
    return bool(letter if word is None else word)
