"""TODO"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ticlm.platform.core.mixture import Split

if TYPE_CHECKING:
    from ticlm.platform.core.corpus import Corpus
    from ticlm.platform.tasks.answerer import Answerer
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement, Task


class PackedRows(Task):
    """Packed-row loss: mean −log P (natural) per label over a period's held-out rows; metric `nll`, lower is better.

    Rows are those the corpus packed, so a token's context never reaches beyond its row. With sources in the corpus
    there is a value for each and one for all (source "").
    """

    split: Split = "eval"
    max_rows: int | None = Field(None, gt=0)
    """At most so many rows of each period. A split's rows lie shuffled, so the first ones are a sample."""

    def measure(self, answerer: Answerer, data: Corpus, period: str, rows: int) -> Iterator[Measurement]:
        import numpy as np

        from ticlm.platform.tasks.statistics import mean_and_stderr

        reader = data.rows(period, self.split)
        blocks = reader.all(rows, self.max_rows)
        sums, counts = map(np.concatenate, zip(*(answerer.rows(block) for block in blocks)))
        if not np.isfinite(sums).all():
            yield Measurement(f"left out: {NOT_A_NUMBER}", float(len(sums)), len(sums))
            return
        of = np.array((reader.sources() or [""] * len(sums))[: len(sums)])
        for source in ["", *sorted(set(of.tolist()) - {""})]:
            mine = of == source if source else np.ones(len(of), bool)
            value, stderr = mean_and_stderr(sums[mine], counts[mine])
            error = None if np.isnan(stderr) else stderr
            yield Measurement("nll", value, int(counts[mine].sum()), error, source)


class Perplexity(PackedRows):
    """Packed-row loss on the study's own corpus."""

    kind: Literal["perplexity"] = "perplexity"
    name: str = "perplexity"


class PerplexityOn(PackedRows):
    """Packed-row loss on another corpus, over its own periods: `name@version`, a path or a URI. It must have been cut
    with the tokenizer of the study's corpus."""

    kind: Literal["perplexity-on"] = "perplexity-on"
    corpus: str

    @property
    def data_source(self) -> str | None:
        return self.corpus

    @property
    def identity(self) -> Task:
        return self.model_copy(update={"corpus": ""})
