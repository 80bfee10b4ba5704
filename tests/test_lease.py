"""Leases on a disk and on S3: one writer holds a root, and a dead one is succeeded."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import Any

import pytest

from ticlm.platform import lease as module
from ticlm.platform.errors import RunError
from ticlm.platform.lease import lease
from ticlm.platform.store import Store

WRITERS = 8


def leases(store: Store) -> list[dict[str, Any]]:
    return [store.read_json(f"leases/{name}") for name in store.files("leases")]


def held_by(store: Store, **changes: Any) -> None:
    """A lease as another writer left it."""
    state = {
        "purpose": "ticlm run demo",
        "pid": os.getppid(),
        "host": socket.gethostname(),
        "since": "2026-01-01 00:00:00",
        "beat": time.time(),
        "released": False,
    }
    store.write("leases/00000007.json", json.dumps(state | changes).encode())


def ended_process() -> int:
    """The id of a process that is no more."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def test_a_second_writer_is_refused_in_one_line_that_names_the_first(store: Store) -> None:
    with (
        lease(store, "ticlm run demo"),
        pytest.raises(RunError) as caught,
        lease(Store(store.root), "ticlm gc"),
    ):
        pass
    message = str(caught.value)
    assert "in use by another writer: ticlm run demo" in message and str(os.getpid()) in message
    assert socket.gethostname() in message and "\n" not in message and caught.value.exit_code == 1


def test_a_root_is_free_again_when_its_writer_ends_or_fails(store: Store) -> None:
    with pytest.raises(ZeroDivisionError), lease(store, "first"):
        raise ZeroDivisionError
    with lease(store, "second"):
        assert [held["purpose"] for held in leases(store)] == ["second"]
    assert [held["released"] for held in leases(store)] == [True]


@pytest.mark.parametrize("heirs", [False, True], ids=["fresh root", "after a dead writer"])
def test_of_eight_writers_at_once_one_holds_the_root(store: Store, heirs: bool) -> None:
    if heirs:
        held_by(store, pid=ended_process())
    release = threading.Event()

    def work(k: int) -> bool:
        with ExitStack() as stack:
            try:
                stack.enter_context(lease(Store(store.root), f"writer {k}"))
            except RunError:
                return False
            return release.wait(60)

    gate = threading.Barrier(WRITERS)
    with ThreadPoolExecutor(WRITERS) as pool:
        tries = [pool.submit(lambda k: (gate.wait(), work(k))[1], k) for k in range(WRITERS)]
        try:
            deadline = time.time() + 60
            while sum(t.done() for t in tries) < WRITERS - 1 and time.time() < deadline:
                time.sleep(0.01)
            losers = [t for t in tries if t.done()]
            assert len(losers) == WRITERS - 1 and not any(t.result() for t in losers)
        finally:
            release.set()
        assert [t.result() for t in tries].count(True) == 1


def test_a_writer_whose_process_is_gone_is_succeeded_at_once(store: Store) -> None:
    held_by(store, pid=ended_process())
    with lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]


def test_a_living_process_of_this_host_keeps_its_lease_however_slow_its_heart(store: Store) -> None:
    held_by(store, beat=time.time() - 3600)
    with pytest.raises(RunError, match="ticlm run demo"), lease(store, "impatient"):
        pass


def test_a_writer_on_another_host_is_succeeded_only_when_its_heart_has_stopped(store: Store) -> None:
    held_by(store, host="elsewhere", pid=ended_process(), beat=time.time() - module.STALE_S + 30)
    with pytest.raises(RunError, match="elsewhere"), lease(store, "impatient"):
        pass
    held_by(store, host="elsewhere", beat=time.time() - module.STALE_S - 1)
    with lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]


def test_a_lease_that_was_prepared_too_long_gives_way_to_a_newer_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the late one prepares, an earlier writer came and went and a third holds the root."""
    create = Store.create
    third = ExitStack()

    def late(self: Store, path: str, data: bytes) -> bool:
        monkeypatch.setattr(Store, "create", create)
        with lease(store, "earlier"):
            pass
        third.enter_context(lease(store, "third"))
        return create(self, path, data)

    monkeypatch.setattr(Store, "create", late)
    with third:
        with pytest.raises(RunError, match="another writer started at the same moment"), lease(store, "late"):
            pass
        assert [held["purpose"] for held in leases(store)] == ["third"]


def test_a_heart_beats_while_a_writer_works(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.05)
    with lease(store, "worker"):
        first, deadline = leases(store)[0]["beat"], time.time() + 30
        while leases(store)[0]["beat"] == first and time.time() < deadline:
            time.sleep(0.02)
        assert leases(store)[0]["beat"] > first
