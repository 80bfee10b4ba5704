"""TODO"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from ticlm.platform.core.settings import Settings


class Cadence(Settings):
    """When a running round is checkpointed: so that a fault loses no more than `seconds` or `fraction` of the round,
    whichever is longer, as long as a checkpoint is written in half of that; or every `steps` where given."""

    seconds: float = Field(30.0, gt=0)
    fraction: float = Field(0.01, ge=0, lt=1)
    steps: int | None = Field(None, gt=0)

    def due(self, since: float, write_s: float, round_s: float) -> bool:
        """Whether it is time, `since` seconds after the last checkpoint was begun, when writing one takes `write_s` and
        the round `round_s`: what is being written when a fault comes is lost too."""
        allowed = max(self.seconds, self.fraction * round_s)
        return since > max(allowed - write_s, allowed / 2)


class Wandb(Settings):
    project: str = "ticlm"
    mode: Literal["online", "offline"] = "offline"


class Resources(Settings):
    """Everything that changes no number beyond rounding.

    `workers` is how many train at once, in all; up to `chains` independent chains share them evenly. `[min, max]` takes
    as many as there is room for, and looks for more every `resize_seconds`. `trainer: process` runs everything in this
    process, without Ray. `evaluators` score at once, each with `evaluator_gpus` of a GPU (0.25: four share one; by
    default a whole one where there is any).

    `tuned_copies` tuned copies (the leaf rounds of tasks with `prepare`) train at once, beside the chains: in a pool of
    their own, as large as `workers`, which they share evenly. With `trainer: process`, one after another, after them.
    """

    workers: Annotated[int, Field(gt=0)] | tuple[int, int] = 1
    resize_seconds: float = Field(60.0, gt=0)
    chains: int = Field(2, gt=0)
    tuned_copies: int = Field(2, gt=0)
    device: Literal["auto", "cpu", "cuda"] = "auto"
    threads: int = Field(1, gt=0)
    micro_batch_rows: int | None = Field(None, gt=0)
    compile: bool = False
    trainer: Literal["ray", "process"] = "ray"
    carrier: Literal["process", "ray-data"] = "process"
    evaluators: int = Field(2, gt=0)
    evaluator_gpus: float | None = Field(None, ge=0, le=1)
    evaluation_rows: int = Field(64, gt=0)
    cadence: Cadence = Cadence()
    wandb: Wandb | None = None
    tensorboard: bool = False

    @field_validator("workers")
    @classmethod
    def _range(cls, workers: int | tuple[int, int]) -> int | tuple[int, int]:
        if isinstance(workers, tuple) and not 0 < workers[0] <= workers[1]:
            raise ValueError(f"workers must be a number or [min, max] with 0 < min <= max, got {list(workers)}")
        return workers
