"""Leases on a disk and on S3: one writer holds a root, and a dead one is succeeded."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import psutil
import pytest
from signals import started

from ticlm.core import lease as module
from ticlm.core import paths
from ticlm.core.errors import RunError, TakenOver, TiclmWarning
from ticlm.core.integrity.records import Attempt
from ticlm.core.lease import lease
from ticlm.core.store import Store
from ticlm.core.writers import presence

WRITERS = 8


def leases(store: Store) -> list[dict[str, Any]]:
    return [store.read_json(f"leases/{name}") for name in store.files("leases")]


def held_by(store: Store, number: int = 7, **changes: Any) -> None:
    """A lease as a writer left it of which nothing is known on this machine."""
    state = {
        "purpose": "ticlm run demo",
        "pid": os.getpid(),
        "host": "elsewhere",
        "since": "2026-01-01 00:00:00",
        "beat": time.time(),
        "released": False,
        "token": uuid.uuid4().hex,
    }
    store.write(paths.lease(number), json.dumps(state | changes).encode())


def left_behind(store: Store) -> None:
    """A lease as a process of this machine left it that was killed."""
    code = """
import os, signal, sys
from ticlm.core.lease import lease
from ticlm.core.store import Store
with lease(Store(sys.argv[1]), "ticlm run demo"):
    os.kill(os.getpid(), signal.SIGKILL)
"""
    assert subprocess.run([sys.executable, "-c", code, store.root]).returncode == -signal.SIGKILL


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
        left_behind(store)
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


def test_a_writer_whose_process_is_gone_is_succeeded_at_once(store: Store, recwarn: pytest.WarningsRecorder) -> None:
    left_behind(store)
    with lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]
    assert not [w for w in recwarn if issubclass(w.category, TiclmWarning)], "nothing was waited for"


def test_a_living_process_of_this_machine_keeps_its_lease_however_slow_its_heart(store: Store) -> None:
    token = uuid.uuid4().hex
    held_by(store, beat=time.time() - 3600, token=token)
    with presence.marked(token), pytest.raises(RunError, match="ticlm run demo"), lease(store, "impatient"):
        pass
    with lease(store, "heir"):
        pass


def test_a_sister_of_a_cloned_machine_is_watched_though_all_its_names_are_those_of_this_one(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clones share their boot id, namespaces and host name; a process id that is not there proves nothing."""
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    here: dict[str, Any] = {"host": socket.gethostname(), "pid": 2**22 + 1, "born": 1.0, "place": place()}
    held_by(store, **here)
    with beating(store, **here), pytest.raises(RunError, match="in use by another writer"), lease(store, "impatient"):
        pass


def place() -> str:
    """What earlier versions took for proof that a process id means something here."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    return f"{boot.read_text().strip()} {os.readlink('/proc/self/ns/pid')}" if boot.exists() else socket.gethostname()


@contextmanager
def beating(store: Store, **changes: Any) -> Iterator[None]:
    """Another writer's heart."""
    stop = threading.Event()
    shift = changes.pop("beat", time.time()) - time.time()

    def beat() -> None:
        while not stop.wait(0.1):
            held_by(store, **changes, beat=time.time() + shift)

    heart = threading.Thread(target=beat)
    heart.start()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TiclmWarning)
            yield
    finally:
        stop.set()
        heart.join()


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


def test_a_writer_elsewhere_whose_heart_stopped_long_ago_by_the_clocks_is_watched_for_two_beats(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.6)
    held_by(store, beat=time.time() - 3600)
    with pytest.warns(TiclmWarning, match="watching for up to 1 s whether its writer lives"), lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]


def test_a_writer_elsewhere_whose_clock_is_behind_is_not_succeeded_while_its_heart_beats(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 2.0)
    held_by(store, beat=time.time() - 90)
    with (
        beating(store, beat=time.time() - 90),
        pytest.raises(RunError, match="in use by another writer: ticlm run demo"),
        lease(store, "second"),
    ):
        pass


def test_a_writer_elsewhere_that_was_killed_a_moment_ago_is_succeeded_once_its_heart_has_stopped(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(module, "STALE_S", 1.0)
    held_by(store)
    with pytest.warns(TiclmWarning, match=r"held last by ticlm run demo .* on elsewhere"), lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]


def test_a_writer_elsewhere_is_not_succeeded_while_its_heart_beats(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    held_by(store)
    with (
        beating(store),
        pytest.raises(RunError, match=r"in use by another writer: ticlm run demo .* on elsewhere"),
        lease(store, "impatient"),
    ):
        pass
    assert [held["purpose"] for held in leases(store)] == ["ticlm run demo"]


def test_clocks_that_differ_do_not_keep_a_dead_writer_alive(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    monkeypatch.setattr(module, "STALE_S", 1.0)
    held_by(store, beat=time.time() + 3600)
    with pytest.warns(TiclmWarning), lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]


def test_a_writer_elsewhere_that_gives_the_root_back_while_it_is_watched_is_succeeded(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    held_by(store)
    end = threading.Timer(0.3, lambda: held_by(store, released=True))
    end.start()
    with pytest.warns(TiclmWarning), lease(store, "heir"):
        assert [held["purpose"] for held in leases(store)] == ["heir"]
    end.join()


@pytest.mark.parametrize("content", ["", '{"purpose": "ticlm r', "[]", "null", '{"purpose": 3}', "\x00"])
def test_a_damaged_lease_is_named_watched_and_then_succeeded(
    store: Store, monkeypatch: pytest.MonkeyPatch, content: str
) -> None:
    monkeypatch.setattr(module, "STALE_S", 0.3)
    store.write("leases/00000007.json", content.encode())
    with pytest.warns(TiclmWarning, match=r"leases/00000007.json is damaged; watching for up to"), lease(store, "heir"):
        assert store.files("leases") == ["00000008.json"]


def test_a_damaged_lease_that_is_mended_while_it_is_watched_is_held(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    store.write("leases/00000007.json", b"")
    with beating(store), pytest.raises(RunError, match="ticlm run demo"), lease(store, "impatient"):
        pass


def test_other_files_among_the_leases_are_passed_over(store: Store) -> None:
    for name in ("notes.txt", ".nfs0001", "99999999.json.bak", "latest.json", "9.json"):
        store.write(f"leases/{name}", b"")
    with lease(store, "run"):
        assert "00000000.json" in store.files("leases")


def test_a_lease_of_an_earlier_version_is_read(store: Store) -> None:
    held_by(store, born=1.0, place="another boot", released=True)
    state = store.read_json("leases/00000007.json")
    del state["token"]
    store.write("leases/00000007.json", json.dumps(state).encode())
    with lease(store, "run"):
        assert store.files("leases") == ["00000008.json"]


def test_a_lease_whose_answer_was_lost_is_held(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a server was asked twice, it says that the file is there: this writer's own."""
    if store.is_local:
        real = os.link

        def lost(source: str, target: str) -> None:
            real(source, target)
            raise FileExistsError

        monkeypatch.setattr(os, "link", lost)
    else:
        put = store.fs._fs.pipe_file

        def twice(path: str, data: bytes, mode: str = "overwrite", **more: Any) -> None:
            if mode == "create":
                put(path, data, mode=mode, **more)
            put(path, data, mode=mode, **more)

        monkeypatch.setattr(store.fs._fs, "pipe_file", twice)
    with lease(store, "run"):
        assert [held["purpose"] for held in leases(store)] == ["run"]
    assert not store.create("leases/00000000.json", b"of another writer")


def test_a_lease_whose_first_put_met_another_request_is_tried_again(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S3 answers 409 to a conditional put that met another one: neither counts yet."""
    if store.is_local:
        return
    refused, put = list[str](), store.fs._fs.pipe_file

    class Conflict(Exception):
        """As botocore's, which s3fs makes the cause of an OSError."""

        response: ClassVar[dict[str, Any]] = {"ResponseMetadata": {"HTTPStatusCode": 409}}

    def met(path: str, data: bytes, mode: str = "overwrite", **more: Any) -> None:
        if mode == "create" and not refused:
            refused.append(path)
            raise OSError(5, "ConditionalRequestConflict") from Conflict()
        put(path, data, mode=mode, **more)

    monkeypatch.setattr(store.fs._fs, "pipe_file", met)
    with lease(store, "run"):
        assert len(refused) == 1 and [held["purpose"] for held in leases(store)] == ["run"]


def succeeded(store: Store, number: int = 8) -> None:
    """Another writer takes the root over, as if this process had stood still for a while."""

    def take_over() -> None:
        held_by(store, purpose="ticlm run heir", number=number)
        for name in store.files("leases"):
            if name != f"{number:08d}.json":
                store.remove(f"leases/{name}")

    other = threading.Thread(target=take_over)  # the main thread may be interrupted as soon as there is a new lease
    other.start()
    try:
        other.join(60)
    finally:
        other.join(60)


def test_a_lease_that_was_lost_ends_its_block_with_one_line_and_leaves_the_successor_alone(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    with pytest.raises(TakenOver) as caught, lease(store, "run"):
        succeeded(Store(store.root))
        threading.Event().wait(60)
        raise AssertionError("it goes on")
    assert caught.value.exit_code == 1 and "\n" not in str(caught.value)
    assert "was taken over by ticlm run heir" in str(caught.value) and "run the same command again" in str(caught.value)
    assert [held["purpose"] for held in leases(store)] == ["ticlm run heir"] and not leases(store)[0]["released"]


def test_a_store_whose_lease_was_lost_changes_nothing(store: Store) -> None:
    with pytest.raises(TakenOver), lease(store, "run"):
        elsewhere: Store = pickle.loads(pickle.dumps(store))
        store.write("mine", b"1")
        succeeded(Store(store.root))
        for one in (store, elsewhere):
            for act in (
                lambda one=one: one.write("mine", b"2"),
                lambda one=one: one.create("theirs", b"2"),
                lambda one=one: one.remove("mine"),
                lambda one=one: Attempt(one, "rounds/x").publish({}, []),
            ):
                with pytest.raises(TakenOver, match="while this process stood still"):
                    act()
        store.write("mine", b"2")
    assert store.read("mine") == b"1" and store.walk("rounds") == [] and not store.exists("theirs")
    store.write("mine", b"3")  # without a lease, as `ticlm report` does


def test_what_a_successor_breaks_under_the_hands_of_the_loser_is_no_traceback(store: Store) -> None:
    with pytest.raises(TakenOver, match="taken over by ticlm run heir"), lease(store, "run"):
        succeeded(Store(store.root))
        raise FileNotFoundError("a file of an attempt that the successor has removed")


def test_a_lease_of_the_same_number_is_lost_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody has removed all leases by hand, and another writer has begun anew."""
    monkeypatch.setattr(module, "HEARTBEAT_S", 0.1)
    with pytest.raises(TakenOver, match="heir"), lease(store, "run"):
        succeeded(Store(store.root), number=0)
        threading.Event().wait(60)
        raise AssertionError("it goes on")
    assert [held["purpose"] for held in leases(store)] == ["ticlm run heir"]


def test_a_mark_is_unlocked_when_its_process_ends_though_a_child_of_it_lives() -> None:
    token = uuid.uuid4().hex
    code = """
import os, sys, time
from ticlm.core.writers import presence
with presence.marked(sys.argv[1]):
    if os.fork() == 0:
        print("the child is there", flush=True)
        os.close(1)
        time.sleep(600)
    sys.stdin.read()
    os._exit(0)
"""
    with started([sys.executable, "-c", code, token], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        children = psutil.Process(process.pid).children()
        assert presence.look(token) == "lives"
        process.stdin.close()
        process.wait(30)
        try:
            assert len(children) == 1 and children[0].is_running()
            assert presence.look(token) == "ended"
        finally:
            children[0].kill()
    presence.forget(token)
    assert presence.look(token) == "unknown"


@pytest.mark.parametrize("token", ["", "../../etc/passwd", "never made"])
def test_a_token_without_a_mark_says_nothing(token: str) -> None:
    assert presence.look(token) == "unknown"


def test_a_lease_that_could_not_be_given_back_is_free_to_others_of_this_machine(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Store, path: str, data: bytes) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, lease(store, "run"):
        patch.setattr(Store, "write", full)
    with lease(store, "next"):
        pass


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
