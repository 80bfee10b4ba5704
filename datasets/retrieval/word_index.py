"""BM25 as a retriever: passages that share words with a question. It needs no model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

from ticlm.core.extras import Extra
from ticlm.core.settings import Settings
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.retrieval.passages import Passages, Shard, read_table
from ticlm.datasets.text import bm25

QUESTIONS = 256  # cut into words at once


class Bm25Retriever(Settings):
    """BM25 over titles and texts (Robertson's, as Lucene computes it).

    The frequencies of words are those of the passages that a period may see, so the index is made anew for each period,
    in the memory of one process: about 2 GB for a million passages.
    """

    kind: Literal["bm25"] = "bm25"

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("retrieval", ("bm25s",)),)

    @property
    def identity(self) -> Settings:
        """Return the settings."""
        return self

    @property
    def external_inputs(self) -> None:
        """Return None: nothing comes from outside."""
        return None

    def opened(self, context: BuildContext, passages: Passages) -> WordSearch:
        """Return a search in these passages."""
        return WordSearch(passages)


@dataclass(frozen=True)
class WordSearch:
    """A search by words."""

    passages: Passages

    def search(self, questions: Sequence[str], shards: Sequence[Shard], top: int) -> list[list[tuple[int, float]]]:
        """Return numbers and scores of up to `top` passages of these shards for each question, best first; of equally
        good ones, the first. Passages that share no word with a question are not found."""
        import numpy as np

        index = _index(self.passages, tuple(shards))
        if index is None:
            return [[] for _ in questions]
        numbers = np.concatenate([np.arange(shard.start, shard.start + shard.rows) for shard in shards])
        found = []
        for begin in range(0, len(questions), QUESTIONS):
            for tokens in bm25.words_of(questions[begin : begin + QUESTIONS]):
                words = bm25.known(index, tokens)
                scores = index.get_scores(words) if words else np.zeros(len(numbers))
                best = _best(scores, top)
                found.append([(int(numbers[at]), float(scores[at])) for at in best])
        return found


@lru_cache(maxsize=1)  # the subsets of a period are searched one after the other
def _index(passages: Passages, shards: tuple[Shard, ...]) -> Any | None:
    texts: list[str] = []
    for shard in shards:
        columns = read_table(passages.store, shard.file).select(["title", "text"]).to_pydict()
        texts += [f"{title}\n{text}" for title, text in zip(columns["title"], columns["text"], strict=True)]
    return bm25.indexed(texts)


def _best(scores: Any, top: int) -> Any:
    """Return the places of the `top` largest scores above 0, largest first; of equal ones, the first."""
    import numpy as np

    above = np.flatnonzero(scores > 0)
    if len(above) > top:
        least = np.partition(scores[above], len(above) - top)[len(above) - top]
        above = above[scores[above] >= least]
    return above[np.argsort(-scores[above], kind="stable")][:top]
