"""Evaluators: the Ray actors that score checkpoints, each one at a time, or this process in their place."""

from __future__ import annotations

import re
import time
import warnings
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from ticlm.core.errors import InputError, RunError, TiclmError, TiclmWarning, of_storage
from ticlm.core.progress import Show
from ticlm.core.remote.ray_start import UNOWNED, reason_of
from ticlm.platform.eval import cells
from ticlm.platform.eval.cells import CheckpointWork

DEATHS = 3
"""How many evaluators in a row may be lost over one checkpoint without a new cell, or in one place as they start."""
PAUSE_S = 1.0
"""Seconds before the next evaluator starts in a place; twice as many after every further loss."""
ROOM_S = 60.0
"""After so many seconds without room for any evaluator, the user hears of it."""


def here(units: Sequence[CheckpointWork], through: Callable[[], None]) -> None:
    """Score units one after another in this process and call `through` after every cell."""
    for unit in units:
        for _ in cells.progress(unit):
            through()


def on_ray(units: Sequence[CheckpointWork], evaluators: int, gpus: float | None, through: Callable[[], None]) -> None:
    """Score units on at most `evaluators` actors and call `through` once for every cell.

    Each actor takes the next unit when it has finished one. It reserves a CPU and the share `gpus` of a GPU, by default
    a whole one if the cluster has any; an actor for which there is no room begins when another is done. A unit whose
    actor or node is lost goes back, and a new actor starts where there is room. The first error of a unit ends the
    evaluation; an error of the user's is raised as it is. Raises RunError, with the cause, once DEATHS actors in a row
    were lost over one unit without a new cell.
    """
    import ray

    share = share_of_gpu(gpus, units, ray.cluster_resources().get("GPU", 0.0))
    # Ray tries nothing again: `_lost` counts the deaths over a unit, names the cause and starts the next actor.
    kind = ray.remote(num_cpus=1, num_gpus=share, max_restarts=0, max_task_retries=0)(_Evaluator)
    pool = _EvaluatorPool(kind.remote, min(evaluators, len(units)), deque(map(_UnitProgress, units)), through)
    try:
        pool.run()
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, TiclmError):  # as itself: Ray's own text is a traceback
            raise error.cause from None
        raise of_storage(error.cause, units[0].root) or error from None
    finally:
        pool.close()


@dataclass(eq=False)
class _UnitProgress:
    """A unit, how many of its cells were told, and how many evaluators were lost since the last of them."""

    unit: CheckpointWork
    told: int = 0
    deaths: int = 0

    @property
    def name(self) -> str:
        return f"{self.unit.folder} ({', '.join(job.task.id for job in self.unit.jobs)})"


@dataclass(eq=False)
class _Seat:
    """A place for an evaluator: the actor there, the unit that it scores, and how many cells of it were yielded."""

    actor: Any = None
    node: str = ""
    asked: _UnitProgress | None = None
    yielded: int = 0
    deaths: int = 0
    """Actors that were lost here in a row before they had started."""
    due: float = 0.0
    """When, by the monotonic clock, the next actor may start here."""


class _EvaluatorPool:
    """Evaluators and the units that they share."""

    def __init__(
        self, start: Callable[[], Any], size: int, waiting: deque[_UnitProgress], through: Callable[[], None]
    ) -> None:
        self.start, self.waiting, self.through = start, waiting, through
        self.empty = [_Seat() for _ in range(size)]
        self.busy: dict[Any, _Seat] = {}
        """What an actor answers, a generator of Ray's -> where it sits."""

    def run(self) -> None:
        """Give each unit to the first actor that is free, until all units are scored."""
        import ray

        told = False
        while self.waiting or any(seat.asked for seat in self.busy.values()):
            self._fill()
            if not self.busy:
                time.sleep(max(0.0, min(seat.due for seat in self.empty) - time.monotonic()))
                continue
            nearest = min((seat.due - time.monotonic() for seat in self.empty if self.waiting), default=ROOM_S)
            ready, _ = ray.wait(list(self.busy), num_returns=1, timeout=min(ROOM_S, max(0.0, nearest)))
            if ready:
                self._hear(ready[0])
            elif nearest >= ROOM_S and not told and not any(seat.asked for seat in self.busy.values()):
                told = True
                _warn(f"no node has room for an evaluator yet; {len(self.waiting)} checkpoints wait")

    def close(self) -> None:
        """End all actors."""
        for seat in self.busy.values():
            _end(seat.actor)

    def _fill(self) -> None:
        """Start actors in the places whose pause is over, as long as units wait."""
        now = time.monotonic()
        for seat in [seat for seat in self.empty if seat.due <= now and self.waiting]:
            self.empty.remove(seat)
            seat.actor = self.start()
            self._ask(seat, None)  # an actor answers once there is room for it: none gets work before

    def _ask(self, seat: _Seat, asked: _UnitProgress | None) -> None:
        seat.asked, seat.yielded = asked, 0
        self.busy[seat.actor.score.remote(asked and asked.unit)] = seat

    def _hear(self, answer: Any) -> None:
        """Take the next item of an answer."""
        import ray

        seat = self.busy[answer]
        try:
            item = ray.get(next(answer))
        except StopIteration:
            del self.busy[answer]
            if self.waiting:
                self._ask(seat, self.waiting.popleft())
            else:
                _end(seat.actor)
                self.empty.append(_Seat())
        except _losses() as error:
            del self.busy[answer]
            self._lost(seat, error)
        else:
            self._took(seat, item)

    def _took(self, seat: _Seat, item: Any) -> None:
        if seat.asked is None:
            seat.node, seat.deaths = item, 0
            return
        seat.yielded += 1
        if seat.yielded > seat.asked.told:  # a new actor yields again for what is known
            seat.asked.told, seat.asked.deaths = seat.yielded, 0
            self.through()

    def _lost(self, seat: _Seat, error: Exception) -> None:
        """Put the unit of a lost actor back, and let a new one start after a pause. Raises RunError after DEATHS."""
        _end(seat.actor)
        victim = seat if seat.asked is None else seat.asked
        victim.deaths += 1
        cause = _cause(error, seat.node)
        if victim.deaths == DEATHS:
            what = f"{seat.asked.name}: {DEATHS} evaluators" if seat.asked else f"evaluation: {DEATHS} evaluators"
            when = "over it without a new cell" if seat.asked else "before they began"
            raise RunError(
                f"{what} in a row were lost {when}; of the last, {cause}; what was scored is kept, and the same "
                "command goes on"
            )
        if seat.asked is not None:
            self.waiting.appendleft(seat.asked)
            _warn(f"an evaluator of {seat.asked.name} was lost: {cause}; another one goes on")
        self.empty.append(_Seat(deaths=seat.deaths, due=time.monotonic() + PAUSE_S * 2 ** (victim.deaths - 1)))


def _losses() -> tuple[type[Exception], ...]:
    """Return the errors that say that an actor, and not its work, has failed."""
    from ray import exceptions

    return exceptions.RayActorError, exceptions.NodeDiedError, exceptions.OutOfMemoryError, exceptions.ObjectLostError


def _cause(error: Exception, node: str) -> str:
    """Return how an actor was lost, and what helps, on one line."""
    import ray

    text = str(error)
    lost = [one["NodeManagerAddress"] for one in ray.nodes() if one["NodeID"] == node and not one["Alive"]]
    if lost or re.search(r"node (has died|was terminated|is dead)|preempted", text):
        return f"node {lost[0] if lost else node[:8]} was lost"
    if isinstance(error, ray.exceptions.OutOfMemoryError) or re.search(r"OUT_OF_MEMORY|low on memory", text):
        return f"its node ran out of memory ({LESS})"
    if isinstance(error, ray.exceptions.ActorUnavailableError):
        return "it no longer answers: its process or its node is gone"
    reason = reason_of(error)
    memory = "" if UNOWNED in reason else f", perhaps killed for want of memory ({LESS})"
    return f"its process died ({reason}){memory}"


LESS = "fewer resources.evaluators or smaller resources.evaluation_rows take less"


def _end(actor: Any) -> None:
    import ray

    ray.kill(actor)


def _warn(line: str) -> None:
    warnings.warn(line, TiclmWarning, stacklevel=2)


def share_of_gpu(wanted: float | None, units: Sequence[CheckpointWork], there: float) -> float:
    """Return the share of a GPU that an evaluator reserves, of `there` GPUs. Raises InputError if they are too few."""
    if wanted is None:
        return 1.0 if there >= 1 and any(unit.device != "cpu" for unit in units) else 0.0
    if wanted > there:
        raise InputError(f"resources.evaluator_gpus: {wanted:g} of a GPU for each, but Ray's cluster has {there:g}")
    return wanted


class _Evaluator:
    """A Ray actor that scores one checkpoint at a time."""

    def score(self, unit: CheckpointWork | None) -> Iterator[str | None]:
        """Yield one item for every cell that is done, known ones too; without a unit, yield the id of this node."""
        if unit is not None:
            for _ in cells.progress(unit):  # not `yield from`: what Ray sends after each item must end here
                yield None
            return
        import ray

        yield ray.get_runtime_context().get_node_id()


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
