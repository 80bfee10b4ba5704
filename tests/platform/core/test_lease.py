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

from ticlm.platform.core import lease as module
from ticlm.platform.core.errors import RunError, TiclmWarning
from ticlm.platform.core.lease import lease
from ticlm.platform.core.store import Store

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


def test_a_process_of_another_container_or_start_of_a_host_of_the_same_name_is_watched(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its id says nothing here: no such process does not mean that it is dead."""
    monkeypatch.setattr(module, "STALE_S", 1.0)
    held_by(store, place="another boot", pid=2**22 + 1)
    with pytest.warns(TiclmWarning, match="watching for up to"), lease(store, "run"):
        pass


def test_the_heart_beats_on_when_the_root_was_out_of_reach(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.05)
    real, failed = Store.write, list[str]()

    def write(self: Store, path: str, data: bytes) -> None:
        if path.startswith("leases/") and len(failed) < 3:
            failed.append(path)
            raise RuntimeError("the endpoint cannot be reached")  # as botocore's and aiohttp's, it is no OSError
        real(self, path, data)

    with lease(store, "run"):
        (name,) = store.files("leases")
        before = store.read_json(f"leases/{name}")["beat"]
        monkeypatch.setattr(Store, "write", write)
        deadline = time.monotonic() + 20
        while store.read_json(f"leases/{name}")["beat"] == before:
            assert time.monotonic() < deadline, "the heart stopped"
            time.sleep(0.05)
        assert len(failed) == 3


def test_a_writer_on_another_host_whose_heart_stopped_long_ago_is_succeeded_at_once(
    store: Store, recwarn: pytest.WarningsRecorder
) -> None:
    held_by(store, host="elsewhere", beat=time.time() - module.STALE_S - 1)
    with lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]
    assert not [w for w in recwarn if issubclass(w.category, TiclmWarning)], "nothing was waited for"


def test_a_writer_on_another_host_that_was_killed_a_moment_ago_is_succeeded_once_its_heart_has_stopped(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(module, "STALE_S", 1.0)
    held_by(store, host="elsewhere")
    with pytest.warns(TiclmWarning, match=r"held a moment ago by ticlm run demo .* on elsewhere"), lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]


def test_a_writer_on_another_host_is_not_succeeded_while_its_heart_beats(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    held_by(store, host="elsewhere")
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(0.2):
            held_by(store, host="elsewhere", beat=time.time())

    heart = threading.Thread(target=beat)
    heart.start()
    try:
        with (
            pytest.warns(TiclmWarning, match="watching for up to"),
            pytest.raises(RunError, match=r"in use by another writer: ticlm run demo .* on elsewhere"),
            lease(store, "impatient"),
        ):
            pass
    finally:
        stop.set()
        heart.join()
    assert [held["purpose"] for held in leases(store)] == ["ticlm run demo"]


def test_clocks_that_differ_do_not_keep_a_dead_writer_alive(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(module, "STALE_S", 1.0)
    held_by(store, host="elsewhere", beat=time.time() + 3600)
    with pytest.warns(TiclmWarning), lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]


def test_a_writer_on_another_host_that_gives_the_root_back_while_it_is_watched_is_succeeded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    beat = time.time()
    held_by(store, host="elsewhere", beat=beat)
    end = threading.Timer(0.3, lambda: held_by(store, host="elsewhere", beat=beat, released=True))
    end.start()
    with pytest.warns(TiclmWarning), lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]
    end.join()


def test_a_process_id_that_another_process_was_given_holds_nothing(store: Store) -> None:
    parent = module._born(os.getppid())
    assert parent is not None
    held_by(store, born=parent)
    with pytest.raises(RunError, match="ticlm run demo"), lease(store, "impatient"):
        pass
    held_by(store, born=parent - 0.01)
    with lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]
    store.remove("leases")
    held_by(store, pid=os.getpid(), born=parent - 1)  # as where a container is started again
    with lease(store, "heir of its own id"):
        assert [held["purpose"] for held in leases(store)] == ["heir of its own id"]


def test_what_is_left_of_a_process_until_its_parent_looks_holds_nothing(store: Store) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    try:
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays in the table
        held_by(store, pid=process.pid)
        with lease(store, "heir"):
            assert [held["purpose"] for held in leases(store)] == ["heir"]
    finally:
        process.wait()


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
