"""The leak lint of the text that a vintage has read, counted period by period: by the publisher, and by who verifies.

Each period is looked through by itself, without the rules that learn from other periods: so its counts follow from its
own shards, whatever else the corpus holds, and a vintage of a later date states the same for it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ticlm.core.corpus import Corpus


def lint_of(corpus: Corpus, label: str) -> dict[str, Any]:
    """Return how many pieces of the training text of a period there are (`texts`), how many look later than their date
    (`flagged`), and how many of these by each rule (`by_rule`)."""
    from ticlm.datasets.lint.corpora import lint_corpus

    found = lint_corpus(corpus, [label], splits=("train",)).summary()
    return dict(found.get(label, {"texts": 0, "flagged": 0, "by_rule": {}}))


def rules() -> str:
    """Return the hash of the rules and tables of this release: with the same one, the same text has the same counts."""
    from ticlm.datasets.lint.linting import rules_hash

    return rules_hash()
