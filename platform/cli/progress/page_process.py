"""The process that keeps the page of a run up to date: `python -m ticlm.platform.cli.progress.page_process`.

It reads what to do from its first line of input, and how the run ended from the second; without one, the run was
killed. It writes lines of JSON: where the page is, once, and what went wrong, once.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

from ticlm.core.errors import InputError, in_one_line

if TYPE_CHECKING:
    from ticlm.platform.report.live_page import LivePage

LOOK_S = 2.0
"""Seconds between two looks for the first cell."""
EVERY_S, EVERY_ON_A_BUCKET_S = 30.0, 300.0
"""Least seconds between two pages: a bucket is asked for all cells that no index has, and the page goes there whole."""
SHARE = 0.05
"""Most of a run's time that writing its page may take, by CPU time and, on a bucket, by the clock."""


def main() -> None:
    """Write pages until the run has ended."""
    out = _alone()
    asked = json.loads(sys.stdin.readline())
    work = _Work(asked, out)
    threading.Thread(target=work.end_with, args=(sys.stdin,), daemon=True).start()
    work.go_on()


def _alone() -> IO[str]:
    """Take a low priority, and keep standard output for this module's own lines. Return where they go."""
    with suppress(OSError):
        os.nice(10)
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    return out


class _Work:
    def __init__(self, asked: dict[str, Any], out: IO[str]) -> None:
        self.asked, self.out = asked, out
        self.page: LivePage | None = None
        self.writing = threading.Lock()
        """Held while the root is written to, so that this process never ends in the middle of a file."""

    def end_with(self, told: IO[str]) -> None:
        """Wait for how the run ended, and end this process: at once, but for a file that is being written."""
        how = told.readline().strip()
        with self.writing:
            if how != "done" and self.page is not None:
                with suppress(Exception):
                    self.page.stop()
            os._exit(0)

    def go_on(self) -> None:
        """Renew the page until this process is ended."""
        told = set[str]()
        while True:
            used, began = time.process_time(), time.monotonic()
            pause = LOOK_S
            try:
                if self.page is None:
                    self.page = self._made()
                    used, began = time.process_time(), time.monotonic()
                if self.page.look():
                    pause = self._pause(self.page, time.process_time() - used, time.monotonic() - began)
                    with self.writing:
                        self.page.write(pause)
                    self._tell_once(told, "page", self.page.where)
            except Exception as error:  # it may pass: of results that are there by half, for one
                pause = EVERY_S
                self._tell_once(told, "fault", in_one_line(error))
            time.sleep(pause)

    def _pause(self, page: LivePage, cpu_s: float, clock_s: float) -> float:
        """Return the seconds until the next page, by what this one took."""
        if page.store.is_local:
            return max(EVERY_S, cpu_s / SHARE)
        return max(EVERY_ON_A_BUCKET_S, clock_s / SHARE)

    def _made(self) -> LivePage:
        from ticlm.core.store import Store
        from ticlm.platform.report.live_page import LivePage
        from ticlm.platform.results.setup import StudyRequest, identity_of
        from ticlm.platform.study import plan
        from ticlm.platform.study import settings as studies

        asked = self.asked
        store = Store(asked["store"], asked["lease"])
        made = plan.make(studies.load(asked["study"], asked["sets"], store), store)
        if identity_of(made.study) != asked["identity"]:
            raise InputError(f"{asked['study']} was changed since the run began")
        return LivePage(made, StudyRequest(asked["study"], tuple(asked["sets"]), asked["root"]))

    def _tell_once(self, told: set[str], what: str, text: str) -> None:
        if what not in told:
            told.add(what)
            with suppress(OSError):  # nobody listens any more
                print(json.dumps({what: text}), file=self.out, flush=True)


if __name__ == "__main__":
    main()
