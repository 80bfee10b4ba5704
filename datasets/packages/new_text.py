"""What is new in a release: the paragraphs that no earlier release of the package had, word for word or nearly."""

from __future__ import annotations

import re

from ticlm.core.fingerprint import hash64

WORDS = 5
"""Words of a sequence. Shorter ones are in any text; longer ones miss more of what was changed in one place."""
_WORD = re.compile(r"\w+")
_DIGIT = re.compile(r"\d")


class KnownText:
    """All text that earlier releases of a package had, as hashes of sequences of words.

    Numbers count as one word, so that a paragraph with another version number or date in it is not new. Paragraphs of
    fewer than five words have no sequence and are never new: names of contributors, heads of columns, and almost all
    text in languages without spaces between words (Chinese, Japanese).
    """

    def __init__(self) -> None:
        self._known: set[int] = set()

    def learn(self, text: str) -> float:
        """Return the share of a text's sequences that are new, from 0 to 1, and add them. Without any, it is 0."""
        words = ["0" if _DIGIT.search(word) else word.lower() for word in _WORD.findall(text)]
        sequences = [hash64(" ".join(words[at : at + WORDS])) for at in range(len(words) - WORDS + 1)]
        new = sum(sequence not in self._known for sequence in sequences)
        self._known.update(sequences)
        return new / max(1, len(sequences))
