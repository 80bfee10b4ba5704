"""Waiting for a server through a library that has limits of its own, which are too long."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import Any, TypeVar

T = TypeVar("T")


class Wait:
    """What requests wait for: `since` they last began to wait for an answer; None while one is read."""

    def __init__(self) -> None:
        self.since: float | None = time.monotonic()
        self.file = ""

    def begin(self, file: str) -> None:
        """Wait for the answer about a file."""
        self.since, self.file = time.monotonic(), file

    def bar(self, **how: Any) -> Any:
        """Return a progress bar, which shows on a terminal only. A library makes one once a file begins to come: it is
        not waited for any more."""
        from tqdm import tqdm

        self.since = None
        return tqdm(**how, disable=None)


def answered(work: Callable[[Wait], T], wait: Wait, seconds: float) -> T:
    """Return what `work` returns, in a thread of its own. Raises TimeoutError, and leaves the thread to itself, if an
    answer does not begin in so many seconds."""
    done = Future[T]()

    def run() -> None:
        try:
            done.set_result(work(wait))
        except BaseException as error:
            done.set_exception(error)

    Thread(target=run, name="answers", daemon=True).start()
    while True:
        try:
            found = done.exception(0.1)
        except TimeoutError:  # of this tenth of a second
            since = wait.since
            if since is not None and time.monotonic() - since > seconds:
                raise
            continue
        if found is not None:
            raise found
        return done.result(0)
