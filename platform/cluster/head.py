"""The head of Ray, watched from a driver: a driver whose head is lost ends, and the user must hear why."""

from __future__ import annotations

import socket
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from ticlm.core.errors import TiclmWarning

LOOK_S = 5.0
SILENT_S = 20.0
"""Ray ends a driver, with a line of its own, once the head has not answered for a minute: we must be earlier."""


@contextmanager
def watched(address: str) -> Iterator[None]:
    """Watch the head at `HOST:PORT` while the block runs, and warn once each time that it is lost."""
    over = threading.Event()
    thread = threading.Thread(target=_watch, args=(address, over), daemon=True, name="ticlm-head")
    thread.start()
    try:
        yield
    finally:
        over.set()


def _watch(address: str, over: threading.Event) -> None:
    heard, told = time.monotonic(), False
    while not over.wait(LOOK_S):
        if _answers(address):
            heard, told = time.monotonic(), False
        elif not told and time.monotonic() - heard >= SILENT_S:
            told = True
            warnings.warn(
                f"the head of Ray at {address} is lost: it has not answered for {time.monotonic() - heard:.0f} s; "
                "Ray ends this command unless it comes back within a minute; what is finished is kept, and the same "
                "command goes on once there is a Ray",
                TiclmWarning,
                stacklevel=2,
            )


def _answers(address: str) -> bool:
    host, _, port = address.rpartition(":")
    try:
        with socket.create_connection((host.strip("[]"), int(port)), timeout=LOOK_S):
            return True
    except OSError:
        return False
