"""The lint of a corpus: its rows are decoded, and cut at the end-of-text token into the pieces that models read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np

from ticlm.core import paths
from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError
from ticlm.core.mixture import Split
from ticlm.datasets.lint.finding import LintText
from ticlm.datasets.lint.linting import lint
from ticlm.datasets.lint.names import NOTHING_ADDED, KnownNames
from ticlm.datasets.lint.report import LintReport

if TYPE_CHECKING:
    from tokenizers import Tokenizer

SPLITS: tuple[Split, ...] = ("train", "eval", "tune")
"""The splits that are read: others hold a part of the same text."""
ROWS = 1024
"""Rows that are decoded at a time."""


def lint_corpus(
    corpus: Corpus,
    periods: Sequence[str] | None = None,
    known: KnownNames = NOTHING_ADDED,
    examples: int = 0,
    splits: Sequence[Split] = SPLITS,
) -> LintReport:
    """Return the lint of a corpus, or of some of its `periods` and `splits`: of every piece of text of these rows.

    A piece is dated with the last day of its period, the only date that a row has. Rules that learn from the corpus
    learn from the same periods. The result is the same for the same shards, periods and known names.
    Raises InputError if a period was never built, a shard is damaged, or the tokenizer is missing or another one.
    """
    labels = list(corpus.periods) if periods is None else list(periods)
    return lint(corpus.info.id, pieces_of(corpus, labels, splits), known, examples)


def pieces_of(corpus: Corpus, periods: Sequence[str], chosen: Sequence[Split] = SPLITS) -> Iterator[LintText]:
    """Yield the pieces of text of these periods' rows, in the order of splits and rows."""
    tokenizer = _tokenizer(corpus)
    for label in periods:
        splits = [split for split in chosen if split in _manifest(corpus, label)]
        last = corpus.periods[label].period.end - timedelta(days=1)
        for split in splits:
            for block in corpus.rows(label, split).all(ROWS):
                for values in block.values():
                    ends = [np.flatnonzero(row == corpus.info.tokenizer.end_of_text) for row in values]
                    ids = [piece for row, cuts in zip(values, ends) for piece in np.split(row, cuts)]
                    texts = tokenizer.decode_batch([piece.tolist() for piece in ids if len(piece) > 1])
                    yield from (LintText(text, last, label) for text in texts if text.strip())


def _manifest(corpus: Corpus, label: str) -> Sequence[Split]:
    corpus.split(label, "train")  # names the periods that there are
    return list(corpus.periods[label].splits)


def _tokenizer(corpus: Corpus) -> Tokenizer:
    """Return the corpus's tokenizer. Raises InputError if it is not there, or is not the one that cut the rows."""
    from tokenizers import Tokenizer

    path = paths.tokenizer_file()
    where = corpus.store.uri(path)
    if not corpus.store.exists(path):
        raise InputError(f"{where}: the corpus has no tokenizer, and its rows cannot be read as text without it")
    if corpus.store.sha256(path) != corpus.info.tokenizer.sha256:
        raise InputError(f"{where}: not the tokenizer that cut the corpus, so its rows cannot be read as text")
    return Tokenizer.from_str(corpus.store.read(path).decode())
