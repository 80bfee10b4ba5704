"""The driver: trains the pending chains of a plan and scores its missing cells.

Finished rounds and scored cells are skipped, so a second call goes on where the first one stopped.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from threading import Event

from ticlm.core.progress import SILENT, Show
from ticlm.platform.eval import cells, fanout
from ticlm.platform.eval.fanout import counted
from ticlm.platform.run.failures import of_evaluation
from ticlm.platform.run.requirements import require
from ticlm.platform.run.scheduler import Scheduler
from ticlm.platform.run.scoring_queue import ScoringQueue
from ticlm.platform.run.trainers import Trainer, trainer_of
from ticlm.platform.study.plan import Plan


def train(plan: Plan, show: Show = SILENT, stop: Event | None = None, trainer: Trainer | None = None) -> None:
    """Train every pending chain once its parent is done, several at the same time, until none is left.

    When a chain fails, no other chain is started, the running chains finish, and then the first error is raised. When
    another thread sets `stop`, or this call is interrupted, workers are released at once, without a last checkpoint.
    Raises Stopped if `stop` was set before the end. A `trainer` from outside, which heeds `stop`, stays as it is in the
    end; else one is made.
    """
    if plan.pending():
        require(plan)
        stop = stop or Event()
        with connected(plan), trainer_of(plan, stop) if trainer is None else nullcontext(trainer) as one:
            Scheduler(plan, one, show, stop).run()


def run(plan: Plan, show: Show = SILENT, left: cells.Unscored | None = None) -> None:
    """Train every pending chain and score every missing cell, as `train` and `evaluate` do one after the other; `left`
    are those that are missing now, if they are known.

    Where each chain has one worker, checkpoints are scored as they appear, by workers that no chain can use. An error
    of theirs is raised once all chains are trained.
    """
    if not plan.pending():
        return evaluate(plan, show, left)
    require(plan)
    with connected(plan):
        stop = Event()
        with trainer_of(plan, stop) as trainer:
            queue = ScoringQueue(plan, trainer, show, left) if trainer.scores_beside else None
            Scheduler(plan, trainer, show, stop, queue).run()
        evaluate(plan, show)


def evaluate(plan: Plan, show: Show = SILENT, left: cells.Unscored | None = None) -> None:
    """Score every cell that is not in the store yet and whose checkpoint is done: those `left`, if they are known."""
    with of_evaluation(plan), cells.left_to_score(plan, left) as units:
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
