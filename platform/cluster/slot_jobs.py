"""What the workers of a slot do: train a chain, score a checkpoint, or publish a round that needs no training.

Light to import: what a job needs is imported where it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from ticlm.core.store import Store
from ticlm.platform.cluster.restarts import Resumable, progress
from ticlm.platform.study.work import ChainWork

if TYPE_CHECKING:
    from ticlm.platform.eval.cells import CheckpointWork
    from ticlm.platform.models.sharding import Workers


@dataclass
class Seat:
    """A worker's place in its slot: who it is, where it tells how far it is, and whether it must hurry."""

    workers: Workers
    tell: Callable[[Mapping[str, Any]], None]
    """Takes events; only rank 0's are heard."""
    urgent: Callable[[], bool]
    """Whether a checkpoint is wanted before the next step. Raises Leaving once it was written."""


class SlotJob(Resumable, Protocol):
    """A piece of work for the workers of a slot. Picklable."""

    @property
    def by_all(self) -> bool:
        """Whether all workers do it together; else rank 0 alone."""

    def run(self, seat: Seat) -> None:
        """Do what is left of it."""


@dataclass(frozen=True)
class ChainJob:
    """What a chain of rounds is called, and how far it is."""

    work: ChainWork
    piece = "step"

    @property
    def name(self) -> str:
        return f"chain {self.work.label}"

    def reached(self) -> tuple[int, str]:
        return progress(self.work)


@dataclass(frozen=True)
class TrainChain(ChainJob):
    """Trains a chain."""

    by_all = True

    def run(self, seat: Seat) -> None:
        import ray.train

        from ticlm.platform.cluster.ray_metrics import Exported
        from ticlm.platform.train import tracking
        from ticlm.platform.train.trainer import run_chain

        work, is_first = self.work, seat.workers.rank == 0
        trackers: list[tracking.Tracker] = []
        if is_first:
            study, _, label = work.label.partition(" ")
            curves = tracking.start(work.resources, work.root, study, label)
            trackers = [Exported(work, seat.workers.world), *curves]

        def report(event: Mapping[str, Any]) -> None:
            seat.tell(event)
            for tracker in trackers:
                tracker.log(event)
            if event["finished"]:  # a barrier of all ranks: once a round, not at every event
                ray.train.report({name: event[name] for name in ("step", "loss", "tokens_per_s")})

        try:
            run_chain(work, seat.workers, report, seat.urgent)
        finally:
            for tracker in trackers:
                tracker.close()


@dataclass(frozen=True)
class PublishRound(ChainJob):
    """Publishes a round that no group of workers trains: an average, or a sample."""

    publish: Callable[[ChainWork], None]
    by_all = False

    def run(self, seat: Seat) -> None:
        self.publish(self.work)


@dataclass(frozen=True)
class ScoreCheckpoint:
    """Scores the missing cells of a checkpoint."""

    unit: CheckpointWork
    by_all, piece = False, "cell"

    @property
    def name(self) -> str:
        return f"{self.unit.folder} ({', '.join(job.task.id for job in self.unit.jobs)})"

    def reached(self) -> tuple[int, str]:
        from ticlm.platform.eval.cells import left

        missing = left(Store(self.unit.root), self.unit.weights, list(self.unit.jobs))
        return self.unit.cells - sum(len(job.cells) for job in missing), ""

    def run(self, seat: Seat) -> None:
        from ticlm.platform.eval.cells import progress

        for through, _ in enumerate(progress(self.unit), 1):
            seat.tell({"cells": through})
