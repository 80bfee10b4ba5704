"""Signals that end a command as Ctrl-C does, so that it gives back what it holds: SIGTERM, and one of its own."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import NoReturn

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

    Only the first SIGTERM counts: whoever sends it again wants no other end. Call this again after `ray.init`, which
    takes the signal for itself: its handler exits with code 15 or, where it started Ray, drains the node for half a
    minute first.
    """
    if RUNNING.is_set():
        set_sigterm(_terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    TERMINATED.set()
    ENDING.set()
    raise Terminated


def set_sigterm(handler: object) -> None:
    """Install a handler of SIGTERM. Does nothing outside the main thread, or if `handler` is None."""
    if threading.current_thread() is threading.main_thread() and handler is not None:
        signal.signal(signal.SIGTERM, handler)  # type: ignore[arg-type]


@contextmanager
def halting() -> Iterator[Halt]:
    """Give a function that ends the block from another thread, as Ctrl-C would: it raises Halted there.

    The signal behind it, SIGURG, does nothing outside the block. The function does nothing where the block is not run
    by the main thread, which alone can be interrupted.
    """
    before = signal.getsignal(signal.SIGURG)
    if threading.current_thread() is not threading.main_thread() or before is None:
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
