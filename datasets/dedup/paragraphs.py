"""Verdicts: which paragraphs and documents repeat the contents of a Bloom filter (see `settings` for the rule)."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from ticlm.datasets.dedup.bloom import BloomFilter, fetch, holds, put
from ticlm.datasets.dedup.settings import Deduplicate
from ticlm.datasets.text.words import paragraphs, shingles

Bools = NDArray[np.bool_]


class Shingled(NamedTuple):
    """The n-grams of some documents, in order. Paragraph p has `hashes[paragraphs[p] : paragraphs[p + 1]]`; document d
    has the paragraphs `documents[d]` to `documents[d + 1]` (exclusive)."""

    hashes: NDArray[np.uint64]
    paragraphs: NDArray[np.int64]
    documents: NDArray[np.int64]


class Verdict(NamedTuple):
    """Masks of removed documents and paragraphs: bool[documents], bool[paragraphs]; and how many n-grams were found in
    the filter, and added."""

    documents: Bools
    paragraphs: Bools
    contained: int
    inserted: int


def shingled(texts: Iterable[str], ngram: int) -> Shingled:
    """Return the n-grams of every paragraph of every text."""
    hashes, paragraphs, documents = [np.empty(0, np.uint64)], [np.zeros(1, np.int64)], [0]
    total = 0
    for text in texts:
        mine, offsets = shingles(text, ngram)
        hashes.append(mine)
        paragraphs.append(offsets[1:] + total)
        total += len(mine)
        documents.append(documents[-1] + len(offsets) - 1)
    return Shingled(np.concatenate(hashes), np.concatenate(paragraphs), np.array(documents, np.int64))


def judge(settings: Deduplicate, found: Shingled, bloom: BloomFilter, frozen: bool = False) -> Verdict:
    """Apply the rule to documents in their order, and add their n-grams, except those of removed paragraphs, to the
    filter, unless it is `frozen`. The verdict on a document depends on all before it."""
    documents = np.zeros(len(found.documents) - 1, np.bool_)
    paragraphs = np.zeros(len(found.paragraphs) - 1, np.bool_)
    contained, inserted = _judge(
        bloom.blocks,
        bloom.probes,
        bloom.seed,
        bloom.wide,
        *found,
        settings.threshold,
        settings.remove == "both",
        frozen,
        documents,
        paragraphs,
    )
    return Verdict(documents, paragraphs, int(contained), int(inserted))


def surviving(found: Shingled, documents: Bools, paragraphs: Bools) -> Shingled:
    """Return the n-grams that are left without these documents, bool[documents], and paragraphs, bool[paragraphs]."""
    stays = ~(np.repeat(documents, np.diff(found.documents)) | paragraphs)
    lengths = np.diff(found.paragraphs)
    of_documents = np.diff(bounds(stays.astype(np.int64))[found.documents])[~documents]
    return Shingled(found.hashes[np.repeat(stays, lengths)], bounds(lengths[stays]), bounds(of_documents))


def without(text: str, gone: Bools) -> str:
    """Return the text without the paragraphs in `gone`, bool[paragraphs]."""
    if not gone.any():
        return text
    at = paragraphs(text).tolist()
    stays = (not out for out in gone.tolist())
    return "".join(text[low:high] for (low, high), stay in zip(pairwise(at), stays, strict=True) if stay)


def bounds(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return int64[n + 1], the start of each of n consecutive ranges, given their lengths, and the end of the last."""
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths, dtype=np.int64)])


@njit(cache=True, nogil=True)
def _judge(
    blocks: Any,
    probes: int,
    seed: Any,
    wide: bool,
    hashes: Any,
    paragraphs: Any,
    documents: Any,
    threshold: float,
    by_paragraph: bool,
    frozen: bool,
    gone_documents: Any,
    gone_paragraphs: Any,
) -> tuple[int, int]:
    """Do the work of `judge`: fill the last two arguments, and return the n-grams found in the filter, and added."""
    all_contained = inserted = 0
    for d in range(len(documents) - 1):
        total = contained = 0
        for p in range(documents[d], documents[d + 1]):
            low, high = paragraphs[p], paragraphs[p + 1]
            found = 0
            for i in range(low, high):
                fetch(blocks, seed, wide, hashes, i)
                if holds(blocks, probes, seed, wide, hashes[i]):
                    found += 1
            total += high - low
            contained += found
            if by_paragraph and high > low and found / (high - low) > threshold:
                gone_paragraphs[p] = True
            elif not frozen and found < high - low:  # with all of them there, adding would change no bit
                inserted += high - low - found
                for i in range(low, high):
                    put(blocks, probes, seed, wide, hashes[i])
        all_contained += contained
        gone_documents[d] = total > 0 and contained / total > threshold
    return all_contained, inserted
