"""Leases: they keep a second writer out of a root."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ticlm.platform.core import paths
from ticlm.platform.core.errors import RunError, TiclmWarning
from ticlm.platform.core.store import Store

HEARTBEAT_S = 10.0
STALE_S = 60.0


@contextmanager
def lease(store: Store, purpose: str) -> Iterator[None]:
    """Hold the root for writing, for the time of the block.

    Raises RunError, with the holder's name, if another writer holds it, and InputError if nothing can be written.

    Leases are numbered and created only if absent, so that taking over a dead one is a race with one winner. A holder
    on this host is dead when its process is gone. A holder elsewhere is watched: it is alive once a heartbeat comes,
    and dead when it has written none for a minute. So the answer takes at most one heartbeat, or that minute.
    """
    mine, state = _take(store, purpose)
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(HEARTBEAT_S):
            try:
                store.write(mine, json.dumps(state | {"beat": time.time()}).encode())
            except Exception:  # a full disk, a bucket out of reach: the heart must go on; the work itself will say so
                continue

    thread = threading.Thread(target=beat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
        try:
            store.write(mine, json.dumps(state | {"released": True}).encode())
        except Exception:  # a full disk, a bucket out of reach
            with suppress(Exception):
                store.remove(mine)


def _take(store: Store, purpose: str) -> tuple[str, dict[str, Any]]:
    """Create the next lease; return its path and what it says. Raises RunError if another writer holds the root."""
    store.check_writable()
    simultaneous = RunError(f"root {store.root}: another writer started at the same moment; run again when it is done")
    number = 0
    for name in sorted(store.files(paths.LEASES), reverse=True)[:1]:
        try:
            held = store.read_json(f"{paths.LEASES}/{name}")
            if _alive(held) and _beats(store, name, held):
                raise RunError(
                    f"root {store.root} is in use by another writer: {held['purpose']} (process {held['pid']} on "
                    f"{held['host']}, since {held['since']}); wait for it, or use another root"
                )
        except FileNotFoundError:  # its successor has just removed it
            raise simultaneous from None
        number = int(name.removesuffix(".json")) + 1
    mine = paths.lease(number)
    state = {
        "purpose": purpose,
        "pid": os.getpid(),
        "born": _born(os.getpid()),
        "host": socket.gethostname(),
        "place": _place(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        "beat": time.time(),
        "released": False,
    }
    if not store.create(mine, json.dumps(state).encode()):
        raise simultaneous
    others = [name for name in store.files(paths.LEASES) if f"{paths.LEASES}/{name}" != mine]
    # a whole lease came and went while this one was prepared
    if any(f"{paths.LEASES}/{name}" > mine for name in others):
        store.remove(mine)
        raise simultaneous
    for name in others:
        store.remove(f"{paths.LEASES}/{name}")
    return mine, state


def _alive(held: Mapping[str, Any]) -> bool:
    """Return whether the holder may be alive, as far as one look can tell."""
    if held["released"]:
        return False
    if not _is_here(held):
        return _age(held) < STALE_S
    if not _exists(held["pid"]):
        return False
    born, before = _born(held["pid"]), held.get("born")
    if born is not None and before is not None:
        return bool(born == before)
    return bool(held["pid"] != os.getpid() or _age(held) < STALE_S)


def _beats(store: Store, name: str, held: Mapping[str, Any]) -> bool:
    """Return whether a holder that may be alive is: at once if its process can be seen, else after its next heartbeat,
    or after STALE_S without one."""
    if _is_here(held):
        return True
    left = min(STALE_S - _age(held), STALE_S)
    warnings.warn(
        f"root {store.root} was held a moment ago by {held['purpose']} (process {held['pid']} on {held['host']}); "
        f"watching for up to {left:.0f} s whether it lives",
        TiclmWarning,
        stacklevel=2,
    )
    deadline = time.monotonic() + left
    while time.monotonic() < deadline:
        time.sleep(min(HEARTBEAT_S / 10, max(0.0, deadline - time.monotonic())))
        now = store.read_json(f"{paths.LEASES}/{name}")
        if now["released"]:
            return False
        if now["beat"] != held["beat"]:
            return True
    return False


def _is_here(held: Mapping[str, Any]) -> bool:
    """Return whether the holder's process id means anything here: hosts and containers may share a name."""
    if "place" in held:
        return bool(held["place"] == _place())
    return bool(held["host"] == socket.gethostname())


def _place() -> str:
    """Return what makes a process id unique: this boot of this machine, and the namespace of processes in it."""
    boot = Path("/proc/sys/kernel/random/boot_id")
    if not boot.exists():
        return socket.gethostname()
    return f"{boot.read_text().strip()} {os.readlink('/proc/self/ns/pid')}"


def _age(held: Mapping[str, Any]) -> float:
    return time.time() - float(held["beat"])


def _exists(pid: int) -> bool:
    """Return whether this host has such a process, other than a zombie that its parent has not collected yet."""
    import psutil

    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return bool(psutil.pid_exists(pid))


def _born(pid: int) -> float | None:
    """Return when a process of this host was started, in seconds since the host's boot; None if it cannot be seen.

    With it, an id that was later given to another process is not taken for the first. No change of the clock moves it.
    """
    import psutil

    try:
        return round(float(psutil.Process(pid).create_time() - psutil.boot_time()), 2)
    except psutil.Error:
        return None
