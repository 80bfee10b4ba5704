"""Work on many small items: tasks of Ray Data whose results go to the store, and actors that hold what loads slowly."""

from __future__ import annotations

import logging
import os
import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Generic, TypeVar

from ticlm.platform.core.errors import RunError, TiclmError

BLOCK_BYTES = 16 << 20
T = TypeVar("T")
R = TypeVar("R")


def each(
    function: Callable[[T], R], items: Sequence[T], size: int = 0, at_once: int | None = None, memory: int = 0
) -> Iterator[R]:
    """What `function` gives for each item, as Ray Data tasks end.

    `size`, in bytes, says how finely to cut the work: where it is not known (0), a task is an item. At most `at_once`
    tasks run at the same time, each promised `memory` bytes. A TiclmError ends the work; so does a full disk, as a
    RunError.
    """
    if not items:
        return
    import ray
    import ray.data

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    blocks = max(size // BLOCK_BYTES, 2 * int(ray.cluster_resources().get("CPU", 1))) if size else len(items)
    _check_memory(memory, ray.nodes())
    rows = [{"item": pickle.dumps(item)} for item in items]
    dataset = ray.data.from_items(rows, override_num_blocks=min(len(rows), blocks))
    dataset.context.enable_progress_bars = False
    pool = ray.data.TaskPoolStrategy(
        size=at_once if at_once is not None and at_once < min(blocks, len(items)) else None
    )
    for row in dataset.map(_called, fn_args=(function,), compute=pool, memory=memory or None).iter_rows():
        outcome = pickle.loads(row["outcome"])
        if isinstance(outcome, TiclmError):
            raise outcome
        yield outcome


class Actors(Generic[T, R]):
    """Workers that `kind(*settings)` makes: one for each of at most so many actors, which stay until the block
    ends. It is for what takes long to load.

    They claim no CPU: between their turns, others do (tasks would wait for ever for what an idle actor holds).
    """

    def __init__(self, kind: Callable[..., Callable[[T], R]], settings: tuple[Any, ...], most: int) -> None:
        self._kind, self._settings, self._most = kind, settings, most
        self._actors: list[Any] = []

    def __enter__(self) -> Actors[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        import ray

        for actor in self._actors:
            ray.kill(actor)
        self._actors = []

    def map(self, items: Sequence[T]) -> Iterator[R]:
        """What they give for each item, in the order of the items; a TiclmError ends the work."""
        if not items:
            return
        import ray
        from ray.util import ActorPool

        wanted = min(self._most, len(items), int(ray.cluster_resources().get("CPU", 1)))
        make = ray.remote(num_cpus=0, max_restarts=3, max_task_retries=3)(_Actor)
        while len(self._actors) < max(1, wanted):
            self._actors.append(make.remote(self._kind, self._settings))
        packed = [pickle.dumps(item) for item in items]
        for given in ActorPool(self._actors).map(lambda actor, item: actor.call.remote(item), packed):
            outcome = pickle.loads(given)
            if isinstance(outcome, TiclmError):
                raise outcome
            yield outcome


class _Actor:
    """Makes its worker once; one that cannot be made is the outcome of every call, not the end of the actor."""

    def __init__(self, kind: Callable[..., Callable[[Any], Any]], settings: tuple[Any, ...]) -> None:
        self._error: TiclmError | None = None
        try:
            self._worker = kind(*settings)
        except TiclmError as error:
            self._error = error

    def _worked(self, item: Any) -> Any:
        if self._error is not None:
            raise self._error
        return self._worker(item)

    def call(self, item: bytes) -> bytes:
        return _called({"item": item}, self._worked)["outcome"]


def _check_memory(needed: int, nodes: Sequence[Mapping[str, Any]]) -> None:
    """RunError where no node could ever run such a task: Ray would wait for one."""
    most = max((int(node["Resources"].get("memory", 0)) for node in nodes if node["Alive"]), default=0)
    if needed > most:
        raise RunError(f"a task of this build needs {needed:,} bytes of memory; the largest node of Ray has {most:,}")


def _called(row: dict[str, Any], function: Callable[[Any], Any]) -> dict[str, bytes]:
    try:
        outcome = function(pickle.loads(row["item"]))
    except TiclmError as error:
        outcome = error
    except OSError as error:  # a full disk, a store that cannot be reached
        outcome = RunError(f"the build stopped: {' '.join(str(error).split())}; run it again to go on")
    return {"outcome": pickle.dumps(outcome)}


@contextmanager
def running_ray() -> Iterator[None]:
    """The Ray that runs, or the one at RAY_ADDRESS, or one of our own that ends with this."""
    import ray

    if ray.is_initialized():
        yield
        return
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    if os.environ.get("RAY_ADDRESS"):
        ray.init(**quiet)
    else:
        ray.init(address="local", include_dashboard=False, **quiet)
    try:
        yield
    finally:
        ray.shutdown()
