"""Evaluators: the Ray actors that score checkpoints, each one at a time, or this process in their place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ticlm.platform.core.errors import InputError, RunError, TiclmError
from ticlm.platform.core.progress import Show
from ticlm.platform.eval import cells
from ticlm.platform.eval.cells import CheckpointWork

RESTARTS = 3
"""How often an evaluator is started again after it died or its node was lost. What it had kept stays."""


def here(units: Sequence[CheckpointWork], through: Callable[[], None]) -> None:
    """Score units one after another in this process and call `through` after every cell."""
    for unit in units:
        for _ in cells.progress(unit):
            through()


def on_ray(units: Sequence[CheckpointWork], evaluators: int, gpus: float | None, through: Callable[[], None]) -> None:
    """Score units on at most `evaluators` actors and call `through` after every cell.

    Each actor takes the next unit when it has finished one. It reserves a CPU and the share `gpus` of a GPU, by default
    a whole one if the cluster has any; an actor for which there is no room begins when another is done. The first error
    ends the evaluation; an error of the user's is raised as it is. Raises RunError if an evaluator keeps dying.
    """
    import ray

    share = share_of_gpu(gpus, units, ray.cluster_resources().get("GPU", 0.0))
    kind = ray.remote(num_cpus=1, num_gpus=share, max_restarts=RESTARTS, max_task_retries=RESTARTS)(_Evaluator)
    pool = [kind.remote() for _ in range(min(evaluators, len(units)))]
    try:
        _share_out(list(units), pool, through)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, TiclmError):  # as itself: Ray's own text is a traceback
            raise error.cause from None
        raise
    except ray.exceptions.RayActorError:
        raise RunError(
            f"an evaluator died {RESTARTS + 1} times, perhaps of want of memory (fewer resources.evaluators, smaller "
            "resources.evaluation_rows); what was scored is kept, and the same command goes on"
        ) from None
    finally:
        for actor in pool:
            ray.kill(actor)


def _share_out(waiting: list[CheckpointWork], pool: Sequence[Any], through: Callable[[], None]) -> None:
    """Give each unit to the first actor that is free, until all units are scored."""
    import ray

    # Asked for nothing, an actor is through as soon as it has started; so none gets work before there is room for it.
    busy = {actor.score.remote(None): actor for actor in pool}
    working = set[Any]()
    while waiting or working:
        (ready,), _ = ray.wait(list(busy), num_returns=1)
        try:
            ray.get(next(ready))
            through()
        except StopIteration:
            actor = busy.pop(ready)
            working.discard(ready)
            if waiting:
                asked = actor.score.remote(waiting.pop(0))
                busy[asked] = actor
                working.add(asked)
            else:
                ray.kill(actor)


def share_of_gpu(wanted: float | None, units: Sequence[CheckpointWork], there: float) -> float:
    """Return the share of a GPU that an evaluator reserves, of `there` GPUs. Raises InputError if they are too few."""
    if wanted is None:
        return 1.0 if there >= 1 and any(unit.device != "cpu" for unit in units) else 0.0
    if wanted > there:
        raise InputError(f"resources.evaluator_gpus: {wanted:g} of a GPU for each, but Ray's cluster has {there:g}")
    return wanted


class _Evaluator:
    """A Ray actor that scores one checkpoint at a time."""

    def score(self, unit: CheckpointWork | None) -> Iterator[None]:
        """Yield one item for every cell that is done; an actor that starts anew yields the same number again."""
        if unit is not None:
            yield from cells.progress(unit)


@contextmanager
def counted(units: Sequence[cells.CheckpointWork], show: Show) -> Iterator[Callable[[], None]]:
    """Show progress while the block runs. Gives a function to call after every cell of the units."""
    done = 0
    show.begin("evaluation", sum(unit.cells for unit in units), "cells")

    def through() -> None:
        nonlocal done
        done += 1
        show.update("evaluation", done)

    yield through
    show.end("evaluation")
