"""Writers of one root that stand still, are killed and have wrong clocks, at moments that hypothesis draws."""

from __future__ import annotations

import tempfile
from types import SimpleNamespace

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from writers import ROUNDS, Process, World

from ticlm.core import lease
from ticlm.core.errors import TakenOver
from ticlm.core.store import Store
from ticlm.core.writers import presence

MOST = 5


def run(writer: Process, steps: int) -> None:
    """Let the main thread of a writer go on for so many accesses to the store."""
    for _ in range(steps):
        writer.main.step()


class Writers(RuleBasedStateMachine):
    """At most one writer changes a root at a time, and it is never hurt by one that it has succeeded."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.world = World(self.folder.name)
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(lease, "time", self.world.time)
        self.patch.setattr("ticlm.core.lease.warnings", SimpleNamespace(warn=lambda *_, **__: None))
        self.patch.setattr("os.fsync", lambda _: None)
        self.patch.setattr(presence, "look", lambda token: "unknown")  # each is on a machine of its own

    @precondition(lambda self: len(self.world.writers) < MOST)
    @rule(skew=st.sampled_from([0.0, -90.0, 3600.0]))
    def starts(self, skew: float) -> None:
        self.world.start(skew)

    @precondition(lambda self: self.world.writers)
    @rule(data=st.data(), steps=st.integers(1, 40), heart=st.booleans())
    def runs(self, data: st.DataObject, steps: int, heart: bool) -> None:
        actors = data.draw(st.sampled_from(self.world.writers)).actors
        for _ in range(steps):
            actors[-1 if heart else 0].step()

    @precondition(lambda self: self.world.writers)
    @rule(data=st.data(), seconds=st.sampled_from([0, 9, 70]))
    def stands_still(self, data: st.DataObject, seconds: int) -> None:
        writer = data.draw(st.sampled_from(self.world.writers))
        writer.frozen = writer.was_frozen = True
        self.world.wait(seconds)

    @precondition(lambda self: self.world.writers)
    @rule(data=st.data())
    def goes_on(self, data: st.DataObject) -> None:
        data.draw(st.sampled_from(self.world.writers)).frozen = False

    @precondition(lambda self: len(self.world.writers) < MOST)
    @rule(steps=st.integers(0, 60), before=st.integers(0, 40), after=st.integers(0, 40))
    def is_succeeded(self, steps: int, before: int, after: int) -> None:
        """The holder works, stands still, another takes the root over and works, and the first one goes on."""
        first = self.world.holder
        if first is None or not first.working:
            first = self._comes()
        run(first, steps)
        first.frozen = first.was_frozen = True
        run(self._comes(), before)
        first.frozen = False
        run(first, after)

    def _comes(self) -> Process:
        """A writer that starts and waits, for long enough if nobody else does anything."""
        writer = self.world.start(0.0)
        for _ in range(80):
            if not writer.working:
                run(writer, 10)
                self.world.wait(1)
        return writer

    @precondition(lambda self: self.world.writers)
    @rule(data=st.data())
    def is_killed(self, data: st.DataObject) -> None:
        self.world.kill(data.draw(st.sampled_from(self.world.writers)))

    @rule(seconds=st.sampled_from([1, 25, 70]))
    def time_passes(self, seconds: int) -> None:
        self.world.wait(seconds)

    @invariant()
    def holds(self) -> None:
        self.world.check()

    def teardown(self) -> None:
        world = self.world
        try:
            for writer in world.writers:
                writer.frozen = False
            for _ in range(400):
                world.wait(1)
                moved = [actor.step() for writer in world.writers for actor in writer.actors for _ in range(20)]
                if not any(moved) and all(writer.main.ended for writer in world.writers):
                    break
            world.check()
            for writer in world.writers:
                lost = [actor.error for actor in writer.actors if isinstance(actor.error, TakenOver)]
                assert writer.main.ended, "a writer hangs"
                assert writer is not world.holder or not lost
            heir = world.start(0.0)  # whatever happened: one who comes now finishes the work
            for _ in range(400):
                world.wait(1)
                while heir.main.step():
                    pass
                if heir.main.ended:
                    break
            assert heir.main.error is None, heir.main.error
            assert all(Store(world.root).exists(f"rounds/r{number}/record.json") for number in range(ROUNDS))
        finally:
            for writer in world.writers:
                world.kill(writer)
            self.patch.undo()
            self.folder.cleanup()


Writers.TestCase.settings = settings(stateful_step_count=10)
TestWriters = pytest.mark.slow(Writers.TestCase)
