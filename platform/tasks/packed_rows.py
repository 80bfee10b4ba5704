"""Tasks on packed rows: the loss on held-out rows of a corpus, as it was tokenized and packed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from ticlm.core import paths
from ticlm.core.errors import InputError
from ticlm.core.mixture import Split
from ticlm.core.row_columns import TOKENS
from ticlm.platform.tasks.base import NOT_A_NUMBER, Measurement, Prediction, Task

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ticlm.core.corpus import Corpus
    from ticlm.platform.tasks.answerer import Answerer
    from ticlm.platform.tasks.base import Data

    Array = NDArray[np.float64]


Compared = Literal["nll", "bits-per-byte"]


class PackedRows(Task):
    """Packed-row loss: the mean −ln P per target over a period's held-out rows; metric `nll`, lower is better.

    The rows are those that the corpus packed, so the context of a token never reaches beyond its row. If the corpus has
    several sources of text, each source has a value of its own beside the value for all of them (source "").
    """

    split: Split = "eval"
    """The split of held-out rows that is scored."""
    max_rows: int | None = Field(None, gt=0)
    """Score only the first N rows of each period. The rows of a split lie shuffled, so they are a sample."""
    keeps_losses: bool = False
    """Whether the loss of each row is kept beside the means: two models are then compared row by row."""
    compare: Compared = "nll"
    """The number by which models are compared: nats per token, or `bits-per-byte`, by which models with different
    tokenizers can be compared. Bytes are those of the tokens that are scored; `nll` is there too."""
    unit: ClassVar[str] = "rows"

    def without_meaning(self) -> frozenset[str]:
        unset = {"keeps_losses": self.keeps_losses, "compare": self.compare != "nll"}
        return super().without_meaning() | {name for name, is_set in unset.items() if not is_set}

    @property
    def keeps_predictions(self) -> bool:
        return self.keeps_losses

    @property
    def metric(self) -> str:  # type: ignore[override]  # a class attribute of other tasks
        return self.compare

    def check(self, data: Data) -> None:
        from ticlm.core.corpus import Corpus

        if self.compare == "nll" or not isinstance(data, Corpus):
            return
        columns = [column.name for column in data.info.columns]
        if columns != [TOKENS]:
            raise InputError(
                f"evaluations.{self.name}: compare: bits-per-byte counts the bytes of rows of {TOKENS} alone, and "
                f"corpus {data.info.id} has columns {', '.join(columns)}"
            )
        self._token_bytes(data)

    def _token_bytes(self, data: Corpus) -> NDArray[np.int64]:
        """Return the bytes of each token of a corpus, int64[vocabulary]."""
        from ticlm.core.vocabulary.token_bytes import token_bytes

        file = data.store.read(paths.tokenizer_file())
        where = f"evaluations.{self.name}: compare: bits-per-byte, but the tokenizer of corpus {data.info.id}"
        return token_bytes(file, data.info.tokenizer.vocab_size, where)

    def tokens_read(self, data: Data, label: str) -> int | None:
        from ticlm.core.corpus import Corpus

        assert isinstance(data, Corpus)
        widths = {column.name: column.length for column in data.info.columns}
        inputs = sum(widths.values()) - (TOKENS in widths)  # the last token of a causal row is only a label
        return self.sampled(data.split(label, self.split).rows) * inputs

    def sampled(self, rows: int) -> int:
        """Return how many of so many rows are scored."""
        return rows if self.max_rows is None else min(rows, self.max_rows)

    def measure(self, answerer: Answerer, data: Corpus, label: str, rows: int) -> Iterator[Measurement]:
        import numpy as np

        from ticlm.platform.tasks.statistics import mean_and_stderr

        reader = data.rows(label, self.split)
        table = self._token_bytes(data) if self.compare == "bits-per-byte" else None
        sums, counts, sizes = map(np.concatenate, zip(*self._scored(answerer, reader.all(rows, self.max_rows), table)))
        if not np.isfinite(sums).all():
            yield Measurement(NOT_A_NUMBER, float(len(sums)), len(sums), kind="left out")
            return
        kept = self._losses(label, sums, counts) if self.keeps_losses else ()
        sources = np.array((reader.sources() or [""] * len(sums))[: len(sums)])
        for source in ["", *sorted(set(sources.tolist()) - {""})]:
            of_source = sources == source if source else np.ones(len(sources), bool)
            # The ratio estimator: the limit of the bootstrap that other tasks take, without its draws.
            value, stderr = mean_and_stderr(sums[of_source], counts[of_source])
            error = None if np.isnan(stderr) else stderr
            n = int(counts[of_source].sum())
            yield Measurement("nll", value, n, error, source, predictions=() if source else kept)
            if table is not None and sizes[of_source].any():
                bits, stderr = mean_and_stderr(sums[of_source] / math.log(2), sizes[of_source])
                n, error = int(sizes[of_source].sum()), None if np.isnan(stderr) else stderr
                yield Measurement("bits-per-byte", bits, n, error, source)

    @staticmethod
    def _scored(
        answerer: Answerer, blocks: Iterable[Mapping[str, NDArray[Any]]], table: NDArray[np.int64] | None
    ) -> Iterator[tuple[Array, Array, Array]]:
        """Yield, for each block of rows, float64[rows] three times: their losses in nats, their targets, and the bytes
        that the targets stand for (0 without a `table` of the bytes of tokens)."""
        for block in blocks:
            sums, counts = answerer.rows(block)
            # The first token of a row is no target: it is the last one of the row before.
            yield sums, counts, counts * 0 if table is None else table[block[TOKENS][:, 1:]].sum(1).astype(float)

    def _losses(self, label: str, sums: Array, counts: Array) -> tuple[Prediction, ...]:
        """Return what is kept of the rows of a period: float64[rows], their losses in nats, and float64[rows], their
        targets."""
        return tuple(
            Prediction(f"{label}/{number}", "", math.nan, math.nan, None, {"nll": float(loss), "tokens": float(count)})
            for number, (loss, count) in enumerate(zip(sums, counts))
        )


class Perplexity(PackedRows):
    """Packed-row loss on the study's own corpus."""

    kind: Literal["perplexity"] = "perplexity"
    name: str = "perplexity"
    """Name in results, together with `version`."""


class PerplexityOn(PackedRows):
    """Packed-row loss on another corpus, over that corpus's own periods.

    `corpus` is `name@version` in the root, a path or a URI. It must have been tokenized with the tokenizer of the
    study's corpus.
    """

    kind: Literal["perplexity-on"] = "perplexity-on"
    corpus: str
    """The corpus to score on: `name@version`, a path or a URI, with the study's tokenizer."""

    @property
    def data_source(self) -> str | None:
        return self.corpus

    def identity_at(self, label: str) -> Task:
        return self.model_copy(update={"corpus": ""})
