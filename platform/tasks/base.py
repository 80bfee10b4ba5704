"""Tasks: versioned evaluations. What is scored, on which split, after which preparation, and which way is better.

Here are what all tasks share and those that score packed rows; tasks on examples are in `asking.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator

from ticlm.methods.method import AnyOptimizer, AnySchedule
from ticlm.methods.optimizers import AdamW
from ticlm.methods.schedules import WarmupCosine
from ticlm.platform.core.mixture import Split
from ticlm.platform.core.periods import Label
from ticlm.platform.core.settings import Settings

if TYPE_CHECKING:
    from ticlm.platform.tasks.answerer import Answerer


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
    """A tuned copy: a leaf round of a few steps that starts from a checkpoint, and whose weights a task scores.

    It trains on a split of the checkpoint's own period, or of `period`, in the study's corpus or in `corpus`
    (`name@version`, a path or a URI). A period later than the checkpoint's is refused, unless the corpus is declared to
    come from outside the timeline, with the last period `as_of` which it was made.
    """

    steps: int = Field(gt=0)
    split: Split = "tune"
    corpus: str | None = None
    period: Label | None = None
    as_of: Label | None = None
    schedule: AnySchedule = WarmupCosine(warmup_steps=0)
    optimizer: AnyOptimizer = AdamW()
    seed: int = 0

    @model_validator(mode="after")
    def _declared(self) -> Prepare:
        if self.as_of is not None and (self.corpus is None or self.period is None):
            raise ValueError("as_of declares a corpus from outside the timeline: give corpus and period too")
        return self


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
    def data_source(self) -> str | None:
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
