"""Open shares while a study trains: the losses that they follow from are measured, and the plan looks again."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from threading import Event

from ticlm.core.errors import RunError, Stopped
from ticlm.core.progress import Show
from ticlm.core.signals import Threads
from ticlm.platform.eval import fanout, shares
from ticlm.platform.eval.cells import CheckpointWork
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.plan import Plan


class OpenShares:
    """Measures checkpoints, in a thread of the driver's pool, as soon as open rounds of a plan wait for nothing else.

    `measuring` has the measurement that goes on now, if there is one.
    """

    def __init__(self, plan: Plan, pool: Threads, show: Show, stop: Event) -> None:
        self.plan, self.pool, self.show, self.stop = plan, pool, show, stop
        self.measuring: set[Future[None]] = set()
        self._seen = -1

    @property
    def takes_the_process(self) -> bool:
        """Whether a measurement goes on in this process, beside which nothing may be trained in it."""
        return bool(self.measuring)

    def measure(self, busy: bool) -> None:
        """Start to measure the checkpoints that are trained and not measured. `busy` says that chains run: in one
        process they come first."""
        plan = self.plan
        waits = busy and plan.study.resources.trainer == "process"
        if self.measuring or waits or len(plan.records) == self._seen or not plan.open_rounds:
            return
        self._seen = len(plan.records)
        if shares.is_any_unknown(plan):  # even if its cells are kept from before: the plan has to look again
            self.measuring.add(self.pool.submit(self._score, shares.units(plan)))

    def revealed(self, running: Sequence[Chain]) -> list[Chain]:
        """Lay out the rounds whose shares are known now; return the chains that are left, without the running ones.

        Raises RunError if a checkpoint was measured and shares stay open all the same: its losses are not finite.
        """
        self.plan.look_again()
        self._seen = -1
        broken = shares.without_losses(self.plan)
        if broken:
            raise RunError(
                f"{broken}: a loss on tune rows is not a number, so the shares of the rounds after it stay open; lower "
                "the learning rate"
            )
        busy = {key for chain in running for key in chain.keys}
        return [chain for chain in self.plan.pending() if not busy & {*chain.keys}]

    def _score(self, units: list[CheckpointWork]) -> None:
        resources = self.plan.study.resources

        def through() -> None:
            if self.stop.is_set():
                raise Stopped

        if not units:
            return
        if resources.trainer == "ray":
            fanout.on_ray(units, resources.evaluators, resources.evaluator_gpus, through)
        else:
            fanout.here(units, through)
