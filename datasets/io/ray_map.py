"""The executor that works on Ray: tasks of Ray Data whose results go to the store, and actors for what loads slowly."""

from __future__ import annotations

import logging
import pickle
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ticlm.core.errors import RunError, TiclmError
from ticlm.core.remote import ray_start
from ticlm.datasets.io.in_process import attempt, check_memory

BLOCK_BYTES = 4 << 20
"""Bytes of input per task of Ray Data. Its start, some 20 ms, costs little beside its work, at least 0.5 s; and where
all wait for the last task, they wait for no more than a second or so (three with 16 MB)."""
RETRIES = 5
"""So often work whose process died is done again. Processes die with their nodes, and of what they work on."""
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class RayExecutor:
    """Runs the work of a build on the connected Ray."""

    note: str = ""
    threads: int = 1
    """A task claims one CPU, and others run beside it."""

    @property
    def cpus(self) -> int:
        import ray

        return int(ray.cluster_resources().get("CPU", 1))

    def each(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        size: int = 0,
        at_once: int | None = None,
        memory: int = 0,
        apart: Callable[[], None] | None = None,
    ) -> Iterator[R]:
        """Yield `function(item)` of each item as Ray Data's tasks end (see `executor.Executor`).

        Raises RunError if no node has `memory` bytes, as Ray would wait for one, and if a task's process dies again and
        again.
        """
        if not items:
            return
        import ray
        import ray.data

        logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # an error is raised as well
        blocks = max(size // BLOCK_BYTES, 2 * self.cpus) if size else len(items)
        nodes = [int(node["Resources"].get("memory", 0)) for node in ray.nodes() if node["Alive"]]
        check_memory(memory, max(nodes, default=0), "the largest node of Ray")
        rows = [{"item": pickle.dumps(item)} for item in items]
        dataset = ray.data.from_items(rows, override_num_blocks=min(len(rows), blocks))
        dataset.context.enable_progress_bars = False
        pool = ray.data.TaskPoolStrategy(
            size=at_once if at_once is not None and at_once < min(blocks, len(items)) else None
        )
        with warnings.catch_warnings(category=DeprecationWarning, action="ignore"):  # Ray 2.60 has no other max_retries
            work = dataset.map(_mapped, fn_args=(function,), compute=pool, memory=memory or None, max_retries=RETRIES)
        with _deaths_told():
            for row in work.iter_rows():
                yield _opened(row["outcome"])

    def workers(self, kind: Callable[..., Callable[[T], R]], settings: tuple[Any, ...], most: int) -> RayWorkers[T, R]:
        """Return up to `most` actors, as many as there are CPUs."""
        return RayWorkers(kind, settings, most)


class RayWorkers(Generic[T, R]):
    """Actors, each with a worker made by `kind(*settings)`. They stay until the block ends.

    They claim no CPU: between their turns, other work uses it (tasks would wait forever for what an idle actor holds).
    """

    def __init__(self, kind: Callable[..., Callable[[T], R]], settings: tuple[Any, ...], most: int) -> None:
        self._kind, self._settings, self._most = kind, settings, most
        self._actors: list[Any] = []

    def __enter__(self) -> RayWorkers[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        import ray

        for actor in self._actors:
            ray.kill(actor)
        self._actors = []

    def map(self, items: Sequence[T]) -> Iterator[R]:
        """Yield the result for each item, in the order of the items. A TiclmError ends the work, and so does a worker
        whose process dies again and again (RunError)."""
        if not items:
            return
        import ray
        from ray.util import ActorPool

        wanted = min(self._most, len(items), int(ray.cluster_resources().get("CPU", 1)))
        make = ray.remote(num_cpus=0, max_restarts=RETRIES, max_task_retries=RETRIES)(_WorkerActor)
        while len(self._actors) < max(1, wanted):
            self._actors.append(make.remote(self._kind, self._settings))
        packed = [pickle.dumps(item) for item in items]
        with _deaths_told():
            for result in ActorPool(self._actors).map(lambda actor, item: actor.call.remote(item), packed):
                yield _opened(result)


class _WorkerActor:
    """Makes its worker once. If that fails, every call returns the error: the actor itself must not die of it."""

    def __init__(self, kind: Callable[..., Callable[[Any], Any]], settings: tuple[Any, ...]) -> None:
        self._error: TiclmError | None = None
        try:
            self._worker = kind(*settings)
        except TiclmError as error:
            self._error = error

    def _work(self, item: Any) -> Any:
        if self._error is not None:
            raise self._error
        return self._worker(item)

    def call(self, item: bytes) -> bytes:
        return _mapped({"item": item}, self._work)["outcome"]


def _mapped(row: dict[str, Any], function: Callable[[Any], Any]) -> dict[str, bytes]:
    """Return the pickled result, or the TiclmError that ends a build: raised here, Ray would wrap it."""
    try:
        outcome = attempt(function, pickle.loads(row["item"]))
    except TiclmError as error:
        outcome = error
    return {"outcome": pickle.dumps(outcome)}


def _opened(packed: bytes) -> Any:
    """Return what `_mapped` packed. Raises it if it is a TiclmError."""
    outcome = pickle.loads(packed)
    if isinstance(outcome, TiclmError):
        raise outcome
    return outcome


@contextmanager
def _deaths_told() -> Iterator[None]:
    """Raise RunError, in one line, for work whose process died more than `RETRIES` times."""
    from ray import exceptions

    try:
        yield
    except (exceptions.WorkerCrashedError, exceptions.RayActorError, exceptions.OutOfMemoryError) as error:
        raise RunError(
            f"the build stopped: a process died {RETRIES + 1} times of the same work ({ray_start.reason_of(error)}); "
            f"what is done is kept: run it again to go on, with more memory if that was short"
        ) from None


@contextmanager
def running_ray() -> Iterator[None]:
    """Connect to the Ray at RAY_ADDRESS, or start a local one, for the time of the block; keep one that is connected
    already. Raises InputError if it cannot be joined, and RunError if a local one does not start."""
    if not ray_start.connect():
        yield
        return
    try:
        yield
    finally:
        import ray

        ray.shutdown()
