"""BM25 (Robertson's, as Lucene computes it): the words of texts, and an index of them (bm25s)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WORD = r"(?u)\b\w+\b"


def words_of(texts: Sequence[str]) -> list[list[str]]:
    """Return the words of each text in lower case, without English stop words."""
    import bm25s

    found = bm25s.tokenize(
        list(texts), stopwords="en", token_pattern=WORD, return_ids=False, show_progress=False, leave=False
    )
    return [list(tokens) for tokens in found]


def indexed(texts: Sequence[str]) -> Any | None:
    """Return an index (bm25s.BM25) of some texts; None if they have no words."""
    import bm25s

    tokens = words_of(texts)
    if not any(tokens):
        return None
    index = bm25s.BM25()
    index.index(tokens, show_progress=False)
    return index


def known(index: Any, tokens: Sequence[str]) -> list[str]:
    """Return the words that an index has; bm25s is asked for no others."""
    return [word for word in tokens if word in index.vocab_dict]
