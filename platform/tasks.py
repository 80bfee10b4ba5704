"""Tasks: versioned evaluations. What is scored, on which split, after which preparation, and which way is better.

Here are what all tasks share and those that score packed rows; tasks on examples are in `asking.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import Field

from ticlm.methods.method import AnyOptimizer, AnySchedule
from ticlm.methods.optimizers import AdamW
from ticlm.methods.schedules import WarmupCosine
from ticlm.platform.mixture import Split
from ticlm.platform.settings import Settings

if TYPE_CHECKING:
    from ticlm.platform.answerer import Answerer
    from ticlm.platform.shards import Corpus


NOT_A_NUMBER = "all, as a loss is not a number"
"""Why a cell has no mean: without the worst, a model that gives no numbers would look better than it is."""


@dataclass(frozen=True)
class Measurement:
    """One number about one checkpoint, one period and, where `source` is given, one source of text within it."""

    metric: str
    value: float
    n: int
    stderr: float | None = None
    source: str = ""


class Prepare(Settings):
    """A leaf round: a few steps on a split of the checkpoint's own period before a task scores it."""

    steps: int = Field(gt=0)
    split: Split = "tune"
    schedule: AnySchedule = WarmupCosine(warmup_steps=0)
    optimizer: AnyOptimizer = AdamW()
    seed: int = 0


class Task(Settings):
    """Base of all tasks. `name` and `version` stand in results; `prepare`, where given, makes the leaf round whose
    weights are scored instead of the checkpoint's."""

    name: str
    version: int = 1
    prepare: Prepare | None = None
    split: str = "eval"
    metric: ClassVar[str] = "nll"
    """Of what it measures, the number that is compared; logs of perplexities are all called `nll`."""
    higher_is_better: ClassVar[bool] = False
    on_examples: ClassVar[bool] = False
    """Whether it reads a set of examples instead of a corpus."""

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"

    @property
    def elsewhere(self) -> str | None:
        """The corpus or the examples that it reads and whose periods it evaluates, where that is not the study's
        corpus."""
        return None

    @property
    def identity(self) -> Task:
        """The task without where its data lie, which is what its numbers follow from beside them."""
        return self

    def measure(self, answerer: Answerer, data: Any, period: str, rows: int) -> Iterator[Measurement]:
        """The task's numbers for one period of its Corpus or Examples; `rows` is how many rows or examples to hand to
        the answerer at once."""
        raise NotImplementedError


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

        from ticlm.platform.likelihood import mean_and_stderr

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
    def elsewhere(self) -> str | None:
        return self.corpus

    @property
    def identity(self) -> Task:
        return self.model_copy(update={"corpus": ""})
