"""Resources: everything about a run that changes no number beyond rounding; for `workers`, see `micro_batch_rows`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from ticlm.platform.core.settings import Settings


class Cadence(Settings):
    """How often a running round is checkpointed.

    A fault loses no more than `seconds` or `fraction` of the round, whichever is longer, provided that a checkpoint is
    written in half of that time. With `steps`, there is a checkpoint after every `steps` steps instead.
    """

    seconds: float = Field(30.0, gt=0)
    fraction: float = Field(0.01, ge=0, lt=1)
    steps: int | None = Field(None, gt=0)

    def due(self, since: float, write_s: float, round_s: float) -> bool:
        """Return whether it is time for a checkpoint, `since` seconds after the last one was begun.

        Writing one takes `write_s` seconds, and the whole round `round_s`. A checkpoint that is being written when a
        fault comes is lost too, so the time to write it counts.
        """
        allowed = max(self.seconds, self.fraction * round_s)
        return since > max(allowed - write_s, allowed / 2)


class Wandb(Settings):
    """Where Weights & Biases keeps the curves of chains."""

    project: str = "ticlm"
    mode: Literal["online", "offline"] = "offline"


class Resources(Settings):
    """Everything that changes no number beyond rounding.

    `workers` is the number of workers that train at the same time, in all; up to `chains` independent chains share them
    evenly. `[min, max]` takes as many as there is room for, and looks for more every `resize_seconds`. `trainer:
    process` runs everything in this process, without Ray.

    `micro_batch_rows` are the rows of a batch that a worker computes at once. It is the grain of all sums: with the
    same value, any number of workers trains the same bits, on the same kind of hardware with the same `threads`. By
    default a batch has one micro-batch for each of the most workers that a chain may get. So a chain ends in the same
    bits whichever numbers of `[min, max]` it has in the course of time, but other `workers` round differently.

    `tuned_copies` is the number of tuned copies (the leaf rounds of tasks with `prepare`) that train at the same time.
    They train beside the chains, in a pool of their own that is as large as `workers` and that they share evenly. With
    `trainer: process` they train one after another, after the chains.

    `evaluators` is the number of checkpoints that are scored at the same time, each with `evaluator_gpus` of a GPU
    (0.25: four share one; by default a whole one if there is any).
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

    @property
    def worker_range(self) -> tuple[int, int]:
        """The least and the greatest number of workers."""
        return self.workers if isinstance(self.workers, tuple) else (self.workers, self.workers)

    def micro_rows(self, batch_rows: int, workers: int) -> int:
        """Return the rows of a micro-batch in a chain that has `workers` workers at most."""
        return self.micro_batch_rows or -(-batch_rows // workers)

    @field_validator("workers")
    @classmethod
    def _range(cls, workers: int | tuple[int, int]) -> int | tuple[int, int]:
        if isinstance(workers, tuple) and not 0 < workers[0] <= workers[1]:
            raise ValueError(f"workers must be a number or [min, max] with 0 < min <= max, got {list(workers)}")
        return workers
