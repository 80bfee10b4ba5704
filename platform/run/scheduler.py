"""Scheduling what a plan leaves to do: chains as their parents are done and workers are free, checkpoints beside
them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from math import inf
from threading import Event
from typing import Any

from ticlm.core import paths
from ticlm.core.errors import RunError, Stopped
from ticlm.core.integrity.records import read_record
from ticlm.core.progress import Show
from ticlm.core.signals import ENDING, Threads, first_done, result_of
from ticlm.platform.run import failures
from ticlm.platform.run.open_shares import OpenShares
from ticlm.platform.run.scoring_queue import ScoringQueue
from ticlm.platform.run.startable import startable
from ticlm.platform.run.trainers import Trainer
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.work import ChainWork, work_of

SIDE_POLL_S = 1.0
"""Seconds between two looks at whether running chains have finished rounds that side chains start from."""
SCORE_POLL_S = 5.0
"""Seconds between two looks at whether running chains have finished rounds that a free worker could score."""


class Scheduler:
    """Takes a plan from what is left to its end. `queue`: where checkpoints wait to be scored meanwhile; without it
    none is."""

    def __init__(
        self, plan: Plan, trainer: Trainer, show: Show, stop: Event, queue: ScoringQueue | None = None
    ) -> None:
        self.plan, self.trainer, self.show, self.stop = plan, trainer, show, stop
        self.room, self.queue = trainer.room, queue
        self.left = plan.pending()
        self.running = dict[Future[None], Chain]()
        self.scoring = set[Future[None]]()
        self.failed: list[Exception] = []
        """What ended a chain: no other one is started then."""
        self.unscored: list[Exception] = []
        """What ended the scoring of a checkpoint: no other one is begun then, and chains go on."""

    def run(self) -> None:
        """Train and score until nothing is left, or nothing can go on; raise the first error of a chain, then of a
        checkpoint. Raises Stopped if `stop` was set before the end."""
        plan, resources = self.plan, self.plan.study.resources
        # one more thread for what `OpenShares` measures
        threads = resources.chains + resources.tuned_copies + resources.evaluators + 1
        with Threads(threads) as pool, _set_on_error(self.stop):  # in this order: the threads wait for what is stopped
            shares = OpenShares(plan, pool, self.trainer, self.show, self.stop)
            while True:
                self._start(pool, shares)
                if not self.running and not self.scoring and not shares.measuring:
                    break
                self._hear(first_done([*self.running, *self.scoring, *shares.measuring], self._patience()), shares)
        if self.queue is not None:
            self.queue.end()
        if self.failed or self.unscored:
            raise (self.failed or self.unscored)[0]
        if self.stop.is_set() and (self.left or (self.queue is not None and self.queue.waiting)):
            raise Stopped
        if self.left:
            raise RunError(f"{plan.label(self.left[0])} could not start: a round that it needs is not done")

    def _start(self, pool: Threads, shares: OpenShares) -> None:
        """Start what can start: measurements, chains, then checkpoints on the workers that no chain can use."""
        if self.stop.is_set():
            return
        if not self.failed:
            shares.measure(busy=bool(self.running))
            room = self.room - len(self.scoring) - self._measurers(shares)
            for chain in startable(self.plan, self.left, [*self.running.values()], room, shares.takes_the_process):
                self.left.remove(chain)
                self.running[pool.submit(self._train, chain)] = chain
        if self.queue is not None and not self.unscored:
            try:
                self.queue.look()
            except Exception as error:
                self.unscored.append(error)
                return
            for _ in range(min(self._free(), len(self.queue.waiting))):
                self.scoring.add(pool.submit(self.queue.score, self.queue.waiting.popleft()))

    def _measurers(self, shares: OpenShares) -> int:
        """Return how many workers measure what open shares follow from."""
        return self.plan.study.resources.evaluators if shares.measuring and self.trainer.scores_beside else 0

    def _free(self) -> int:
        """Return how many more checkpoints may be scored now."""
        resources = self.plan.study.resources
        trained = len(self.running)
        places = resources.chains if trained or (self.left and not self.failed) else self.room
        return min(resources.evaluators, min(places, self.room) - trained) - len(self.scoring)

    def _patience(self) -> float:
        """Return the seconds after which running chains are asked for rounds that they have finished."""
        if any(chain.is_side for chain in self.left):
            return SIDE_POLL_S
        return SCORE_POLL_S if self.queue is not None and self.running and self._free() > 0 else inf

    def _hear(self, finished: Iterable[Future[None]], shares: OpenShares) -> None:
        """Take the ends of what was begun, and read the records that came of it."""
        plan, running = self.plan, self.running
        if any(chain.is_side for chain in self.left):  # a chain that still runs may have finished what they start from
            self._read(key for chain in self.left if chain.is_side for key in plan.tree.rounds[chain.keys[0]].needs)
        if self.queue is not None and self._free() > 0:
            self._read(key for chain in running.values() for key in chain.keys)
        for future in finished:
            chain, ended = running.pop(future, None), None
            try:
                result_of(future)
                if future in shares.measuring:
                    self.left = shares.revealed([*running.values()])
            except Exception as error:
                ended = error
                (self.unscored if future in self.scoring else self.failed).append(error)
            plan.read_records(() if chain is None else chain.keys)
            if ended is not None and chain is not None:
                failures.keep_chain(plan, chain, ended)
            elif ended is not None and future in self.scoring:
                failures.keep_evaluation(plan, ended)
            elif chain is not None:
                failures.clear_chain(plan, chain)
            self.scoring.discard(future)
            shares.measuring.discard(future)

    def _read(self, wanted: Iterable[str]) -> None:
        """Read the records of these rounds, if running chains have written them."""
        trained = {key for chain in self.running.values() for key in chain.keys}
        self.plan.read_records([key for key in dict.fromkeys(wanted) if key in trained and not self.plan.done(key)])

    def _train(self, chain: Chain) -> None:
        plan, show, work = self.plan, self.show, work_of(self.plan, chain)
        name = plan.label(chain)
        if all(read_record(work.store, paths.round_folder(round_id)) is not None for round_id in work.ids):
            return show.say(f"{name}: found done")
        if not work.rounds[0].is_trained:
            return self.trainer.publish(work, _publisher(work))
        show.begin(name, sum(r.tokens for r in work.rounds), "tokens")
        share = plan.share(chain)
        if not self.trainer.is_warm(share):
            show.update(name, 0, f"starting {share[1]} worker{'s' if share[1] > 1 else ''}: importing torch")

        def report(event: Mapping[str, Any]) -> None:
            if "moment" in event:
                if event["note"]:
                    show.say(f"{name}: {event['note']}")
                return
            show.update(name, event["tokens"], f"{event['period']}  loss {event['loss']:.3f}")

        self.trainer.fit(work, share, report)
        show.end(name)


@contextmanager
def _set_on_error(stop: Event) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        stop.set()
        if isinstance(error, KeyboardInterrupt):
            ENDING.set()  # threads that wait for storage are waited for next
        raise


def _publisher(work: ChainWork) -> Callable[[ChainWork], None]:
    from ticlm.platform.train.average import publish_average
    from ticlm.platform.train.sample import publish_sample

    return publish_average if work.rounds[0].sample is None else publish_sample
