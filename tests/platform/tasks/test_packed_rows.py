"""Packed-row loss: a mean of numbers, or no mean at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np

from ticlm.core.corpus import Corpus
from ticlm.platform.tasks.packed_rows import Perplexity


class Broken:
    """Gives no number for the first row of a block."""

    def rows(self, rows: Mapping[str, Any]) -> tuple[Any, Any]:
        count = len(rows["tokens"])
        return np.where(np.arange(count) == 0, np.nan, 1.0), np.ones(count)


def test_a_model_that_gives_no_numbers_has_no_mean_but_a_count(
    toy_corpus: Callable[..., Corpus], tmp_path: Path
) -> None:
    corpus = toy_corpus(tmp_path / "toy@1")
    (found,) = Perplexity().measure(cast(Any, Broken()), corpus, "202301", 64)
    assert found.title == "left out: all, as a loss is not a number"
    assert found.value == found.n == corpus.split("202301", "eval").rows
