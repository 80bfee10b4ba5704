"""The faults themselves: what is killed, and how a root vanishes for a while."""

from __future__ import annotations

import ctypes
import errno
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ticlm.core.errors import InputError
from ticlm.platform.chaos.local_cluster import LocalCluster

NO_WORKER_S = 30.0
"""How long a fault waits for a worker to kill. Between two chains, and while workers start, there is none."""


def kill_worker(cluster: LocalCluster, pick: float) -> str:
    """Kill one of the processes that train or evaluate, and return which; empty if there is none for a while.

    `pick` is a random number in [0, 1).
    """
    import psutil

    deadline = time.monotonic() + NO_WORKER_S
    while time.monotonic() < deadline:
        if workers := cluster.workers():
            victim = workers[int(pick * len(workers))]
            try:
                name = victim.cmdline()[0].partition(".")[0].removeprefix("ray::")
                victim.kill()
                return f"{name}, process {victim.pid}"
            except psutil.Error:  # it has just ended by itself
                continue
        time.sleep(0.1)
    return ""


@contextmanager
def gone(root: Path) -> Iterator[None]:
    """Put an empty file in the place of a root for the time of the block, so that every read and write below it fails.

    Root and file change places in one step, as no writer must find nothing there and make a root of its own.
    """
    stand_in = aside(root)
    stand_in.touch()
    exchange(root, stand_in)
    try:
        yield
    finally:
        exchange(root, stand_in)
        stand_in.unlink()


def aside(root: Path) -> Path:
    """Return where a root is while it is gone."""
    return root.with_name(f"{root.name}.gone")


def exchange(first: Path, second: Path) -> None:
    """Let two files or folders change places in one step. Raises InputError where the system has no such call."""
    here, swap = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    renameat2 = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if renameat2 is None:
        raise InputError("faults of storage need Linux; leave them out: --kinds worker,node,driver")
    if renameat2(here, os.fsencode(first), here, os.fsencode(second), swap):
        number = ctypes.get_errno()
        if number in (errno.EINVAL, errno.ENOSYS):
            raise InputError(f"{first}: its disk cannot exchange two names; leave out faults of storage (--kinds)")
        raise OSError(number, os.strerror(number), str(first))
