"""What trains the chains of a plan: slots of warm workers on Ray, or this process."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from threading import Event
from typing import Any, Protocol

from ticlm.core.errors import InputError, Stopped
from ticlm.platform.eval import fanout
from ticlm.platform.eval.cells import CheckpointWork
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.work import ChainWork

Report = Callable[[Mapping[str, Any]], None]


class Trainer(Protocol):
    """Does the work of a study, piece by piece. Each call ends when its piece is done; any thread may call."""

    def fit(self, work: ChainWork, share: tuple[int, int], report: Report) -> None:
        """Train a chain on `share` (min, max) workers. `report` gets progress events and moments."""

    def publish(self, work: ChainWork, publish: Callable[[ChainWork], None]) -> None:
        """Publish a round that is not trained."""

    def score(self, units: Sequence[CheckpointWork], through: Callable[[], None]) -> None:
        """Score checkpoints, as many at once as `resources.evaluators`, and call `through` once for every cell. What it
        raises ends the call."""

    def is_warm(self, share: tuple[int, int]) -> bool:
        """Return whether such workers are there already."""

    @property
    def room(self) -> int:
        """The number of workers for which there is room, those at work included."""

    @property
    def scores_beside(self) -> bool:
        """Whether the workers that train also score."""


def trainer_of(plan: Plan, stop: Event) -> AbstractContextManager[Trainer]:
    """Return what trains a plan, for the time of a `with` block. Once `stop` is set, it ends what it does."""
    assert plan.store is not None
    if plan.study.resources.trainer == "process":
        return nullcontext(InProcess(stop))
    from ticlm.platform.cluster.slots import Slots

    resources = plan.study.resources
    ahead = min(resources.chains, len(plan.pending())) if resources.worker_range == (1, 1) else 0
    return Slots(resources, plan.store.root, plan.study.name, stop, ahead)


class InProcess:
    """Trains in this process, on one worker."""

    room, scores_beside = 1, False

    def __init__(self, stop: Event) -> None:
        self.stop = stop

    def fit(self, work: ChainWork, share: tuple[int, int], report: Report) -> None:
        from ticlm.platform.models.sharding import Workers, local_group
        from ticlm.platform.train import tracking
        from ticlm.platform.train.trainer import run_chain

        if share[0] > 1:
            raise InputError(f"resources.trainer: process has one worker, {share[0]} are asked for; use trainer: ray")
        study, _, label = work.label.partition(" ")
        trackers = tracking.start(work.resources, work.root, study, label)

        def tell(event: Mapping[str, Any]) -> None:
            report(event)
            for tracker in trackers:
                tracker.log(event)

        def urgent() -> bool:
            if self.stop.is_set():
                raise Stopped
            return False

        try:
            with local_group(work.rounds[0].recipe.precision, work.resources.device) as device:
                run_chain(work, Workers(device=device), tell, urgent)
        finally:
            for tracker in trackers:
                tracker.close()

    def publish(self, work: ChainWork, publish: Callable[[ChainWork], None]) -> None:
        publish(work)

    def score(self, units: Sequence[CheckpointWork], through: Callable[[], None]) -> None:
        fanout.here(units, through)

    def is_warm(self, share: tuple[int, int]) -> bool:
        return True
