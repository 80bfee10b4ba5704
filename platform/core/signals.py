"""TODO"""

from __future__ import annotations

import signal
import threading
from types import FrameType
from typing import NoReturn

_running, _terminated = threading.Event(), threading.Event()
"""Whether this process runs a command; whether SIGTERM came to it."""


class Terminated(KeyboardInterrupt):
    """SIGTERM came: `ray job stop`, Kubernetes or a batch system wants this process to end, and will kill it soon."""


def heed_sigterm() -> None:
    """Have SIGTERM end a command like Ctrl-C does, so that it gives back what it holds; once, since whoever sends it
    again wants no other end. Nothing where no command runs. To be called anew after `ray.init`, which takes the signal
    for itself: its handler exits with code 15 or, where it started Ray, drains the node for half a minute first."""
    if _running.is_set():
        _on_sigterm(_terminate)


def _terminate(number: int, frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    _terminated.set()
    raise Terminated


def _on_sigterm(handler: object) -> None:
    if threading.current_thread() is threading.main_thread() and handler is not None:
        signal.signal(signal.SIGTERM, handler)  # type: ignore[arg-type]
