"""Words of probes: whether an answer stands in a text, and whether it names an entity."""

from __future__ import annotations

import re
from unicodedata import normalize

from ticlm.core.examples import MASK

_WORD = re.compile(r"\w+")


def words(text: str) -> list[str]:
    """Return the runs of letters, digits and underscores of a text, without case and without the mask."""
    return _WORD.findall(folded(text.replace(MASK, " ")))


def folded(text: str) -> str:
    """Return a text without case, its accents composed, so that spellings of one word are equal."""
    return normalize("NFC", normalize("NFC", text).casefold())


def mentions(text: str, answer: str) -> bool:
    """Return whether the words of an answer stand in a text, whole, in their order and side by side."""
    wanted, found = words(answer), words(text)
    spans = range(len(found) - len(wanted) + 1)
    return bool(wanted) and any(found[start : start + len(wanted)] == wanted for start in spans)


def is_entity(answer: str) -> bool:
    """Return whether an answer is written as a name or a number: it has a capital, a digit, or no case at all.

    LAMA's answers are labels of Wikidata, which writes common nouns in small letters (`piano`) and names with a capital
    (`Paris`, `iOS`).
    """
    return any(character.isupper() or character.istitle() or character.isdigit() for character in answer) or (
        answer.upper() == answer.lower() and any(character.isalpha() for character in answer)
    )
