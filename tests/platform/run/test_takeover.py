"""A writer that was stopped for too long, on a machine of its own: it loses the root and leaves its heir alone."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from signals import started

from ticlm.core import paths
from ticlm.core.store import Store
from ticlm.core.writers import lease_files

ELSEWHERE = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child", "sh", "-c")
OWN_MEMORY = 'mount -t tmpfs none /dev/shm && exec "$@"'
WRITER = """
import sys, time
from ticlm.platform.cli.exit import ended
from ticlm.core import lease
from ticlm.core.integrity.records import Attempt
from ticlm.core.store import Store

lease.HEARTBEAT_S, lease.STALE_S = 0.2, 2.0

def work():
    store, name, rounds = Store(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    with lease.lease(store, f"run {name}"):
        for number in range(rounds):
            attempt = Attempt(store, f"rounds/{name}{number}")
            store.write(f"{attempt.path}/model/0", b"weights")
            time.sleep(0.05)
            attempt.publish({})

ended(work)
"""


def elsewhere(*command: str) -> list[str]:
    """The command in process ids and memory of its own, as another container or machine has them."""
    return [*ELSEWHERE, OWN_MEMORY, "sh", *command]


def permitted() -> bool:
    """Whether this machine lets us make namespaces."""
    return (
        shutil.which("unshare") is not None and subprocess.run(elsewhere("true"), capture_output=True).returncode == 0
    )


def until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.nightly
@pytest.mark.skipif(not permitted(), reason="needs the right to make namespaces")
def test_a_writer_that_was_stopped_for_too_long_ends_in_one_line_and_its_heir_finishes(tmp_path: Path) -> None:
    store, root = Store(tmp_path / "root"), str(tmp_path / "root")
    command = (sys.executable, "-c", WRITER, root)
    with started(elsewhere(*command, "first", "2000"), stderr=subprocess.PIPE) as first:
        until(lambda: len(store.folders("rounds")) > 3)
        (stopped,) = [p for p in psutil.Process(first.pid).children(recursive=True) if "-c" in p.cmdline()[1:2]]
        stopped.suspend()
        with started(elsewhere(*command, "heir", "60"), stderr=subprocess.PIPE) as heir:
            until(lambda: store.exists("rounds/heir3/record.json"))
            kept = len(store.folders("rounds"))
            os.kill(stopped.pid, signal.SIGCONT)
            said = first.communicate(timeout=60)[1]
            assert first.returncode == 1 and said.count("\n") == 1, said
            assert "was taken over by run heir" in said and kept > 4
            heard = heir.communicate(timeout=60)[1]
    assert heir.returncode == 0 and heard.count("\n") == 1 and "watching for up to" in heard, heard
    assert all(store.exists(f"rounds/heir{number}/record.json") for number in range(60))
    held = store.read_json(paths.lease(lease_files.numbers(store)[-1]))  # a heart may have written an older one late
    assert held["purpose"] == "run heir" and held["released"]
