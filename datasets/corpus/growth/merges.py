"""Further merges of a BPE: which pieces that stand side by side become one, on words that are cut into pieces."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Mapping, Set
from itertools import pairwise
from typing import NamedTuple

Word = tuple[int, ...]
Pair = tuple[int, int]


class Merge(NamedTuple):
    """Two pieces that become one: their ids, the id of the new piece, and at how many places they stood."""

    left: int
    right: int
    piece: int
    places: int


def learn(
    words: Mapping[Word, int],
    names: Mapping[int, str],
    first: int,
    most: int,
    least: int,
    taken: Set[str] = frozenset(),
) -> list[Merge]:
    """Return at most `most` merges, in their order; new pieces have ids from `first` on.

    `words` are pre-tokens as the ids of the pieces that they are cut into, with how often each stands in the text;
    `names` are the texts of all pieces. Each merge takes the pair of pieces that stands side by side most often, and of
    several such the one with the smallest ids, so that the order of texts is of no matter. Learning ends when no pair
    stands `least` times. A pair that would spell a piece which is there already, or one of the texts in `taken`, is
    passed over: every merge makes a new piece.
    """
    known = {*names.values(), *taken}
    named = dict(names)
    cut = [word for word in words if len(word) > 1]
    often = [words[word] for word in cut]
    counts: Counter[Pair] = Counter()
    where: dict[Pair, set[int]] = {}
    for number, word in enumerate(cut):
        for pair in _pairs(word):
            counts[pair] += often[number]
            where.setdefault(pair, set()).add(number)
    heap = [(-count, pair) for pair, count in counts.items()]
    heapq.heapify(heap)
    found = list[Merge]()
    while heap and len(found) < most:
        count, pair = -heap[0][0], heap[0][1]
        if count != counts[pair]:  # the pair has lost places to other merges since it was put here
            heapq.heapreplace(heap, (-counts[pair], pair))
            continue
        if count < max(1, least):
            break
        heapq.heappop(heap)
        text = named[pair[0]] + named[pair[1]]
        if text in known:
            continue
        piece = first + len(found)
        found.append(Merge(*pair, piece, count))
        named[piece] = text
        known.add(text)
        changed: dict[Pair, None] = {}
        for number in where.pop(pair):
            old, new = cut[number], merged(cut[number], pair, piece)
            for one in _pairs(old):
                counts[one] -= often[number]
            for one in _pairs(new):
                counts[one] += often[number]
                if piece in one:
                    where.setdefault(one, set()).add(number)
                    changed[one] = None
            cut[number] = new
        for one in changed:
            heapq.heappush(heap, (-counts[one], one))
    return found


def merged(word: Word, pair: Pair, piece: int) -> Word:
    """Return a word in which each place of a pair, from the left on, is one piece."""
    found = list[int]()
    at = 0
    while at < len(word):
        if word[at : at + 2] == pair:
            found.append(piece)
            at += 2
        else:
            found.append(word[at])
            at += 1
    return tuple(found)


def parts(merges: list[Merge]) -> tuple[Word, ...]:
    """Return the pieces from before the first merge that each new piece is made of.

    They are what the text of the piece is cut into without the merges: no earlier merge reached over its two borders
    where it was learned, so those within it are done in the same order when it stands alone.
    """
    found: dict[int, Word] = {}
    for one in merges:
        found[one.piece] = found.get(one.left, (one.left,)) + found.get(one.right, (one.right,))
    return tuple(found.values())


def _pairs(word: Word) -> Iterator[Pair]:
    return pairwise(word)
