"""Leases: they keep a second writer out of a root, and fence off one that was succeeded while it stood still."""

from __future__ import annotations

import os
import socket
import threading
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Literal

from ticlm.core import paths, signals
from ticlm.core.errors import RunError, TakenOver, TiclmWarning
from ticlm.core.remote.patient import patience
from ticlm.core.store import Store
from ticlm.core.writers import lease_files, presence
from ticlm.core.writers.lease_files import Holder

HEARTBEAT_S = 10.0
STALE_S = 60.0  # six beats: a heart is patient with a storage for one beat (`Lease.beat`), and may miss several


@contextmanager
def lease(store: Store, purpose: str) -> Iterator[None]:
    """Hold the root for writing, for the time of the block.

    Raises RunError, with the holder's name, if another writer holds it, and InputError if nothing can be written.

    A holder on this machine is alive as long as its process (`presence`). Any other holder is watched, whatever the
    clocks say: it is alive once a heartbeat comes, and dead when none came until STALE_S after its last one, by the
    two clocks, but at least during two heartbeats here. A lease that cannot be read is watched for STALE_S.

    A holder that stood still for so long (a suspended machine, storage out of reach) is succeeded though it lives.
    Leases are numbered, and `store` carries the number of its lease, also to other processes: it refuses to write,
    create or remove anything once there is a higher number. The heart looks too; when it finds a higher number, it ends
    the block (`signals.halting`). Either way TakenOver is raised, and nothing of the successor's has been changed: what
    passes between a look and the write that follows it is a file of the old holder's own, or one that is created only
    if absent; and what is removed was listed before the look, so it is older than the successor's lease.
    """
    store.check_writable()
    token = uuid.uuid4().hex
    with presence.marked(token):  # before the lease names the token: who reads it must find the mark
        try:
            held = claim(store, purpose, token)
        except BaseException:
            presence.forget(token)
            raise
        stop, lost = threading.Event(), list[TakenOver]()
        store.lease = held.number
        try:
            with signals.halting() as halt:
                heart = threading.Thread(target=_beat, args=(held, stop, lost, halt), daemon=True)
                heart.start()
                yield
        except TakenOver:
            raise
        except BaseException as error:  # the successor may have removed files under the hands of this process
            with suppress(Exception):
                lost += held.successor()
            if lost:
                raise lost[0] from error
            raise
        finally:
            stop.set()
            try:
                signals.join(heart)
            finally:  # also on a second Ctrl-C
                store.lease = None
                held.release()


@dataclass
class Lease:
    """A lease that this process took. All that it writes is its own file, and only while it is the last lease."""

    store: Store
    number: int
    holder: Holder

    def beat(self) -> None:
        """Say in the lease's file that its holder lives. Raises TakenOver if somebody else holds the root now."""
        with patience(HEARTBEAT_S):
            self._write(self.holder.model_copy(update={"beat": time.time()}))

    def release(self) -> None:
        """Give the root back, unless somebody else holds it now. Where this cannot be written, the lease stays, and
        the mark of this process, which nobody locks any more, tells the next writer on this machine that it ended."""
        try:
            with patience(HEARTBEAT_S):
                self._write(self.holder.model_copy(update={"released": True}))
        except TakenOver:
            pass
        except Exception:  # a full disk, a bucket out of reach
            return
        presence.forget(self.holder.token)

    def successor(self) -> list[TakenOver]:
        """Return the error that names the writer that holds the root now; none if it is this one."""
        try:
            with patience(HEARTBEAT_S):
                self._check()
        except TakenOver as error:
            return [error]
        return []

    def _check(self) -> None:
        lease_files.check(self.store, self.number)
        with suppress(FileNotFoundError):  # somebody has removed all leases; it is written again
            now = lease_files.parse(self.store.read(paths.lease(self.number)))
            if now is not None and now.token != self.holder.token:
                raise lease_files.taken_over(self.store, self.number)

    def _write(self, holder: Holder) -> None:
        self._check()
        self.store.write(paths.lease(self.number), holder.model_dump_json().encode())


@dataclass(frozen=True)
class RootWriter:
    """Who holds a root, or held it last. `state`: `lives`; `silent`, as its heart did not beat for STALE_S; `ended`
    without giving the root back; or `released`."""

    holder: Holder
    state: Literal["lives", "silent", "ended", "released"]
    silent_s: float
    """Seconds since its heart beat, by the two clocks."""


def writer(store: Store) -> RootWriter | None:
    """Return who holds a root, or held it last; None if nobody ever did, or its lease cannot be read. Takes one look,
    where a writer that wants the root watches for a while."""
    holder = None
    with suppress(FileNotFoundError):  # its successor has just removed it
        number = max(lease_files.numbers(store), default=-1)
        holder = lease_files.parse(store.read(paths.lease(number))) if number >= 0 else None
    if holder is None:
        return None
    silent_s = max(0.0, time.time() - holder.beat)
    if holder.released:
        return RootWriter(holder, "released", silent_s)
    seen = presence.look(holder.token)
    if seen == "unknown":
        return RootWriter(holder, "lives" if silent_s < STALE_S else "silent", silent_s)
    return RootWriter(holder, seen, silent_s)


def claim(store: Store, purpose: str, token: str) -> Lease:
    """Create the next lease of the root. Raises RunError if somebody else holds it.

    A lease is created only if absent, so that taking over a dead one is a race with one winner.
    """
    simultaneous = RunError(f"root {store.root}: another writer started at the same moment; run again when it is done")
    number = max(lease_files.numbers(store), default=-1)
    ended: Holder | None = None
    if number >= 0:
        try:
            ended = _await_free(store, number)
        except FileNotFoundError:  # its successor has just removed it
            raise simultaneous from None
    mine = Lease(
        store,
        number + 1,
        Holder(
            purpose=purpose,
            pid=os.getpid(),
            host=socket.gethostname(),
            since=time.strftime("%Y-%m-%d %H:%M:%S"),
            beat=time.time(),
            released=False,
            token=token,
        ),
    )
    if not store.create(paths.lease(mine.number), mine.holder.model_dump_json().encode()):
        raise simultaneous
    others = [other for other in lease_files.numbers(store) if other != mine.number]
    # Another writer took and gave back the lease with this number since the look, and its successor is there.
    if max(others, default=0) > mine.number:
        store.remove(paths.lease(mine.number))
        raise simultaneous
    for other in others:
        store.remove(paths.lease(other))
    if ended is not None:
        presence.forget(ended.token)
    return mine


def _await_free(store: Store, number: int) -> Holder | None:
    """Return the holder of the last lease once it is known to be through; None if its file is damaged.

    Raises RunError if it holds the root.
    """
    path = paths.lease(number)
    found = store.read(path)
    holder = lease_files.parse(found)
    lives = "unknown" if holder is None else presence.look(holder.token)
    if holder is not None and (holder.released or lives == "ended"):
        return holder
    if lives == "lives":
        raise _in_use(store, holder)
    left = STALE_S
    if holder is not None:
        # The holder's clock may be wrong by hours. Two whole beats of this clock are watched, whatever the beat says.
        left = min(STALE_S, max(2 * HEARTBEAT_S, STALE_S - (time.time() - holder.beat)))
    who = f"{store.uri(path)} is damaged" if holder is None else f"root {store.root} was held last by {holder}"
    message = f"{who}; watching for up to {left:.0f} s whether its writer lives"
    warnings.warn(message, TiclmWarning, stacklevel=2)
    deadline = time.monotonic() + left
    while True:
        now = store.read(path)
        if now != found:
            holder = lease_files.parse(now) or holder
            if holder is None or not holder.released:
                raise _in_use(store, holder)
            return holder
        if time.monotonic() >= deadline:
            return holder
        time.sleep(min(HEARTBEAT_S / 10, max(0.0, deadline - time.monotonic())))


def _in_use(store: Store, holder: Holder | None) -> RunError:
    return RunError(
        f"root {store.root} is in use by another writer: {holder or 'its lease is being written'}; wait for it, or use "
        "another root"
    )


def _beat(held: Lease, stop: threading.Event, lost: list[TakenOver], halt: signals.Halt) -> None:
    while not stop.wait(HEARTBEAT_S):
        try:
            held.beat()
        except TakenOver as error:
            lost.append(error)
            halt()
            return
        except Exception:  # a full disk, a bucket out of reach: the heart must go on; the work itself will say so
            continue
