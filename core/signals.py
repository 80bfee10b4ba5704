"""Signals that end a command as Ctrl-C does, so that it gives back what it holds: SIGTERM, and one of its own.

And the waits that they end. Python runs the handler of a signal in the main thread, between two of its instructions. A
wait without a limit is one instruction, and nothing wakes it if the signal came just before it or another thread took
the signal: about one run in eighty went on although it was told to end. So every wait here begins anew after WAKE_S,
and no other module waits without a limit (`tests/repo/test_waits.py`).
"""

from __future__ import annotations

import math
import queue
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from types import FrameType
from typing import Any, NoReturn, TypeVar

_install = signal.signal  # kept, as `keeping_sigterm` puts another function in its place for a while
T = TypeVar("T")
R = TypeVar("R")
WAKE_S = 0.5
"""Seconds after which a wait looks for signals. What it waits for ends it at once: this costs two wakes a second."""

RUNNING, TERMINATED = threading.Event(), threading.Event()
"""Set while this process runs a command; set once it has received SIGTERM."""
ENDING = threading.Event()
"""Set once this process is to end what it does, for whatever reason: threads that wait for storage wait no more."""


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM: `ray job stop`, Kubernetes or a batch system ends this process, and will kill it soon."""


class Halted(KeyboardInterrupt):
    """Raised in the main thread when another thread of this process has found that it must not go on."""


Halt = Callable[[], None]


def heed_sigterm() -> None:
    """Make SIGTERM end the running command as Ctrl-C does. Does nothing if no command runs.

    Only the first SIGTERM counts: whoever sends it again wants no other end.
    """
    if RUNNING.is_set():
        handle(signal.SIGTERM, _terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    _install(signal.SIGTERM, signal.SIG_IGN)
    TERMINATED.set()
    ENDING.set()
    raise Terminated


def handle(number: signal.Signals, handler: object) -> None:
    """Install a handler of a signal. Does nothing outside the main thread, or if `handler` is None."""
    if _is_main() and handler is not None:
        _install(number, handler)  # type: ignore[arg-type]


def _is_main() -> bool:
    return threading.current_thread() is threading.main_thread()


def ignore_interrupts() -> None:
    """Ignore Ctrl-C until the running command has ended, as its last line is all that is left. Else do nothing."""
    if RUNNING.is_set():
        handle(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def keeping_sigterm() -> Iterator[None]:
    """Let nobody else take SIGTERM while the block starts or joins a Ray, if a command runs in this thread.

    `ray.init` installs handlers of its own, without asking: they exit with code 15 or, where it started Ray, drain the
    node for half a minute first. One of them Python does not see, as it is Ray's C++ that prints a stack and aborts: it
    stands until the end of the block.
    """
    if not RUNNING.is_set() or not _is_main():
        yield
        return

    def install(number: int, handler: Any) -> Any:
        return signal.getsignal(number) if number == signal.SIGTERM else _install(number, handler)

    signal.signal = install  # type: ignore[assignment]
    try:
        yield
    finally:
        signal.signal = _install
        handle(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


@contextmanager
def halting() -> Iterator[Halt]:
    """Give a function that ends the block from another thread, as Ctrl-C would: it raises Halted there.

    The signal behind it, SIGURG, does nothing outside the block. The function does nothing where the block is not run
    by the main thread, which alone can be interrupted.
    """
    before = signal.getsignal(signal.SIGURG)
    if not _is_main() or before is None:
        yield lambda: None
        return
    main = threading.get_ident()
    signal.signal(signal.SIGURG, _halt)
    try:
        yield lambda: signal.pthread_kill(main, signal.SIGURG)
    finally:
        signal.signal(signal.SIGURG, before)


def _halt(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGURG, signal.SIG_IGN)
    ENDING.set()
    raise Halted


def first_done(futures: Iterable[Future[T]], timeout_s: float = math.inf) -> set[Future[T]]:
    """Wait until a future is done, but at most `timeout_s`. Return all futures that are done."""
    futures, deadline = list(futures), time.monotonic() + timeout_s
    while True:
        left = deadline - time.monotonic()
        done = wait(futures, min(WAKE_S, max(0.0, left)), FIRST_COMPLETED).done
        if done or not futures or left <= WAKE_S:
            return done


def result_of(future: Future[T]) -> T:
    """Wait for a future and return its result. Raises what its work raised."""
    first_done([future])
    return future.result()


def join(work: threading.Thread | BaseProcess) -> None:
    """Wait until a thread or a process has ended."""
    while work.is_alive():
        work.join(WAKE_S)


def next_of(items: queue.Queue[T]) -> T:
    """Wait for the next item of a queue and take it."""
    while True:
        try:
            return items.get(timeout=WAKE_S)
        except queue.Empty:
            continue


class Threads(ThreadPoolExecutor):
    """A pool of threads. `map`, and the end of its block, wait so that signals are heard."""

    def map(self, fn: Callable[..., R], *iterables: Iterable[Any]) -> Iterator[R]:  # type: ignore[override]
        """Begin to call `fn` on all items; return an iterator over the results, in the order of the items."""
        # The first one last: popped when its result is taken, so that no result is held longer than it is used.
        left = [self.submit(fn, *items) for items in zip(*iterables)][::-1]

        def results() -> Iterator[R]:
            try:
                while left:
                    yield result_of(left.pop())
            finally:
                for future in left:
                    future.cancel()

        return results()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """Take no more work; wait until the threads have ended, unless `wait` is false."""
        super().shutdown(wait=False, cancel_futures=cancel_futures)
        for thread in self._threads if wait else ():
            join(thread)
