"""A world of writers that share one root, whose every step a test chooses: each runs the real code of leases, of
attempts and of what is removed, in threads that stand still before each access to the store until they are let go on.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from ticlm.core import lease, paths
from ticlm.core.errors import RunError
from ticlm.core.integrity.records import Attempt
from ticlm.core.store import Store
from ticlm.platform.study import stored_rounds
from ticlm.platform.train.checkpoint import Writer as Checkpoints
from ticlm.platform.train.publish import tidy

ROUNDS = 3
_CURRENT = threading.local()


class Killed(BaseException):
    """Ends a thread without any tidying up, as SIGKILL would."""


class Actor:
    """One thread of a writer. `step` lets it run until its next access to the store, or to the end of its sleep."""

    def __init__(self, writer: Process, work: Callable[[], None]) -> None:
        self.writer, self.work = writer, work
        self.wake, self.ended, self.dies = 0.0, False, False
        self.looked: int | None = None
        self.error: Exception | None = None
        self._go, self._still = threading.Semaphore(0), threading.Semaphore(0)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def step(self) -> bool:
        """Let it go on, and return whether it could: not if it has ended, sleeps or is stopped."""
        if self.ended or self.writer.frozen or self.wake > self.writer.world.now:
            return False
        self._go.release()
        assert self._still.acquire(timeout=60), "a thread hangs"
        return True

    def turn(self) -> None:
        """Stand still until `step`."""
        self._still.release()
        self._go.acquire()
        if self.dies:
            raise Killed

    def _run(self) -> None:
        _CURRENT.actor = self
        self._go.acquire()
        with suppress(Killed):
            try:
                if not self.dies:
                    self.work()
            except Exception as error:
                self.error = error
        self.ended = True
        self._still.release()


class Stepped(Store):
    """A store that stands still before each access, and tells the world what was changed."""

    world: World

    def files(self, path: str = "") -> list[str]:
        turn()
        return super().files(path)

    def folders(self, path: str = "") -> list[str]:
        turn()
        return super().folders(path)

    def read(self, path: str) -> bytes:
        turn()
        return super().read(path)

    def _check_lease(self) -> None:
        epoch = self.world.epoch
        super()._check_lease()
        if self.lease is not None and (actor := current()) is not None:
            actor.looked = epoch  # at the earliest
        turn()

    def write(self, path: str, data: bytes) -> None:
        super().write(path, data)
        self.world.changed("write", path)

    def create(self, path: str, data: bytes) -> bool:
        created = super().create(path, data)
        if created:
            self.world.changed("create", path)
        return created

    def remove(self, path: str) -> None:
        super().remove(path)
        self.world.changed("remove", path)


def current() -> Actor | None:
    """The actor whose thread this is."""
    return getattr(_CURRENT, "actor", None)


def turn() -> None:
    if (actor := current()) is not None:
        actor.turn()


class Process:
    """A writer: a thread that works, and one whose heart beats, as in `lease.lease`."""

    def __init__(self, world: World, name: str, skew: float) -> None:
        self.world, self.name, self.skew = world, name, skew
        self.frozen = self.was_frozen = self.working = False
        self.held: lease.Lease | None = None
        self.store = Stepped(world.root)
        self.store.world = world
        self.main = Actor(self, self._live)
        self.actors = [self.main]

    def _live(self) -> None:
        self.held = lease.claim(self.store, self.name, f"token{self.name}")
        self.store.lease, self.working = self.held.number, True
        self.actors.append(Actor(self, self._beat))
        try:
            for number in range(ROUNDS):
                self._round(f"rounds/r{number}")
        except Exception as error:
            raise next(iter(self.held.successor()), error) from error
        finally:
            self.working = False
        self.held.release()

    def _beat(self) -> None:
        assert self.held is not None
        while self.working:
            sleep(lease.HEARTBEAT_S)
            if self.working:
                self.held.beat()

    def _round(self, folder: str) -> None:
        if self.store.exists(paths.record(folder)):
            return
        attempt, checkpoints = Attempt(self.store, folder, self.name), object.__new__(Checkpoints)
        checkpoints.store = self.store
        begun = stored_rounds.mid_round_checkpoints(self.store, folder)
        first = begun[0][0] if begun else 0
        for step in range(first + 1, first + 4):
            place = paths.mid_round_checkpoint(attempt.path, step)
            self.store.write(f"{place}/files/0", b"state")
            Attempt(self.store, place, "files").publish({"step": step})
            checkpoints._prune(attempt, place, step)
        self.store.write(f"{attempt.path}/model/0", b"weights")
        attempt.publish({}, ["model/0"])
        tidy(self.store, folder)


class World:
    """Writers, a root, and a clock that stands until the test moves it. Every change of the root is judged."""

    def __init__(self, root: str) -> None:
        self.root, self.now, self.epoch = root, 0.0, 0
        self.writers: list[Process] = []
        self.holder: Process | None = None
        self.owners: dict[str, Process] = {}
        self.time = SimpleNamespace(time=self._time, monotonic=lambda: self.now, sleep=sleep, strftime=lambda _: "then")

    def _time(self) -> float:
        actor = current()
        return 1e9 + self.now + (actor.writer.skew if actor is not None else 0.0)

    def start(self, skew: float) -> Process:
        """Start another writer, whose clock is ahead by `skew` seconds."""
        self.writers.append(Process(self, f"w{len(self.writers)}", skew))
        return self.writers[-1]

    def wait(self, seconds: int) -> None:
        """Move the clock on; hearts beat, and those who watch look, as their time comes."""
        for _ in range(seconds):
            self.now += 1.0
            for writer in self.writers:
                for actor in writer.actors[1:] if writer.working else writer.actors:
                    while actor.step():
                        pass

    def changed(self, what: str, path: str) -> None:
        """Judge a change of the root."""
        actor = current()
        if actor is None:
            return
        writer, by = actor.writer, actor.writer.name
        if path.startswith(f"{paths.LEASES}/"):
            if what == "create":
                self._succeeds(writer)
            return
        assert actor.looked is not None, f"{by} changed {path} without a look at its lease"
        late = writer is not self.holder
        assert not late or actor.looked < self.epoch, f"{by} changed {path} though it could see its successor's lease"
        actor.looked = None
        if what == "remove":
            for file in [file for file in self.owners if file == path or file.startswith(f"{path}/")]:
                owner = self.owners.pop(file)
                assert not late or owner is not self.holder, f"{by} removed {file} of the holder of the root"
        else:
            assert what == "create" or path not in self.owners or self.owners[path] is writer
            self.owners[path] = writer

    def _succeeds(self, writer: Process) -> None:
        before, self.holder, self.epoch = self.holder, writer, self.epoch + 1
        alive = before is not None and before.working and not before.main.dies
        assert not alive or (before is not None and before.was_frozen), f"{writer.name} took over from a living writer"

    def check(self) -> None:
        """Check what holds at all times."""
        for writer in self.writers:
            errors = [actor.error for actor in writer.actors if actor.error is not None]
            assert all(isinstance(error, RunError) and "\n" not in str(error) for error in errors), errors
            assert writer is not self.holder or not errors, "the holder of the root was hurt"
        store = Store(self.root)
        for number in range(ROUNDS):
            folder = f"rounds/r{number}"
            if store.exists(paths.record(folder)):
                name = store.read_json(paths.record(folder))["attempt"]
                assert store.exists(f"{folder}/{name}/model/0"), "a record names what is not there"

    def kill(self, writer: Process) -> None:
        """End a process, which gives nothing back."""
        writer.frozen = False
        for actor in writer.actors:
            actor.dies, actor.wake = True, 0.0
            while actor.step():
                pass


def sleep(seconds: float) -> None:
    """Sleep by the clock of the world."""
    actor: Any = current()
    actor.wake = actor.writer.world.now + seconds
    actor.turn()
