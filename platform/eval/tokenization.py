"""Texts as a model's tokens: the characters that each token stands for, and where a continuation begins."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ticlm.core.errors import InputError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ticlm.platform.tasks.answerer import Cut


class Encoded(NamedTuple):
    """A text's tokens int64[n] and the characters [start, end) that each stands for, int64[n, 2]. If a character is cut
    into several tokens, each of them stands for the whole character."""

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]


class TextEncoder:
    """A tokenizer together with the size of its model's vocabulary; it adds no special tokens to a text. `where` is
    named in errors."""

    def __init__(self, tokenizer: Any, vocabulary: int, where: str) -> None:
        if not getattr(tokenizer, "is_fast", False):
            raise InputError(f"{where}: its tokenizer does not say where tokens stand in a text (not a fast one)")
        self._tokenizer, self._vocabulary, self._where = tokenizer, vocabulary, where

    def encode(self, texts: Sequence[str]) -> list[Encoded]:
        """Encode each text. Raises InputError if the model has no embedding for one of the tokens."""
        if not texts:
            return []
        found = self._tokenizer(
            list(texts),
            add_special_tokens=False,
            return_offsets_mapping=True,
            return_attention_mask=False,
            verbose=False,
        )
        pairs = zip(found["input_ids"], found["offset_mapping"], strict=True)
        encoded = [Encoded(np.array(ids, np.int64), np.array(at, np.int64).reshape(-1, 2)) for ids, at in pairs]
        highest = max((int(one.ids.max()) for one in encoded if len(one.ids)), default=0)
        if highest >= self._vocabulary:
            raise InputError(
                f"{self._where}: its tokenizer gives token {highest}, and its model knows {self._vocabulary}; they do "
                "not belong together"
            )
        return encoded

    def special_tokens(self) -> tuple[list[int], list[int]]:
        """Return the tokens that the tokenizer itself puts before and behind a text."""
        found = self._tokenizer("a", return_special_tokens_mask=True, return_attention_mask=False, verbose=False)
        ids, special = list(found["input_ids"]), list(found["special_tokens_mask"])
        if 0 not in special:
            return [], ids
        first, last = special.index(0), len(special) - special[::-1].index(0)
        return ids[:first], ids[last:]

    def pairs(self, pairs: Sequence[tuple[str, str]]) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
        """Return the tokens of each context and of its continuation, int64[n] each: cut as one text, unless a token
        reaches over the border; then each of the two is encoded by itself."""
        contexts = dict.fromkeys(context for context, _ in pairs)
        before = dict(zip(contexts, (one.ids for one in self.encode(list(contexts)))))
        whole = [one.ids for one in self.encode([context + continuation for context, continuation in pairs])]
        after: list[NDArray[np.int64]] = []
        for (context, continuation), ids in zip(pairs, whole, strict=True):
            border = len(before[context])
            if np.array_equal(ids[:border], before[context]):
                after.append(ids[border:])
            else:
                after.append(self.encode([continuation])[0].ids)
        return [(before[context], ids) for (context, _), ids in zip(pairs, after, strict=True)]


class Excerpt(NamedTuple):
    """The scored part of a text. `before` is the token of the text before the first scored one, None if that is
    end-of-text; `bytes` counts the UTF-8 bytes of all characters that scored tokens have a part in, and of what stands
    between them."""

    ids: NDArray[np.int64]
    offsets: NDArray[np.int64]
    before: int | None
    bytes: int


def excerpt(text: str, encoded: Encoded, cut: Cut) -> Excerpt:
    """Return the tokens of a text that are scored under `cut`."""
    count = len(encoded.ids)
    end = count if cut.first is None else min(cut.first, count)
    start = 0 if cut.last is None else max(0, end - cut.last)
    before = None
    if not cut.scores_first and start < end:
        before = int(encoded.ids[start])
        start += 1
    if start == end:
        return Excerpt(encoded.ids[:0], encoded.offsets[:0], before, 0)
    # From the end of the token before: a space that offsets leave out belongs to what follows it.
    left = min(encoded.offsets[start - 1, 1], encoded.offsets[start, 0]) if start else 0
    right = encoded.offsets[end - 1, 1] if end < count else len(text)
    return Excerpt(encoded.ids[start:end], encoded.offsets[start:end], before, len(text[left:right].encode()))
