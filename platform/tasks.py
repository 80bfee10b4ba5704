"""Tasks: versioned evaluations. What is scored, on which split, after which preparation, and which way is better."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from ticlm.methods.method import AnyOptimizer, AnySchedule
from ticlm.methods.optimizers import AdamW
from ticlm.methods.schedules import WarmupCosine
from ticlm.platform.mixture import Split
from ticlm.platform.settings import Settings


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
    split: Split = "eval"

    @property
    def id(self) -> str:
        return f"{self.name}@{self.version}"


class Perplexity(Task):
    """Packed-row loss: mean −log P (natural) per label over a period's held-out rows; metric `nll`, lower is better.

    Rows are those the corpus packed, so a token's context never reaches beyond its row. With sources in the corpus
    there is a value for each and one for all (source "").
    """

    kind: Literal["perplexity"] = "perplexity"
    name: str = "perplexity"


AnyTask = Perplexity
