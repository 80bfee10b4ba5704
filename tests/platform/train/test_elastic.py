"""Chains on nodes that go and come, on Rays of their own on this machine: the model stays that of quiet days."""

from __future__ import annotations

import os
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from clusters import LOOPBACK, cluster_of

from ticlm.core import progress
from ticlm.core.integrity.records import read_record
from ticlm.core.paths import round_folder
from ticlm.core.periods import Calendar
from ticlm.core.store import Store
from ticlm.platform.eval import cells as evaluation
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.resources import Cadence
from ticlm.platform.study.settings import Study
from ticlm.platform.study.work import work_of
from ticlm.platform.tasks.cells.files import read_cells

Forks = Callable[..., list[tuple[int, Any]]]
MakeStudy = Callable[..., Study]
STEPS, ROWS = 100, 32
HANGS_S = 1000
"""Ends a chain that hangs. On two quiet cores the longest takes 170 s; beside other tests it has taken over 300."""
pytestmark = [pytest.mark.ray, pytest.mark.slow, pytest.mark.nightly, pytest.mark.timeout(HANGS_S + 200)]
TWO = Calendar(initial="202301", step="month", last="202302")
RATE = {"kind": "cosine", "max_rate": 3e-4, "warmup_steps": 5}
"""Low: at 2e-3 the roundings of micro-batches alone, on one worker, grow to 1e-3 nats over these 400 steps."""


@dataclass
class Story:
    """What happened to a chain, in order: its moments, its progress, and what was done to its nodes."""

    events: list[dict[str, Any]] = field(default_factory=list)
    error: Exception | None = None

    def keep(self, event: Mapping[str, Any]) -> None:
        self.events.append({"time": time.time(), **event})

    @property
    def step(self) -> int:
        """Steps done, of all rounds, as far as reported."""
        return max((e["step"] for e in self.events if "step" in e), default=0)

    @property
    def worlds(self) -> list[int]:
        """The number of workers at each start."""
        return [e["workers"] for e in self.events if e.get("moment") == "started"]

    def lines(self) -> str:
        """For a person: moments and faults with their seconds, and the step that was reported last."""
        told, step = [], 0
        for event in self.events:
            step = event.get("step", step)
            if "moment" in event or "fault" in event:
                about = {k: v for k, v in event.items() if k != "time"}
                told.append(f"{event['time'] - self.events[0]['time']:6.1f} s, step {step}: {about}")
        return "\n".join(told)


@contextmanager
def training(study: Study, root: str) -> Iterator[Story]:
    """The study's only chain trains while the block runs, and to its end after it."""
    from ticlm.platform.cluster.slots import Slots

    made, story = plan.make(study, root), Story()
    (chain,) = made.chains

    def train() -> None:
        try:
            with Slots(study.resources, root, study.name, threading.Event()) as slots:
                slots.fit(work_of(made, chain), made.share(chain), story.keep)
        except Exception as error:
            story.error = error

    thread = threading.Thread(target=train)
    thread.start()
    yield story
    thread.join(HANGS_S / 3)  # before the process is ended, so that the story is told
    assert not thread.is_alive(), story.lines()
    if story.error is not None:
        raise story.error


def wait_until(what: Callable[[], bool], story: Story, timeout_s: float = HANGS_S / 3) -> None:
    deadline = time.monotonic() + timeout_s
    while not what():
        assert story.error is None and time.monotonic() < deadline, story.lines()
        time.sleep(0.05)


def trains_on(story: Story, worlds: list[int]) -> bool:
    """Whether the last of these starts has led to a step that was reported."""
    return story.worlds == worlds and "step" in story.events[-1]


def kill_a_worker() -> None:
    import psutil

    processes = psutil.Process().children(recursive=True)
    pids = [p.pid for p in processes if "RayTrainWorker" in " ".join(p.cmdline())]
    os.kill(random.choice(pids), signal.SIGKILL)


def chaos(study: Study, root: str, seed: int) -> list[dict[str, Any]]:
    """A worker killed, a node lost, a node added, each at a random step."""
    draw = random.Random(seed)
    with cluster_of(2) as (cluster, nodes), training(study, root) as story:

        def strike(fault: str, first: int, last: int, do: Callable[[], Any], worlds: list[int]) -> None:
            step = draw.randint(first, last)
            wait_until(lambda: story.step >= step, story)
            story.keep({"fault": fault, "at": story.step})
            do()
            wait_until(lambda: trains_on(story, worlds), story)

        strike("worker killed", 15, 80, kill_a_worker, [2, 2])
        lost = draw.choice(nodes)
        strike("node lost", 110, 150, lambda: cluster.remove_node(lost, allow_graceful=False), [2, 2, 1])
        add = partial(cluster.add_node, num_cpus=1, node_ip_address=LOOPBACK)
        strike("node added", 170, 210, add, [2, 2, 1, 2])
    return story.events


def drain(study: Study, root: str) -> list[dict[str, Any]]:
    """A node is to go in a minute, and its workers know."""
    import ray

    with cluster_of(2) as (cluster, nodes), training(study, root) as story:
        wait_until(lambda: story.step >= 30, story)
        story.keep({"fault": "drained", "at": story.step})
        preemption, deadline_ms = 2, int((time.time() + 60) * 1000)
        client = ray._raylet.GcsClient(address=cluster.address)
        accepted, why = client.drain_node(nodes[0].node_id, preemption, "a test", deadline_ms)
        assert accepted, why
    return story.events


def two_chains(study: Study, root: str) -> list[str]:
    """The chains in the order in which they made progress, while a study trained on a single node."""
    said: list[str] = []

    class Show(progress.Silent):
        def update(self, name: str, done: int, note: str = "") -> None:
            if done and said[-1:] != [name]:
                said.append(name)

    with cluster_of(1):
        driver.train(plan.make(study, root), Show())
    return said


@dataclass(frozen=True)
class Place:
    forks: Forks
    folder: Path
    study: Study

    def run(self, job: Callable[..., Any], root: str, *args: Any, **changes: Any) -> Any:
        """What a job returns, run in a process of its own on the study with other resources."""
        resources = self.study.resources.model_copy(update=changes)
        study, log = self.study.model_copy(update={"resources": resources}), self.folder / f"{root}.log"
        ((code, value),) = self.forks(partial(job, study, str(self.folder / root), *args), log=log, timeout_s=HANGS_S)
        assert code == 0, log.read_text()[-3000:]
        return value


def score(study: Study, root: str) -> None:
    for unit in evaluation.units(plan.make(study, root)):
        evaluation.score(unit)


def cells(study: Study, root: str) -> dict[tuple[str, str], float]:
    made, store = plan.make(study, root), Store(root)
    found = {}
    for key, spec in made.tree.rounds.items():
        for cell in read_cells(store, weights_of(made.records[key])):
            found[spec.period, cell.evaluated] = cell.value
    return found


@pytest.fixture
def placed(
    forks: Forks, tmp_path: Path, toy_corpus: Callable[..., Any], toy_study: MakeStudy
) -> Callable[[int, int], Place]:
    """`placed(initial, continual)`: four rounds of a replay chain, of this many steps, slow by their micro-batches."""
    toy_corpus(tmp_path / "toy@1", rows=400)
    return lambda initial, continual: Place(forks, tmp_path, slow_study(toy_study, tmp_path, initial, continual))


def slow_study(toy_study: MakeStudy, folder: Path, initial: int, continual: int) -> Study:
    return toy_study(
        corpus=f"{folder}/toy@1",
        model="tiny",
        batch_rows=ROWS,
        initial={"budget": {"steps": initial}, "schedule": RATE},
        continual_tokens={"per_period": continual * ROWS * 16},
        methods=[{"base": "replay-half", "schedule": RATE}],
        resources={
            "workers": (1, 2), "resize_seconds": 1, "device": "cpu", "chains": 1, "micro_batch_rows": 4,
            "cadence": {"steps": 10},
        },
    )  # fmt: skip


def test_a_lost_worker_a_lost_node_and_a_new_one_change_no_cell(
    placed: Callable[[int, int], Place], train_world: Callable[..., None]
) -> None:
    place = placed(STEPS, STEPS)
    story = Story(place.run(chaos, "chaos", 3))
    print(story.lines())
    faults = [e for e in story.events if "fault" in e]
    assert [f["fault"] for f in faults] == ["worker killed", "node lost", "node added"]
    assert story.worlds == [2, 2, 1, 2], story.lines()
    total = 4 * STEPS
    assert all(0 < f["at"] < total for f in faults), story.lines()
    assert story.step == total

    made = plan.make(place.study, str(place.folder / "quiet"))
    (chain,) = made.chains
    work = work_of(made, chain)
    train_world(work, 1)
    for root in ("chaos", "quiet"):
        place.run(score, root)
    disturbed, quiet = (cells(place.study, str(place.folder / root)) for root in ("chaos", "quiet"))
    assert len(quiet) == 16 and disturbed.keys() == quiet.keys()
    assert disturbed == quiet, story.lines()


def test_a_drained_node_is_left_with_a_checkpoint_and_no_step_is_trained_twice(
    placed: Callable[[int, int], Place],
) -> None:
    place = placed(STEPS, 10)
    two = replace(place, study=place.study.model_copy(update={"periods": TWO}))
    story = Story(two.run(drain, "drain", cadence=Cadence(steps=10_000)))
    print(story.lines())
    (fault,) = [e for e in story.events if "fault" in e]
    assert story.worlds == [2, 1], story.lines()
    failed = next(e for e in story.events if e.get("moment") == "failed")
    assert "drained" in failed["note"], story.lines()
    made, store = plan.make(two.study, str(place.folder / "drain")), Store(place.folder / "drain")
    record = read_record(store, round_folder(next(iter(made.ids.values()))))
    assert record is not None
    resumed_at = STEPS - record.about["measured"]["tokens"] // (ROWS * 16)
    assert resumed_at >= fault["at"] > 0, f"no checkpoint was made for the notice\n{story.lines()}"
    before = [e["step"] for e in story.events[: story.events.index(failed)] if "step" in e]
    assert max(before) <= resumed_at, f"steps after the checkpoint were trained twice\n{story.lines()}"


def test_a_chain_for_which_there_is_no_room_waits(placed: Callable[[int, int], Place], toy_study: MakeStudy) -> None:
    """Two chains of one to two workers each, on one node: one after the other, and waiting is no failure."""
    place = placed(20, 20)
    methods = toy_study(methods=[{"base": base, "schedule": RATE} for base in ("replay-half", "cyclic-cosine")]).methods
    both = replace(place, study=place.study.model_copy(update={"periods": TWO, "methods": methods}))
    said: list[str] = both.run(two_chains, "two", workers=(1, 4), chains=2, micro_batch_rows=None)
    assert said[0] == "replay-half, cyclic-cosine: 202301", said
    assert sorted(said[1:]) == ["cyclic-cosine: 202302", "replay-half: 202302"], said
