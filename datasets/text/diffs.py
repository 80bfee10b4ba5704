"""Diffs of two versions of a text: which passages of the newer one are new, and which were there already.

Paragraphs are compared first, then sentences within replaced paragraphs (TiC-LM, B.1.2). The comparison ignores case,
spacing, and punctuation but the marks of numbers; the results are texts as they were written. The paper's Algorithm 2
pairs paragraphs by their position, so that all paragraphs after an insertion would count as changed. This module aligns
them, as its code does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from ticlm.datasets.text.sentences import sentences
from ticlm.datasets.text.spelling import folded, without

MOST_PAIRS = 5_000_000
"""Most pairs of equal keys that are compared: two lists of some 2,000 equal lines have so many."""
_DROPPED = re.compile(r"[^\w\s]")
Tag = Literal["equal", "replace", "delete", "insert"]
Block = tuple[Tag, int, int, int, int]


@dataclass(frozen=True, slots=True)
class DiffPassage:
    """A paragraph or a sentence of the newer version. If it is not `changed`, its text is that of the older version,
    which may differ in case, punctuation and spacing. It `moved` if the older version has it at another place, where
    the newer one does not have it any more; the paper counts it as changed all the same."""

    text: str
    changed: bool
    moved: bool = False


class TooRepetitive(ValueError):
    """Two texts have so many equal lines that aligning them would take too long."""


def key(text: str) -> str:
    """Return the form of a passage that is compared: without case, punctuation and spacing, but with the marks that
    belong to numbers."""
    return " ".join(without(_DROPPED, folded(text)).lower().split())


def passages(old: Sequence[str], new: Sequence[str]) -> list[DiffPassage]:
    """Return the newer version in passages: sentences if a paragraph was replaced, otherwise whole paragraphs.

    Raises TooRepetitive if both versions have too many equal lines.
    """
    found: list[DiffPassage] = []
    removed: list[str] = []
    for tag, i, j, k, m in blocks(old, new):
        if tag == "equal":
            found += [DiffPassage(text, False) for text in old[i:j]]
        elif tag == "insert":
            found += [DiffPassage(text, True) for text in new[k:m]]
        elif tag == "delete":
            removed += _sentences(old[i:j])
        else:
            found += _replaced(_sentences(old[i:j]), _sentences(new[k:m]), removed)
    return _with_moves(found, removed)


def _replaced(old: Sequence[str], new: Sequence[str], removed: list[str]) -> list[DiffPassage]:
    """Return the passages of the newer sentences; add older ones that are not among them to `removed`."""
    found: list[DiffPassage] = []
    for tag, i, j, k, m in blocks(old, new):
        if tag == "equal":
            found += [DiffPassage(text, False) for text in old[i:j]]
        else:
            found += [DiffPassage(text, True) for text in new[k:m]]
            removed += old[i:j]
    return found


def _with_moves(found: list[DiffPassage], removed: Sequence[str]) -> list[DiffPassage]:
    """Mark the changed passages of which every sentence was removed at another place. Each removed sentence is taken
    once, by the first passage that has it."""
    left = Counter(map(key, removed))
    for place, passage in enumerate(found):
        if passage.changed and left:
            wanted = Counter(filter(None, map(key, sentences(passage.text))))
            if wanted and wanted <= left:
                left -= wanted
                found[place] = replace(passage, moved=True)
    return found


def _sentences(paragraphs: Sequence[str]) -> list[str]:
    return [sentence for paragraph in paragraphs for sentence in sentences(paragraph)]


def blocks(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return the opcodes of SequenceMatcher on keys. Equal beginnings and ends are matched first: most of a page does
    not change, and the time of matching grows with the square of the rest.

    Raises TooRepetitive if both have too many equal lines.
    """
    start = _common(old, new)
    end = _common(old[start:][::-1], new[start:][::-1])
    i, k = len(old) - end, len(new) - end
    keys = {text: key(text) for text in {*old[start:i], *new[start:k]}}
    middle = _opcodes([keys[text] for text in old[start:i]], [keys[text] for text in new[start:k]])
    shifted: list[Block] = [(tag, w + start, x + start, y + start, z + start) for tag, w, x, y, z in middle]
    return [("equal", 0, start, 0, start), *shifted, ("equal", i, len(old), k, len(new))]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    """Return how many items two sequences have in common at their beginning."""
    return next((n for n, (one, other) in enumerate(zip(a, b)) if one != other), min(len(a), len(b)))


def _opcodes(a: Sequence[str], b: Sequence[str]) -> Sequence[Block]:
    often = Counter(b)
    if sum(often[item] for item in a) > MOST_PAIRS:
        raise TooRepetitive(f"{len(a):,} lines against {len(b):,}, with too many equal ones")
    return SequenceMatcher(None, a, b, autojunk=False).get_opcodes()
