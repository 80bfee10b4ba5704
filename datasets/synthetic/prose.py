"""The everyday prose of the synthetic world: sentences of common words, which state nothing.

It gives the text its entropy, and most of its slow drift. Words have Zipf's frequencies. Each belongs to a field, and a
text keeps to one field, so that what was read helps to predict what comes. The frequencies of words and of fields have
tides (see `tides`), which change common and rare words alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate
from random import Random

from ticlm.datasets.synthetic.tables import tables, template_parts
from ticlm.datasets.synthetic.tides import Tides

FIELDS = 12
"""Fields that the words are divided into."""
IN_FIELD = 0.6
"""Probability that a word is one of the text's field, rather than of all."""
SHARES = {"noun": 0.6, "verb": 0.2, "adjective": 0.17, "adverb": 0.03}
"""Parts of speech of the vocabulary."""
FLATTENED = 2.0
"""Zipf's law as 1 / (rank + FLATTENED): the first words are not as frequent as articles are."""


@dataclass(frozen=True, slots=True)
class _Words:
    words: Sequence[str]
    weights: Sequence[float]
    """Cumulative."""

    def draw(self, rng: Random) -> str:
        return rng.choices(self.words, cum_weights=self.weights)[0]


class Prose:
    """The sentences of one month, of `vocabulary` common words."""

    def __init__(self, tides: Tides, vocabulary: int, month: int) -> None:
        def tide(name: str) -> float:
            return tides.weight(f"prose/{name}", month)

        self._lists: dict[tuple[str, int | None], _Words] = {}
        for part, ranked in _vocabulary(tides.seed, vocabulary):
            for field in (None, *range(FIELDS)):
                kept = [(word, rank) for rank, (word, own) in enumerate(ranked) if field in (None, own)]
                kept = kept or [(word, rank) for rank, (word, _) in enumerate(ranked)]
                weights = [tide(f"{part}/{word}") / (rank + 1 + FLATTENED) for word, rank in kept]
                self._lists[part, field] = _Words([word for word, _ in kept], list(accumulate(weights)))
        for part, words in (("sentences", tables().prose["sentences"]), ("who", tables().prose["who"])):
            weights = [tide(f"{part}/{word}") for word in words]
            self._lists[part, None] = _Words(words, list(accumulate(weights)))
        fields = [tide(f"field/{field}") for field in range(FIELDS)]
        self._fields = list(accumulate(fields))

    def field(self, rng: Random) -> int:
        """Return the field of a text."""
        return rng.choices(range(FIELDS), cum_weights=self._fields)[0]

    def sentence(self, field: int, rng: Random) -> str:
        """Return a sentence of a text about a field."""
        template = self._lists["sentences", None].draw(rng)
        text = "".join(
            literal + (self._word(slot, field, rng) if slot else "") for literal, slot in template_parts(template)
        )
        return text[0].upper() + text[1:]

    def _word(self, part: str, field: int, rng: Random) -> str:
        own = field if part in SHARES and rng.random() < IN_FIELD else None
        return self._lists[part, own].draw(rng)


@lru_cache(maxsize=16)
def _vocabulary(seed: int, size: int) -> tuple[tuple[str, tuple[tuple[str, int], ...]], ...]:
    """Return the words of each part of speech, most frequent first, each with its field."""
    found = []
    for part, share in SHARES.items():
        rng = Random(f"{seed}/prose/{part}")
        words = _made(part, max(1, round(size * share)), rng)
        found.append((part, tuple((word, rng.randrange(FIELDS)) for word in words)))
    return tuple(found)


def _made(part: str, size: int, rng: Random) -> list[str]:
    """Return `size` words: the words of the table in random order, then words that are made of two of them."""
    prose = tables().prose
    words = dict.fromkeys(rng.sample(prose[part], len(prose[part])))
    roots = list(words)
    pairs: dict[str, tuple[Sequence[str], Sequence[str]]] = {
        "noun": (roots, roots),
        "verb": (roots, prose["particle"]),
        "adjective": (prose["degree"], roots),
    }
    if part in pairs:
        first, second = pairs[part]
        while len(words) < size:
            a, b = rng.choice(first), rng.choice(second)
            if a != b:
                words[f"{a} {b}"] = None
    return list(words)[:size]
