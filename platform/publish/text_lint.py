"""The leak lint of the text that a vintage has read, counted period by period: by the publisher, and by who verifies.

Each period is looked through by itself, without the rules that learn from other periods: so its counts follow from its
own shards, whatever else the corpus holds, and a vintage of a later date states the same for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ticlm.core.corpus import Corpus
    from ticlm.datasets.lint.report import PeriodLint


def lint_of(corpus: Corpus, label: str) -> PeriodLint:
    """Return how many pieces of the training text of a period look later than their date, and by which rules."""
    from ticlm.datasets.lint.corpora import lint_corpus

    return lint_corpus(corpus, [label], splits=("train",)).total


def rules() -> str:
    """Return the hash of the rules and tables of this release: with the same one, the same text has the same counts."""
    from ticlm.datasets.lint.linting import rules_hash

    return rules_hash()
