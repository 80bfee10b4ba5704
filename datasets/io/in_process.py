"""The executor that works in the process that builds: one item after the other, without Ray."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Generic, TypeVar

from ticlm.core.errors import RunError
from ticlm.core.remote.ray_start import cores
from ticlm.core.signals import WAKE_S, Threads, first_done, result_of

READER_BYTES = 1 << 30
"""Memory of the machine for each item that is worked on beside others: a process that reads text holds 64 MB of it, and
several times as much while it sorts and writes them."""
T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True)
class ProcessExecutor:
    """Runs the work of a build in this process, in the order of the items.

    `note` says where the work is done, for a line of progress.
    """

    note: str = " in this process"
    cpus: int = 1
    threads: int = field(default_factory=lambda: cores())

    def each(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        size: int = 0,
        at_once: int | None = None,
        memory: int = 0,
        apart: Callable[[], None] | None = None,
    ) -> Iterator[R]:
        """Yield `function(item)` of each item, in order. `size` says nothing here. One item is worked on at a time,
        unless the work is done `apart`: then one a core, at most `at_once`, and one for READER_BYTES of memory.

        Raises what `function` raises as a TiclmError, and RunError if it cannot read or write, or if this machine has
        less than `memory` bytes.
        """
        there = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if items:
            check_memory(memory, there, "this machine")
        most = min(self.threads, len(items), at_once or len(items), there // READER_BYTES)
        if apart is not None and most > 1:
            yield from _side_by_side(partial(attempt, function), items, most, apart)
            return
        for item in items:
            yield attempt(function, item)

    def workers(
        self, kind: Callable[..., Callable[[T], R]], settings: tuple[Any, ...], most: int
    ) -> ProcessWorker[T, R]:
        """Return one worker, whatever `most` allows."""
        return ProcessWorker(kind, settings)


def _side_by_side(function: Callable[[T], R], items: Sequence[T], most: int, end: Callable[[], None]) -> Iterator[R]:
    """Yield `function(item)` of each item, in order, with `most` threads at work. `end` makes calls that are under way
    return or raise soon; it is called if the work ends early."""
    with Threads(most) as threads:
        futures = [threads.submit(function, item) for item in items]
        try:
            for future in futures:
                yield result_of(future)
        except BaseException:
            for future in futures:
                future.cancel()
            while under_way := [future for future in futures if not future.done()]:
                end()  # again and again: a thread may just have begun, or try once more
                first_done(under_way, WAKE_S)
            raise


class ProcessWorker(Generic[T, R]):
    """One worker in this process, made by `kind(*settings)` when there is work for it."""

    def __init__(self, kind: Callable[..., Callable[[T], R]], settings: tuple[Any, ...]) -> None:
        self._kind, self._settings = kind, settings
        self._worker: Callable[[T], R] | None = None

    def __enter__(self) -> ProcessWorker[T, R]:
        return self

    def __exit__(self, *_: object) -> None:
        self._worker = None

    def map(self, items: Sequence[T]) -> Iterator[R]:
        """Yield the worker's result for each item, in order."""
        for item in items:
            yield attempt(self._work, item)

    def _work(self, item: T) -> R:
        if self._worker is None:
            self._worker = self._kind(*self._settings)
        return self._worker(item)


def attempt(function: Callable[[T], R], item: T) -> R:
    """Return `function(item)`. Raises RunError for an OSError: a full disk, a store that cannot be reached."""
    try:
        return function(item)
    except OSError as error:
        raise RunError(f"the build stopped: {' '.join(str(error).split())}; run it again to go on") from None


def check_memory(needed: int, available: int, where: str) -> None:
    """Raise RunError if a task needs more memory than there is."""
    if needed > available:
        raise RunError(f"a task of this build needs {needed:,} bytes of memory; {where} has {available:,}")
