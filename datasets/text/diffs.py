"""Diffs: which passages of a text are new against an older version of it, and which stood there already.

Paragraphs are compared first, and sentences within those that were replaced (TiC-LM, B.1.2). What is compared is a key
without case, punctuation and spacing; what comes back is text as it was written. Where the paper's Algorithm 2 pairs
paragraphs by their position, so that all after an insertion would count as changed, this aligns them, as its code does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

MOST_PAIRS = 5_000_000
"""Pairs of equal keys that are compared at most: a list of 2,000 equal lines against another."""
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+")
_DROPPED = re.compile(r"[^\w\s]")
Tag = Literal["equal", "replace", "delete", "insert"]
Block = tuple[Tag, int, int, int, int]


@dataclass(frozen=True, slots=True)
class Passage:
    """A paragraph or a sentence of the newer version, in its order. One that is not `changed` is as the older version
    wrote it, which may differ in case, punctuation and spacing."""

    text: str
    changed: bool


class TooRepetitive(ValueError):
    """Two texts of so many equal lines that to align them takes too long."""


def key(text: str) -> str:
    """What of a passage is compared."""
    return " ".join(_DROPPED.sub("", text).lower().split())


def sentences(paragraph: str) -> list[str]:
    """Split after `.`, `!` or `?` and a space: 3.15 stays whole, `e.g. this` does not."""
    return [part for part in _SENTENCE_END.split(paragraph.strip()) if part]


def passages(old: Sequence[str], new: Sequence[str]) -> list[Passage]:
    """The newer version in passages: sentences where paragraphs were replaced, whole paragraphs elsewhere.
    TooRepetitive where both have too many equal lines."""
    found: list[Passage] = []
    for tag, i, j, k, m in _blocks(old, new):
        if tag == "equal":
            found += [Passage(text, False) for text in old[i:j]]
        elif tag == "insert":
            found += [Passage(text, True) for text in new[k:m]]
        elif tag == "replace":
            found += _replaced(_sentences(old[i:j]), _sentences(new[k:m]))
    return found


def _replaced(old: Sequence[str], new: Sequence[str]) -> list[Passage]:
    found: list[Passage] = []
    for tag, i, j, k, m in _blocks(old, new):
        if tag == "equal":
            found += [Passage(text, False) for text in old[i:j]]
        else:
            found += [Passage(text, True) for text in new[k:m]]
    return found


def _sentences(paragraphs: Sequence[str]) -> list[str]:
    return [sentence for paragraph in paragraphs for sentence in sentences(paragraph)]


def _blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """The opcodes of SequenceMatcher on keys. What both begin and end with is matched beforehand: most of a page is as
    it was, and matching takes time that grows with the square of what is left."""
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    i, k = len(old) - end, len(new) - end
    keys = {text: key(text) for text in {*old[start:i], *new[start:k]}}
    middle = _opcodes([keys[text] for text in old[start:i]], [keys[text] for text in new[start:k]])
    shifted: list[Block] = [(tag, w + start, x + start, y + start, z + start) for tag, w, x, y, z in middle]
    return [("equal", 0, start, 0, start), *shifted, ("equal", i, len(old), k, len(new))]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """How many items two sequences begin with in common."""
    return next((n for n, (one, other) in enumerate(zip(a, b)) if one != other), min(len(a), len(b)))


def _opcodes(a: Sequence[str], b: Sequence[str]) -> Sequence[Block]:
    often = Counter(b)
    if sum(often[item] for item in a) > MOST_PAIRS:
        raise TooRepetitive(f"{len(a):,} lines against {len(b):,}, with too many equal ones")
    return SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
