"""The driver: trains the pending chains of a plan and scores its missing cells.

Finished rounds and scored cells are skipped, so a second call goes on where the first one stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from threading import Event
from typing import Any

from ticlm.core import extras, paths
from ticlm.core.errors import InputError, RunError, Stopped
from ticlm.core.progress import SILENT, Show
from ticlm.core.settings import build_command
from ticlm.core.signals import ENDING, Threads, first_done, result_of
from ticlm.core.store import read_record
from ticlm.platform.eval import cells, fanout
from ticlm.platform.eval.fanout import counted
from ticlm.platform.run.open_shares import OpenShares
from ticlm.platform.study.chains import Chain
from ticlm.platform.study.identity import imported
from ticlm.platform.study.needs import missing_periods
from ticlm.platform.study.plan import Plan
from ticlm.platform.study.work import ChainWork, work_of

SIDE_POLL_S = 1.0
"""Seconds between two looks at whether running chains have finished rounds that side chains start from."""


def train(plan: Plan, show: Show = SILENT, stop: Event | None = None) -> None:
    """Train every pending chain once its parent is done, several at the same time, until none is left.

    When a chain fails, no other chain is started, the running chains finish, and then the first error is raised. When
    another thread sets `stop`, or this call is interrupted, workers are released at once, without a last checkpoint.
    Raises Stopped if `stop` was set before the end.
    """
    stop = stop or Event()
    if not plan.pending():
        return
    require(plan)
    with connected(plan):
        fit = _fit(plan)
        left, running = plan.pending(), dict[Future[None], Chain]()
        failed: list[Exception] = []
        resources = plan.study.resources
        # one more thread for what `OpenShares` measures
        with Threads(resources.chains + resources.tuned_copies + 1) as pool, _set_on_error(stop):
            shares = OpenShares(plan, pool, show, stop)
            while left or running or shares.measuring:
                if not failed and not stop.is_set():
                    shares.measure(busy=bool(running))
                    for chain in _startable(plan, left, list(running.values()), shares.takes_the_process):
                        left.remove(chain)
                        running[pool.submit(_one, plan, chain, fit, show, stop)] = chain
                if not running and not shares.measuring:
                    break
                side = [chain for chain in left if chain.is_side]
                work = [*running, *shares.measuring]
                finished = first_done(work, SIDE_POLL_S if side else inf)
                if side:  # a chain that still runs may have finished the rounds that they start from
                    _read_needed(plan, side, list(running.values()))
                for future in finished:
                    done = running.get(future)
                    try:
                        result_of(future)
                        if done is None:
                            left = shares.revealed(list(running.values()))
                    except Exception as error:
                        failed.append(error)
                    running.pop(future, None)
                    shares.measuring.discard(future)
                    plan.read_records(() if done is None else done.keys)
        if failed:
            raise failed[0]
        if left and stop.is_set():
            raise Stopped
        if left:
            raise RunError(f"{plan.label(left[0])} could not start: a round that it needs is not done")


@contextmanager
def _set_on_error(stop: Event) -> Iterator[None]:
    try:
        yield
    except BaseException as error:
        stop.set()
        if isinstance(error, KeyboardInterrupt):
            ENDING.set()  # threads that wait for storage are waited for next
        raise


def evaluate(plan: Plan, show: Show = SILENT) -> None:
    """Score every cell of the study that is not in the store yet and whose checkpoint is done."""
    units = cells.units(plan)
    if not units:
        return
    resources = plan.study.resources
    with counted(units, show) as through, connected(plan):
        if resources.trainer == "ray":
            several = min(resources.evaluators, len(units))
            show.update("evaluation", 0, f"starting {several} evaluator{'s' if several > 1 else ''}")
            fanout.on_ray(units, resources.evaluators, resources.evaluator_gpus, through)
        else:
            fanout.here(units, through)


def _read_needed(plan: Plan, side: list[Chain], running: list[Chain]) -> None:
    """Read the records of the rounds that these side chains need, if running chains have written them."""
    trained = {key for chain in running for key in chain.keys}
    needed = dict.fromkeys(key for chain in side for key in plan.tree.rounds[chain.keys[0]].needs)
    plan.read_records([key for key in needed if key in trained and not plan.done(key)])


def _startable(plan: Plan, left: list[Chain], running: list[Chain], is_taken: bool = False) -> list[Chain]:
    """Return the chains that can start now: their parent is done, and enough workers are free. Chains that others wait
    for come first. Side chains come last; they have a pool of workers of their own. Chains with open rounds, or below
    some, are left out. `is_taken` says that something else works in the process in which the study is to train."""
    resources = plan.study.resources
    pools = {
        is_side: _FreeWorkers(plan.study.resources.worker_range[1], slots)
        for is_side, slots in ((False, resources.chains), (True, resources.tuned_copies))
    }
    for chain in running:
        pools[chain.is_side].take(plan.share(chain)[1])
    # In one process there is one stream of random numbers: chains side by side would take each other's.
    together = 1 - len(running) - is_taken if resources.trainer == "process" else len(left)
    left = [chain for chain in left if all(key in plan.ids for key in chain.keys)]
    busy = {plan.ids[key] for c in running for key in c.keys}  # rounds with different keys may be the same work
    chosen: list[Chain] = []
    for chain in sorted(left, key=lambda c: (c.is_side, not plan.is_trunk(c))):
        needs, ids = plan.tree.rounds[chain.keys[0]].needs, {plan.ids[key] for key in chain.keys}
        is_ready = all(map(plan.done, needs)) and not busy & ids and len(chosen) < together
        if is_ready and pools[chain.is_side].take(plan.share(chain)[1]):
            chosen.append(chain)
            busy |= ids
    return chosen


@dataclass
class _FreeWorkers:
    """The numbers of free workers and free slots."""

    workers: int
    slots: int

    def take(self, workers: int) -> bool:
        """Take a slot and this many workers if they are free, and return whether they were."""
        if self.slots < 1 or workers > self.workers:
            return False
        self.workers, self.slots = self.workers - workers, self.slots - 1
        return True


Report = Callable[[Mapping[str, Any]], None]
Fit = Callable[[ChainWork, tuple[int, int], Report, Event], None]


def _fit(plan: Plan) -> Fit:
    if plan.study.resources.trainer == "ray":
        from ticlm.platform.cluster.ray_train import fit

        return fit
    return _in_process


def _in_process(work: ChainWork, share: tuple[int, int], report: Report, stop: Event) -> None:
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
        if stop.is_set():
            raise Stopped
        return False

    try:
        with local_group(work.rounds[0].recipe.precision, work.resources.device) as device:
            run_chain(work, Workers(device=device), tell, urgent)
    finally:
        for tracker in trackers:
            tracker.close()


def _one(plan: Plan, chain: Chain, fit: Fit, show: Show, stop: Event) -> None:
    work = work_of(plan, chain)
    name = plan.label(chain)
    if all(read_record(work.store, paths.round_folder(round_id)) is not None for round_id in work.ids):
        return show.say(f"{name}: found done")
    if not work.rounds[0].is_trained:
        return _make_untrained(plan, work, stop)
    show.begin(name, sum(r.tokens for r in work.rounds), "tokens")
    workers = plan.share(chain)[1]
    if plan.study.resources.trainer == "ray":
        show.update(name, 0, f"starting {workers} worker{'s' if workers > 1 else ''}: importing torch")

    def report(event: Mapping[str, Any]) -> None:
        if "moment" in event:
            if event["note"]:
                show.say(f"{name}: {event['note']}")
            return
        show.update(name, event["tokens"], f"{event['period']}  loss {event['loss']:.3f}")

    fit(work, plan.share(chain), report, stop)
    show.end(name)


def _make_untrained(plan: Plan, work: ChainWork, stop: Event) -> None:
    """Make a round that no group of workers trains: in a task on Ray, or in this process."""
    from ticlm.platform.train.average import publish_average
    from ticlm.platform.train.sample import publish_sample

    is_sample = work.rounds[0].sample is not None
    make = publish_sample if is_sample else publish_average
    if plan.study.resources.trainer != "ray":
        return make(work)
    from ticlm.platform.cluster.tasks import in_task

    in_task(make, work, stop=stop, device=work.resources.device if is_sample else "cpu")


def require(plan: Plan) -> None:
    """Raise InputError if the rounds that are left lack any data or model. Needs no Ray."""
    if plan.pending():
        extras.check(plan.study)
        _require_data(plan)
        _require_models(plan)


def _require_data(plan: Plan) -> None:
    if plan.corpus is None:
        raise InputError(
            f"corpus {plan.study.corpus}: not there yet; build it with: {build_command(plan.study.corpus)}"
        )
    if not plan.corpus.store.exists(paths.tokenizer_file()):
        raise InputError(
            f"{plan.corpus.store.uri(paths.tokenizer_file())}: the corpus's tokenizer is gone; restore its folder from "
            "a copy, or from the model/ of any round that was trained on the corpus"
        )
    missing = missing_periods(plan)
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"corpus {plan.corpus.info.id} has no period {missing[0]}{more}, which the study trains on; "
            f"append it with {build_command(plan.study.corpus)}, or shorten periods"
        )
    for spec in plan.tree.rounds.values():
        for source in spec.sources:
            if source == spec.sampled_source:
                continue  # it will have the rows that the round draws
            if plan.corpora[source.corpus].split(source.period, source.split).rows == 0:
                raise InputError(
                    f"{source} has no row to train on; pool periods (periods.step), or use shorter rows when building"
                )


def _require_models(plan: Plan) -> None:
    if any(imported(spec.recipe) for spec in plan.tree.rounds.values()):
        from ticlm.platform.study import imported_models

        imported_models.check(plan)


def needs_ray(plan: Plan) -> bool:
    """Return whether the study's resources need Ray."""
    return plan.study.resources.trainer != "process" or plan.study.resources.carrier != "process"


@contextmanager
def connected(plan: Plan, dashboard: bool = False) -> Iterator[str]:
    """Connect to Ray while the block runs, if the study's resources need it or `dashboard` is true.

    Yields the address of Ray's dashboard, or an empty text. Nested blocks share one connection. A Ray that is started
    here has a dashboard only if `dashboard` is true.
    """
    if not needs_ray(plan) and not dashboard:
        yield ""
        return
    from ticlm.platform.cluster import connect

    resources = plan.study.resources
    root = plan.store.root if plan.store is not None else None
    # side chains run beside the others, on as many workers again
    workers = plan.study.resources.worker_range[1] * (2 if plan.tree.side_rounds else 1)
    with connect.connected(max(workers, resources.evaluators), dashboard, root) as address:
        yield address
