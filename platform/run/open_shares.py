"""Open shares of adaptive replay while a study trains: checkpoints are measured on the tune rows of old periods, and
the plan lays out the rounds whose shares follow."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from threading import Event

from ticlm.core import paths
from ticlm.core.errors import RunError, Stopped
from ticlm.core.progress import Show
from ticlm.core.signals import Threads
from ticlm.platform.eval.cells import CheckpointWork, TaskCells, left, scoring
from ticlm.platform.run.trainers import Trainer
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.measured import task_of, tune_keys
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.round import Measured
from ticlm.platform.tasks.cells.files import read_by_key


class OpenShares:
    """Measures checkpoints, in a thread of the driver's pool, as soon as open rounds of a plan wait for nothing else.

    `measuring` has the measurement that goes on now, if there is one.
    """

    def __init__(self, plan: Plan, pool: Threads, trainer: Trainer, show: Show, stop: Event) -> None:
        self.plan, self.pool, self.trainer, self.show, self.stop = plan, pool, trainer, show, stop
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
        if _is_any_unknown(plan):  # even if its cells are kept from before: the plan has to look again
            self.measuring.add(self.pool.submit(self._score, _units(plan)))

    def revealed(self, running: Sequence[Chain]) -> list[Chain]:
        """Lay out the rounds whose shares are known now; return the chains that are left, without the running ones.

        Raises RunError if a checkpoint was measured and shares stay open all the same: its losses are not finite.
        """
        self.plan.look_again()
        self._seen = -1
        broken = _without_losses(self.plan)
        if broken:
            raise RunError(
                f"{broken}: a loss on tune rows is not a number, so the shares of the rounds after it stay open; lower "
                "the learning rate"
            )
        busy = {key for chain in running for key in chain.keys}
        return [chain for chain in self.plan.pending() if not busy & {*chain.keys}]

    def _score(self, units: list[CheckpointWork]) -> None:
        def through() -> None:
            if self.stop.is_set():
                raise Stopped

        if units:
            self.trainer.score(units, through)


def _units(plan: Plan) -> list[CheckpointWork]:
    """Return the cells to score before shares are known, one unit of work for each checkpoint that is done."""
    found = []
    for measured, weights, by_label in _measured(plan):
        assert plan.store is not None and plan.corpus is not None
        asked = TaskCells(
            task_of(measured), plan.corpus.store.uri(), tuple(by_label.items()), plan.study.last_visible_period
        )
        jobs = left(plan.store, weights, [asked])
        if jobs:
            folder = paths.round_folder(plan.ids[measured.round])
            place = paths.model(folder, plan.records[measured.round].attempt)
            found.append(scoring(plan, weights, place, jobs))
    return found


def _is_any_unknown(plan: Plan) -> bool:
    """Return whether a checkpoint that is done has losses that the plan has not read, whether scored by now or not."""
    return any(True for _ in _measured(plan))


def _without_losses(plan: Plan) -> str:
    """Return a name for the first checkpoint that was measured for shares and has no finite loss; empty: there is
    none."""
    for measured, weights, by_label in _measured(plan):
        assert plan.store is not None and plan.recorded is not None
        kept = read_by_key(plan.store, weights)
        if all(key in kept for key in by_label.values()) and measured not in plan.recorded.losses:
            return plan.label(Chain((measured.round,), 0))
    return ""


def _measured(plan: Plan) -> Iterator[tuple[Measured, str, dict[str, str]]]:
    """Yield (measurement, hash of the weights, keys of the cells by label) for each measurement that shares follow from
    and that is not known, of checkpoints that are done."""
    for measured in plan.tree.measured if plan.recorded is not None and plan.open_rounds else ():
        assert plan.corpus is not None and plan.recorded is not None
        record = plan.records.get(measured.round)
        if record is not None and measured not in plan.recorded.losses:
            weights = weights_of(record)
            yield measured, weights, tune_keys(measured, weights, plan.corpus, plan.study.objective)
