"""Prompts that every model continues, taken from the text itself: words with which many documents begin."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

MOST = 2
"""Prompts at most: each is a block of the page, and a short text that every checkpoint has to write."""
WORDS = (4, 3, 2)
"""Words of a prompt. Longer openings say more of the subject, but fewer documents share them."""
SHARE, LEAST = 0.01, 3
"""An opening counts if this share of the documents have it, and so many at least."""
LONGEST = 48
"""Characters of a prompt at most."""
TOKENS = 24
"""Tokens that a model writes after a prompt."""


def openings(texts: Sequence[str]) -> list[str]:
    """Return up to MOST openings that many of these texts share, longer ones first; none if all begin differently.

    Two openings have other words at the beginning, and none ends a sentence: a model should have something to add.
    """
    found: dict[str, str] = {}
    words = [text.lstrip()[:400].partition("\n")[0].split()[: max(WORDS) + 1] for text in texts]
    for count in WORDS:
        counts = Counter(" ".join(one[:count]) for one in words if len(one) > count)
        for opening, times in sorted(counts.items(), key=lambda one: (-one[1], one[0])):
            if times < max(LEAST, SHARE * len(texts)) or len(found) == MOST:
                break
            if _reads_well(opening):
                found.setdefault(" ".join(_words(opening)[:2]), opening)
    return list(found.values())


def _words(opening: str) -> list[str]:
    return [word for word in opening.split() if any(letter.isalpha() for letter in word)]


def _reads_well(opening: str) -> bool:
    """Return whether an opening is the beginning of a sentence: no address, number or mark-up in it."""
    plain = len(opening) <= LONGEST and opening.isprintable() and not set(opening) & set("0123456789@/<>{}[]|\\=_")
    return plain and len(_words(opening)) >= min(WORDS) and opening[-1] not in ".!?"
