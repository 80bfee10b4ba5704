"""Which groups of workers slots start before there are jobs for them. The groups have no workers here, and no Ray."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from ticlm.core.signals import Threads
from ticlm.platform.cluster import slots
from ticlm.platform.cluster.group import Asked, WorkerGroup
from ticlm.platform.cluster.slots import Slots
from ticlm.platform.run.trainers import trainer_of
from ticlm.platform.study import plan
from ticlm.platform.study.resources import Resources
from ticlm.platform.study.settings import Study

MakeStudy = Callable[..., Study]


class Job:
    """Picklable, and nothing else."""

    name, piece, by_all = "job", "piece", False

    def reached(self) -> tuple[int, str]:
        return 0, ""

    def run(self, seat: Any) -> None:
        raise AssertionError("nobody runs it")


BEGAN: list[Group] = []


class Group(WorkerGroup):
    """A group whose workers come, and end a job, when a test says so."""

    def __init__(self, spec: Any, heard: Any, ended: Any, stop: Any) -> None:
        self.spec, self.asked, self.is_ready, self.is_closing = spec, None, False, False
        self.moment, self.end = partial(heard, self), partial(ended, self, None)
        BEGAN.append(self)

    def do(self, asked: Asked) -> None:
        self.asked = asked

    def close(self) -> None:
        self.is_closing = True

    def stay_until_ended(self) -> None:
        assert self.is_closing
        self.end()

    def come(self) -> None:
        self.is_ready = True
        self.moment({"moment": "ready", "note": ""})


@pytest.mark.parametrize(("ahead", "room", "wanted"), [(0, 4, 1), (1, 4, 1), (3, 4, 3), (3, 2, 2)])
def test_the_next_group_starts_when_the_one_before_has_come(
    monkeypatch: pytest.MonkeyPatch, ahead: int, room: int, wanted: int
) -> None:
    """One job, as of the chain on which all others wait: there are groups for the others when it ends."""
    BEGAN.clear()
    monkeypatch.setattr(slots, "WorkerGroup", Group)
    monkeypatch.setattr(Slots, "room", room)
    with Threads(1) as pool, Slots(Resources(device="cpu"), "root", "study", threading.Event(), ahead) as opened:
        done = pool.submit(opened._do, Job(), None, lambda event: None)
        deadline = time.monotonic() + 30
        while not BEGAN and time.monotonic() < deadline:
            time.sleep(0.001)
        for number in range(wanted):
            assert len(BEGAN) == number + 1, "one after another"
            BEGAN[number].come()
        assert len(BEGAN) == wanted
        assert [group.asked is not None for group in BEGAN] == [True] + [False] * (wanted - 1)
        BEGAN[0].moment({"moment": "finished", "note": ""})
        done.result(10)


def test_as_many_start_ahead_as_chains_can_train_side_by_side(
    monkeypatch: pytest.MonkeyPatch, toy_root: Any, toy_study: MakeStudy
) -> None:
    monkeypatch.setattr(slots, "device_of", lambda wanted: wanted)

    def ahead(**resources: Any) -> int:
        study = toy_study(resources={"trainer": "ray", "device": "cpu", **resources})
        with trainer_of(plan.make(study, str(toy_root)), threading.Event()) as trainer:
            assert isinstance(trainer, Slots)
            return trainer._ahead

    assert ahead(workers=1, chains=1) == 1
    assert ahead(workers=1, chains=2) == 2
    assert ahead(workers=1, chains=100) == len(plan.make(toy_study(), str(toy_root)).pending())
    assert ahead(workers=2, chains=2) == 0, "chains of several workers have groups of several sizes"
