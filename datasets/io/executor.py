"""The executor of a build: what runs its work, in this process or on Ray. It changes no byte of what is built."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Literal, Protocol, TypeVar

from ticlm.core.progress import count
from ticlm.core.remote.ray_start import cores
from ticlm.datasets.io.documents import Input
from ticlm.datasets.io.in_process import ProcessExecutor
from ticlm.datasets.io.ray_map import RayExecutor, running_ray

T = TypeVar("T")
R = TypeVar("R")
T_contra = TypeVar("T_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)

ExecutorSetting = Literal["auto", "process", "ray"]
"""`process` works in this process, `ray` on the connected Ray or on one that it starts. `auto` takes Ray if one is
connected or named by RAY_ADDRESS, if the inputs are large, and if their size is not known."""

REPORT_S = 10.0
"""Least time between two lines of progress."""
LARGE_BYTES = 64 << 20
"""Size of inputs from which `auto` starts a Ray for a set of examples. One process reads about 1 MB/s of compressed
text, and starting Ray takes 10 to 20 s, so that below this size a build takes a minute or so and Ray would save little
or nothing."""
LARGE_CORPUS_BYTES = 256 << 20
"""The same for a corpus, which one process reads and encodes on all cores. Of 24 CPU-seconds for 100 MB of JSON lines
it leaves 1.4 s to one core (3.3 s with `deduplicate`). Ray spreads them, but takes 8 s to start, import and stop, and a
tenth more CPU time. By this reckoning it pays from 280 MB (with `deduplicate`) or 730 MB on 16 cores, from 440 MB or
2 GB on 4, and from 2 GB or never on 2. Inputs are mostly packed, to a third or so: hence the low end."""
LEAST_CORES = 4
"""With fewer cores, a Ray on this machine saves the build of a corpus nothing, as long as it takes minutes."""


class WorkerPool(Protocol[T_contra, R_co]):
    """Holders of what loads slowly, for the time of a `with` block."""

    def __enter__(self) -> WorkerPool[T_contra, R_co]: ...

    def __exit__(self, *_: object) -> None: ...

    def map(self, items: Sequence[T_contra]) -> Iterator[R_co]:
        """Yield the result for each item, in the order of the items. A TiclmError ends the work."""


class Executor(Protocol):
    """Applies functions to many small items whose results go to the store. `note` follows what it does, in a line of
    progress."""

    @property
    def note(self) -> str: ...

    @property
    def cpus(self) -> int:
        """Return how many CPUs there are for its tasks."""

    @property
    def threads(self) -> int:
        """Return how many cores one task may use."""

    def each(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        size: int = 0,
        at_once: int | None = None,
        memory: int = 0,
        apart: Callable[[], None] | None = None,
    ) -> Iterator[R]:
        """Yield the result of `function` for each item, in whatever order the work ends.

        `size` is that of all items in bytes, from which the work is cut into tasks: with 0, a task is an item. At most
        `at_once` tasks run at the same time, and each may use `memory` bytes. `apart`, if given, says that `function`
        has a process of its own work in each thread, and ends these processes: then this process has several at work.
        Raises the first TiclmError, and RunError for a full disk, a store that cannot be reached, or too little memory.
        """

    def workers(self, kind: Callable[..., Callable[[T], R]], settings: tuple[Any, ...], most: int) -> WorkerPool[T, R]:
        """Return workers, each made once by `kind(*settings)`; at most `most` of them."""


def reported(
    outcomes: Iterable[R], total: str, progress: Callable[[str], None], done: str, number_of: int | None = None
) -> Iterator[R]:
    """Yield the outcomes, and report every few seconds how many there were, as "<done> 12 of 40". `number_of` is how
    many there will be, if that is known."""
    last = time.monotonic()
    for number, outcome in enumerate(outcomes, 1):
        count(progress, done, number, number_of)
        if time.monotonic() - last > REPORT_S:
            last = time.monotonic()
            progress(f"{done} {number:,} of {total}")
        yield outcome


@contextmanager
def executing(setting: ExecutorSetting, inputs: Sequence[Input], large: int | None = LARGE_BYTES) -> Iterator[Executor]:
    """Give the executor for a build of these inputs, which are large from `large` bytes on (None: never). A Ray that it
    starts ends with the block."""
    if chosen(setting, inputs, large) == "process":
        rule = f" (Ray from {large >> 20} MB)" if setting == "auto" and large is not None else ""
        yield ProcessExecutor(f" in this process{rule}")
        return
    with running_ray():
        yield RayExecutor()


def chosen(
    setting: ExecutorSetting, inputs: Sequence[Input], large: int | None = LARGE_BYTES
) -> Literal["process", "ray"]:
    """Return what `auto` stands for with these inputs; another setting as it is. Never imports Ray."""
    if setting != "auto":
        return setting
    ray = sys.modules.get("ray")
    connected = ray is not None and ray.is_initialized()
    unknown = any(entry.size == 0 for entry in inputs)
    pays = large is not None and (unknown or sum(entry.size for entry in inputs) >= large)
    return "ray" if connected or os.environ.get("RAY_ADDRESS") or pays else "process"


def large_corpus() -> int | None:
    """Return the size of inputs from which a Ray on this machine pays for a corpus; None if it never does."""
    return LARGE_CORPUS_BYTES if cores() >= LEAST_CORES else None
