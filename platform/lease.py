"""Leases: they keep a second writer out of a root."""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from ticlm.platform.errors import RunError
from ticlm.platform.store import Store

HEARTBEAT_S = 10.0
STALE_S = 60.0


@contextmanager
def lease(store: Store, purpose: str) -> Iterator[None]:
    """Hold the root for writing. A second writer gets RunError at once, naming the holder; InputError where nothing can
    be written.

    Leases are numbered and created only if absent, so that taking over a dead one is a race with one winner; a lease
    is dead when its process is gone from this host or, on another, after a minute without a heartbeat.
    """
    store.check_writable()
    simultaneous = RunError(f"root {store.root}: another writer started at the same moment; run again when it is done")
    number = 0
    for name in sorted(store.files("leases"), reverse=True)[:1]:
        try:
            held = store.read_json(f"leases/{name}")
        except FileNotFoundError:  # its successor has just removed it
            raise simultaneous from None
        if _alive(held):
            raise RunError(
                f"root {store.root} is in use by another writer: {held['purpose']} (process {held['pid']} on "
                f"{held['host']}, since {held['since']}); wait for it, or use another root"
            )
        number = int(name.removesuffix(".json")) + 1
    mine = f"leases/{number:08d}.json"
    state = {
        "purpose": purpose,
        "pid": os.getpid(),
        "host": socket.gethostname(),
        "since": time.strftime("%Y-%m-%d %H:%M:%S"),
        "beat": time.time(),
        "released": False,
    }
    if not store.create(mine, json.dumps(state).encode()):
        raise simultaneous
    others = [name for name in store.files("leases") if f"leases/{name}" != mine]
    if any(f"leases/{name}" > mine for name in others):  # a whole lease came and went while this one was prepared
        store.remove(mine)
        raise simultaneous
    for name in others:
        store.remove(f"leases/{name}")
    stop = threading.Event()

    def beat() -> None:
        while not stop.wait(HEARTBEAT_S):
            try:
                store.write(mine, json.dumps(state | {"beat": time.time()}).encode())
            except OSError:  # a full disk must not end the run here; the work itself will say so
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
        except OSError:  # a full disk
            with suppress(OSError):
                store.remove(mine)


def _alive(held: Mapping[str, Any]) -> bool:
    if held["released"]:
        return False
    if held["host"] == socket.gethostname():
        try:
            os.kill(held["pid"], 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return bool(held["pid"] != os.getpid() or time.time() - held["beat"] < STALE_S)
    return bool(time.time() - held["beat"] < STALE_S)
