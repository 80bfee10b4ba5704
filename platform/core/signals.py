"""SIGTERM: ends a command as Ctrl-C does, so that it gives back what it holds."""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import NoReturn

RUNNING, TERMINATED = threading.Event(), threading.Event()
"""Set while this process runs a command; set once it has received SIGTERM."""


class Terminated(KeyboardInterrupt):
    """Raised on SIGTERM: `ray job stop`, Kubernetes or a batch system ends this process, and will kill it soon."""


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
    raise Terminated


def set_sigterm(handler: object) -> None:
    """Install a handler of SIGTERM. Does nothing outside the main thread, or if `handler` is None."""
    if threading.current_thread() is threading.main_thread() and handler is not None:
        signal.signal(signal.SIGTERM, handler)  # type: ignore[arg-type]
