"""A page that is kept up to date while a run goes on: the run's side of the process that writes it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from ticlm.core.errors import TiclmWarning

if TYPE_CHECKING:
    from ticlm.core.progress import Show
    from ticlm.platform.results.setup import StudyRequest
    from ticlm.platform.study.plan import Plan

START_S = 20.0
"""Seconds that a run lasts before it gets a page: the first one takes two CPU seconds, mostly of imports."""
END_S = 15.0
"""Seconds in which the process of the page must end: it may be at work, with a low priority."""


@contextmanager
def renewing(plan: Plan, request: StudyRequest, show: Show) -> Iterator[None]:
    """Keep the page of a study up to date while the block runs it. If the block ends badly, the page says that the run
    stopped; else it stays as it was, for the page of the finished study to be written over it.

    Whatever happens to the page, the block goes on: a fault is one warning.
    """
    process = _PageProcess(plan, request, show)
    watching = threading.Thread(target=process.watch, daemon=True)
    watching.start()
    is_done = False
    try:
        yield
        is_done = True
    finally:
        process.end("done" if is_done else "stopped")


class _PageProcess:
    """Starts the process once the run has lasted a while, and passes on what it says."""

    def __init__(self, plan: Plan, request: StudyRequest, show: Show) -> None:
        self.plan, self.request, self.show = plan, request, show
        self._ended, self._lock = threading.Event(), threading.Lock()
        self._process: subprocess.Popen[str] | None = None

    def watch(self) -> None:
        """Start the process and show its lines until it ends."""
        if self._ended.wait(START_S):
            return
        try:
            with self._lock:
                if self._ended.is_set():
                    return
                self._process = self._started()
            assert self._process.stdout is not None
            with self._process.stdout as lines:
                for line in lines:
                    told = json.loads(line)
                    if "page" in told:
                        self.show.say(f"page: {told['page']} (renews itself)")
                    elif not self._ended.is_set():
                        _warn(told["fault"])
        except Exception as error:
            _warn(f"{type(error).__name__}: {error}")

    def end(self, how: str) -> None:
        """Tell the process how the run ended, and wait until it has ended, too."""
        self._ended.set()
        with self._lock:
            process = self._process
        if process is None:
            return
        assert process.stdin is not None
        with suppress(OSError):  # it may have ended by itself
            process.stdin.write(f"{how}\n")
            process.stdin.close()
        try:
            process.wait(timeout=END_S)
        except subprocess.TimeoutExpired:
            process.kill()

    def _started(self) -> subprocess.Popen[str]:
        from ticlm.platform.results.setup import identity_of

        assert self.plan.store is not None
        asked = {
            "study": self.request.named,
            "sets": self.request.sets,
            "root": self.request.root,
            "store": self.plan.store.root,
            "lease": self.plan.store.lease,
            "identity": identity_of(self.plan.study),
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "ticlm.platform.cli.progress.page_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            # What this process imports, that one does too; and its libraries do not take all cores.
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OMP_NUM_THREADS": "1"},
            start_new_session=True,  # Ctrl-C of the terminal is for the run, which says how it ended
        )
        assert process.stdin is not None
        process.stdin.write(f"{json.dumps(asked)}\n")
        process.stdin.flush()
        return process


def _warn(line: str) -> None:
    warnings.warn(f"the page of this run could not be written, the run goes on: {line}", TiclmWarning, stacklevel=3)
