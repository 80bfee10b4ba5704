"""Resources: everything about a run that changes no number beyond rounding; for `workers`, see `micro_batch_rows`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator

from ticlm.core.extras import Extra
from ticlm.core.settings import Settings

STALLS = 50
"""Between two checkpoints, the training does at least so many times as long as the copy of a state holds it up."""


class Cadence(Settings):
    """How often a running round is checkpointed.

    A fault loses no more than `seconds`, or `fraction` of the round, or 50 times what it takes to copy a state to the
    host, whichever is longest, provided that a checkpoint is written in half of that time. So the copies take 2 % of
    the time at most. With `steps`, there is a checkpoint after every `steps` steps instead.

    A round is published while the next one trains. Until its record is there, a fault goes back to the round's own last
    checkpoint: then the time that publishing takes is lost too.
    """

    seconds: float = Field(30.0, gt=0)
    """Seconds of training that a fault may lose."""
    fraction: float = Field(0.01, ge=0, lt=1)
    """Share of a round (0 to 1) that a fault may lose, if that is longer."""
    steps: int | None = Field(None, gt=0)
    """Write a checkpoint after every so many steps instead."""

    def due(self, since: float, write_s: float, round_s: float, stall_s: float = 0.0) -> bool:
        """Return whether it is time for a checkpoint, `since` seconds after the last one was begun.

        Writing one takes `write_s` seconds, and the whole round `round_s`. The last one held the training up for
        `stall_s`. A checkpoint that is being written when a fault comes is lost too, so the time to write it counts.
        """
        least = STALLS * stall_s
        allowed = max(self.seconds, self.fraction * round_s, least)
        return since > max(allowed - write_s, allowed / 2, least)


class Wandb(Settings):
    """Where Weights & Biases keeps the curves of chains."""

    project: str = "ticlm"
    """Name of the project."""
    mode: Literal["online", "offline"] = "offline"
    """Whether curves are sent at once, or kept in the root for `wandb sync`."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("wandb", ("wandb",)),)


class Resources(Settings):
    """Everything that changes no number beyond rounding.

    `micro_batch_rows` is the grain of all sums: with the same value, any number of workers trains the same bits, on the
    same kind of hardware with the same `threads`. By default, a chain ends in the same bits whichever numbers of `[min,
    max]` workers it has in the course of time, but other `workers` round differently.

    Tuned copies are the leaf rounds of tasks with `prepare`. With `trainer: process` they train one after another,
    after the chains.
    """

    workers: Annotated[int, Field(gt=0)] | tuple[int, int] = 1
    """Workers that train at the same time, in all; `[min, max]` takes as many as there is room for. Each chain has at
    least one."""
    resize_seconds: float = Field(60.0, gt=0)
    """How often a run with `[min, max]` workers looks for more room, in seconds."""
    chains: int = Field(2, gt=0)
    """Largest number of independent chains that train at the same time and share the workers evenly; with fewer
    workers than chains, chains of one worker train side by side as far as Ray has room."""
    tuned_copies: int = Field(2, gt=0)
    """Tuned copies that train at the same time, beside the chains and in a pool of the same size."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    """What workers and evaluators compute on; `auto` takes GPUs if there are any."""
    threads: int = Field(1, gt=0)
    """CPU threads of torch in each worker; weights are the same to the bit only with the same number."""
    micro_batch_rows: int | None = Field(None, gt=0)
    """Rows that a worker computes at once; by default one micro-batch for each of a chain's most workers."""
    compile: bool | Literal["auto"] = "auto"
    """Whether the model and its loss are compiled by torch, which rounds differently; `auto` compiles on GPUs, if
    Triton and a C compiler are there."""
    recompute: bool = False
    """Whether each block keeps only its inputs for the backward pass and is computed once more there: a third more work
    in a fraction of the memory, and the same bits."""
    trainer: Literal["ray", "process"] = "ray"
    """Whether training runs on Ray Train, or in this process without Ray."""
    carrier: Literal["process", "ray-data"] = "process"
    """What reads rows ahead of training: a thread of the worker, or Ray Data."""
    evaluators: int = Field(2, gt=0)
    """Checkpoints that are scored at the same time."""
    evaluator_gpus: float | None = Field(None, ge=0, le=1)
    """GPUs of each evaluator (0.25: four share one); by default a whole one if there is any."""
    evaluation_rows: int = Field(64, gt=0)
    """Rows that are scored at once."""
    cadence: Cadence = Cadence()
    """How often a running round is checkpointed."""
    wandb: Wandb | None = None
    """Send curves to Weights & Biases; by default not."""
    tensorboard: bool = False
    """Whether curves are written for TensorBoard."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("tensorboard", ("tensorboard",)),) if self.tensorboard else ()

    @property
    def worker_range(self) -> tuple[int, int]:
        """The least and the greatest number of workers."""
        return self.workers if isinstance(self.workers, tuple) else (self.workers, self.workers)

    def micro_batches(self, batch_rows: int) -> int:
        """Return the largest number of micro-batches of a batch, and so of workers that have something to do."""
        return -(-batch_rows // (self.micro_batch_rows or 1))

    def micro_rows(self, batch_rows: int, workers: int) -> int:
        """Return the rows of a micro-batch in a chain that has `workers` workers at most."""
        return self.micro_batch_rows or -(-batch_rows // workers)

    def check_batch(self, batch_rows: int, where: str = "") -> None:
        """Raise ValueError if chains side by side have more workers each than a batch has micro-batches. The message
        begins with `where` the batch is given."""
        workers, micro = max(1, self.worker_range[1] // self.chains), self.micro_batch_rows
        each = "" if self.chains == 1 else f" for each of {self.chains} chains"
        if workers > batch_rows:
            raise ValueError(
                f"{where}resources.workers: {workers} workers{each}, but a batch has only {batch_rows} rows"
            )
        if micro is not None and workers > self.micro_batches(batch_rows):
            raise ValueError(
                f"{where}resources.workers: {workers} workers{each}, but a batch of {batch_rows} rows has only "
                f"{self.micro_batches(batch_rows)} micro-batches; lower resources.micro_batch_rows from {micro} to "
                f"{(batch_rows - 1) // (workers - 1)}, or workers"
            )

    @field_validator("workers")
    @classmethod
    def _range(cls, workers: int | tuple[int, int]) -> int | tuple[int, int]:
        if isinstance(workers, tuple) and not 0 < workers[0] <= workers[1]:
            raise ValueError(f"workers must be a number or [min, max] with 0 < min <= max, got {list(workers)}")
        return workers
