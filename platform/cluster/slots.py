"""Slots: groups of warm workers that do the chains of a study, and score its checkpoints, one after another.

Starting workers costs ten seconds: processes, torch, transformers, a process group. A study of forty short chains
would pay that forty times, so its groups last as long as it does.
"""

from __future__ import annotations

import os
import threading
import time
import warnings
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ticlm.core.errors import InputError, Stopped, TiclmWarning
from ticlm.core.signals import Threads, result_of
from ticlm.platform.cluster.group import Asked, Report, WorkerGroup, WorkerGroupSpec, kind_of
from ticlm.platform.cluster.slot_jobs import PublishRound, ScoreCheckpoint, SlotJob, TrainChain
from ticlm.platform.eval import fanout
from ticlm.platform.eval.cells import CheckpointWork
from ticlm.platform.study.resources import Resources
from ticlm.platform.study.work import ChainWork

COMING_S = 600.0
"""How many seconds a cluster may take until it has room for the least number of workers of a chain."""
ONE = (1, 1)


class Slots:
    """The groups of workers of a study, for the time of a `with` block. Its methods may be called from any thread.

    A job goes to the first group of its size that is free. If there is none, a new one starts, beside those that work;
    free groups of other sizes end, as they hold what it needs. When the block ends, so do all groups; once `stop` is
    set, they end at once. `ahead`: so many groups of one worker start before there are jobs for all of them.
    """

    def __init__(self, resources: Resources, root: str, name: str, stop: threading.Event, ahead: int = 0) -> None:
        self.resources, self.root, self.name, self.stop = resources, root, name, stop
        self.device = device_of(resources.device)
        self._lock = threading.RLock()
        self._groups: list[WorkerGroup] = []
        self._waiting: deque[Asked] = deque()
        self._lent = 0
        """How many evaluations wait, outside the groups, for what free groups hold."""
        self._ahead = ahead
        """As in `ahead`; 0 once they have started."""
        self._is_closed = False

    def __enter__(self) -> Slots:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._is_closed = True
            groups = list(self._groups)
            self._give_up_waiting()
            for group in groups:
                group.close()
        for group in groups:
            group.stay_until_ended()

    def fit(self, work: ChainWork, share: tuple[int, int], report: Report) -> None:
        """Train a chain on `share` (min, max) workers until all its rounds have records.

        `report` gets progress events, and moments (see `WorkerGroup`). Raises a user's error as it is, RunError if its
        workers fail again and again, and Stopped once `stop` is set and they have ended.
        """
        check_capacity(share[0], self.device, self.stop)
        self._do(TrainChain(work), share, report)

    def publish(self, work: ChainWork, publish: Callable[[ChainWork], None]) -> None:
        """Publish a round that is not trained, on any worker that is free. Raises as `fit` does."""
        self._do(PublishRound(work, publish), None, lambda event: _warn(work.label, event))

    def score(self, units: Sequence[CheckpointWork], through: Callable[[], None]) -> None:
        """Score checkpoints, as many at once as `resources.evaluators`, and call `through` once for every cell. Raises
        as `fit` does, and what `through` raises."""
        resources = self.resources
        if self.scores_beside:
            with Threads(resources.evaluators) as threads:
                list(threads.map(lambda unit: self._score(unit, through), units))
            return
        with self._lock:
            self._lent += 1
            self._match()
        try:
            fanout.on_ray(units, resources.evaluators, resources.evaluator_gpus, through)
        finally:
            with self._lock:
                self._lent -= 1

    def _score(self, unit: CheckpointWork, through: Callable[[], None]) -> None:
        told, job = 0, ScoreCheckpoint(unit)

        def report(event: Mapping[str, Any]) -> None:
            nonlocal told
            _warn(job.name, event)
            for _ in range(told, event.get("cells", 0)):  # workers that start again tell again of what is known
                through()
            told = max(told, event.get("cells", 0))

        self._do(job, ONE, report)

    def is_warm(self, share: tuple[int, int]) -> bool:
        """Return whether workers of this number are there that have nothing to do."""
        with self._lock:
            return any(group.is_free and group.spec.share == share for group in self._groups)

    @property
    def room(self) -> int:
        """The number of workers for which the cluster has room, those at work included."""
        import ray

        return int(ray.cluster_resources().get(kind_of(self.device), 0))

    @property
    def scores_beside(self) -> bool:
        """Whether the workers that train also score: where each chain has one, and one worker scores like another.

        Workers of larger groups, and evaluators with a part of a GPU of their own, are no match for each other.
        """
        return self.resources.worker_range == (1, 1) and self.resources.evaluator_gpus is None

    def _do(self, job: SlotJob, share: tuple[int, int] | None, report: Report) -> None:
        from ray import cloudpickle

        # Before the lock: both may take long, and whoever waits for the lock hears of no worker meanwhile.
        asked = Asked(job, share, report, cloudpickle.dumps(job), job.reached())
        with self._lock:
            self._waiting.append(asked)
            self._match()
        result_of(asked.done)

    def _match(self) -> None:
        """Give jobs that wait to groups that are free; start and end groups as they ask for. Called with the lock."""
        if self._is_closed or self.stop.is_set():
            return self._give_up_waiting()
        for asked in list(self._waiting):
            group = next((g for g in self._groups if g.is_free and asked.share in (None, g.spec.share)), None)
            if group is not None:
                self._waiting.remove(asked)
                group.do(asked)
        if self._waiting or self._lent:
            for group in self._groups:
                if group.is_free:  # none of those that wait can use it
                    group.close()
        for share in {asked.share or ONE for asked in self._waiting}:
            wanted = sum((asked.share or ONE) == share for asked in self._waiting)
            coming = sum(group.is_coming and group.spec.share == share for group in self._groups)
            for _ in range(wanted - coming):
                self._start(share)

    def _start(self, share: tuple[int, int]) -> None:
        resources, workers = self.resources, f"{share[1]} worker{'s' if share[1] > 1 else ''}"
        name = f"{self.name} {workers}"
        spec = WorkerGroupSpec(share, self.device, self.root, name, resources.threads, resources.resize_seconds)
        self._groups.append(WorkerGroup(spec, self._heard, self._ended, self.stop))

    def _start_ahead(self) -> None:
        """Start the next of the groups that jobs will want soon: where all other chains wait for the first, the other
        cores have nothing else to do while it trains (two methods of the demo: 70 s instead of 77). One after another,
        so that the first is not late. Workers that nobody wants within a minute end again."""
        if self._is_closed or self.stop.is_set() or len(self._groups) >= min(self._ahead, self.room):
            self._ahead = 0
        else:
            self._start(ONE)

    def _heard(self, group: WorkerGroup, event: Mapping[str, Any]) -> None:
        moment = event.get("moment")
        with self._lock:
            asked = group.asked
            if moment == "finished":
                group.asked = None
            elif moment == "idle" and group.is_free:
                group.close()
            elif moment == "waiting" and asked is None:  # of workers that are for whoever waits first
                asked = next((one for one in self._waiting if one.share == group.spec.share), None)
        if asked is not None and moment not in ("ready", "finished", "idle"):
            try:
                asked.report(event)
            except Exception as error:  # of who asked, who hears of it in the end
                asked.failed = asked.failed or error
        if asked is not None and moment == "finished":
            asked.done.set_exception(asked.failed) if asked.failed else asked.done.set_result(None)
        if moment in ("ready", "finished"):
            with self._lock:
                self._match()
                if moment == "ready":
                    self._start_ahead()

    def _ended(self, group: WorkerGroup, error: Exception | None) -> None:
        """Hand what ended a group to whoever waits for it, and let others take its place."""
        with self._lock:
            self._groups.remove(group)
            asked, group.asked = group.asked, None
            if asked is None and error is not None and not group.was_ready:  # whoever waits first hears why
                asked = next((one for one in self._waiting if (one.share or ONE) == group.spec.share), None)
                if asked is not None:
                    self._waiting.remove(asked)
        if asked is not None:
            asked.done.set_exception(error or Stopped())
        with self._lock:
            self._match()

    def _give_up_waiting(self) -> None:
        while self._waiting:
            self._waiting.popleft().done.set_exception(Stopped())


def _warn(name: str, event: Mapping[str, Any]) -> None:
    """Warn of what happened to the workers of a job that has no bar of its own."""
    if event.get("note") and event["moment"] != "started":
        warnings.warn(f"{name}: {event['note']}", TiclmWarning, stacklevel=2)


def device_of(wanted: str) -> str:
    """Return the device that workers compute on: `cuda` if `auto` is wanted and the cluster has a GPU."""
    import ray

    if wanted != "auto":
        return wanted
    return "cuda" if ray.cluster_resources().get("GPU", 0) >= 1 else "cpu"


def check_capacity(workers: int, device: str, stop: threading.Event) -> None:
    """Raise InputError if the cluster has no room for this many workers: at once on a Ray of our own; after COMING_S on
    a cluster, which may still grow."""
    import ray

    kind = kind_of(device)
    deadline = time.monotonic() + (COMING_S if os.environ.get("RAY_ADDRESS") else 0)
    warned = False
    while (have := ray.cluster_resources().get(kind, 0)) < workers:
        lacks = f"resources.workers: {workers} workers need a {kind} each; this Ray has {have:g} {kind}s"
        if stop.is_set() or time.monotonic() >= deadline:
            raise InputError(lacks)
        if not warned:
            warnings.warn(f"{lacks}; waiting for nodes, {COMING_S:.0f} s at most", TiclmWarning, stacklevel=2)
        warned = True
        time.sleep(1)
