"""Chains on Ray: neither a stop nor a killed worker changes a bit; a chain that cannot go on says why, as does a user's
error."""

from __future__ import annotations

import importlib
import os
import pickle
import shutil
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from reserved import SharedRay, wait_until_nothing_is_reserved

from ticlm.core.corpus import Corpus
from ticlm.core.errors import InputError, RunError, Stopped
from ticlm.core.integrity.records import read_record
from ticlm.core.paths import round_folder
from ticlm.core.progress import Silent
from ticlm.core.store import Store
from ticlm.platform.cluster import group, slot_worker
from ticlm.platform.eval import cells
from ticlm.platform.results.of_plan import study_result
from ticlm.platform.run import driver, requirements
from ticlm.platform.study import plan
from ticlm.platform.study.identity import weights_of
from ticlm.platform.study.settings import Study
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import work_of

pytestmark = [pytest.mark.ray, pytest.mark.slow]
MakeStudy = Callable[..., Study]
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}
WAIT_S = 400
"""Seconds for what takes ten on a quiet machine: on one with ten other busy processes, workers start in two minutes."""


def study_of(toy_study: MakeStudy, steps: int, **resources: Any) -> Study:
    """Two rounds of a replay chain, the first of `steps` steps."""
    return toy_study(
        methods=[{"base": "replay-half", "schedule": FAST}],
        periods={"initial": "202301", "last": "202302"},
        initial={"budget": {"steps": steps}, "schedule": FAST},
        resources={"trainer": "ray", "device": "cpu", "chains": 1, "evaluators": 1, "cadence": {"steps": 10}}
        | resources,
    )


def train_workers() -> Iterator[tuple[int, str]]:
    """(pid, command line) of the processes of Ray Train's workers that this very process has under it."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except (OSError, IndexError):
                continue
    for pid in parents:
        try:
            line = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode().strip()
        except OSError:
            continue
        above = pid
        while above in parents and above not in (0, os.getpid()):
            above = parents[above]
        if above == os.getpid() and "RayTrainWorker" in line:
            yield pid, line


def kill_one_worker(root: Path, round_id: str, killed: list[int]) -> None:
    """Wait for a mid-round checkpoint of a round that is newer than those there are, then SIGKILL one worker."""
    store, deadline, folder = Store(root), time.monotonic() + WAIT_S, round_folder(round_id)

    def newest() -> str:
        steps = (s for a in store.folders(folder) for s in store.folders(f"{folder}/{a}/steps"))
        return max(steps, default="")

    before = newest()
    while time.monotonic() < deadline:
        # a look at all processes takes more of a core than a step, so there is none before the checkpoint
        if newest() > before and len(workers := sorted(train_workers())) == 2:
            killed.append(workers[-1][0])
            os.kill(workers[-1][0], signal.SIGKILL)
            return
        time.sleep(0.05)


def stopped_after_a_checkpoint(made: plan.Plan, round_id: str) -> None:
    """Train until the first mid-round checkpoint of a round is written, then stop from another thread."""
    store = Store(made.store.root if made.store else "")
    folder, deadline = round_folder(round_id), time.monotonic() + WAIT_S
    stop, ended = threading.Event(), list[BaseException]()

    def train() -> None:
        try:
            driver.train(made, stop=stop)
        except Stopped as error:
            ended.append(error)

    training = threading.Thread(target=train)
    training.start()
    try:
        while not any(store.folders(f"{folder}/{attempt}/steps") for attempt in store.folders(folder)):
            assert time.monotonic() < deadline and training.is_alive(), "no mid-round checkpoint was written"
            time.sleep(0.05)
    finally:
        stop.set()
        training.join(WAIT_S)
    assert not training.is_alive() and len(ended) == 1
    assert read_record(store, folder) is None, "it was stopped before the round's end"


def test_a_stop_frees_what_was_reserved_and_a_killed_worker_changes_no_bit(
    ray_local: None, toy_root: Path, toy_study: MakeStudy, train_world: Callable[..., None]
) -> None:
    """Stopped, started again, and one worker killed: the weights are those of an undisturbed run. Without a dashboard
    nobody but the stop itself would free what its workers had reserved: a search that stops trials would starve."""

    study = study_of(toy_study, 120, workers=2, tensorboard=True)
    made = plan.make(study, str(toy_root))
    (chain,) = made.chains
    assert made.share(chain) == (2, 2)
    work = work_of(made, chain)
    undisturbed = replace(work, root=str(toy_root.parent / "undisturbed"))
    train_world(undisturbed, 2)  # plain gloo processes

    stopped_after_a_checkpoint(made, work.ids[0])
    wait_until_nothing_is_reserved()

    killed: list[int] = []
    killer = threading.Thread(target=kill_one_worker, args=(toy_root, work.ids[0], killed))
    killer.start()
    driver.train(made)
    killer.join()
    assert len(killed) == 1, "no worker was killed: nothing was tested"
    for round_id in work.ids:
        disturbed, expected = (
            Store(root).read(f"{published(Store(root), round_id)}/model.safetensors")
            for root in (toy_root, undisturbed.root)
        )
        assert disturbed == expected
    record = read_record(Store(toy_root), round_folder(work.ids[0]))
    assert record is not None and record.about["measured"]["tokens"] < record.about["tokens"], "it was restarted"
    assert not (toy_root / "ray").exists() or not any((toy_root / "ray").iterdir()), "Ray's own files are left"
    assert list(toy_root.rglob("events.out.tfevents*")), "of each start that took half a second or reached the end"

    driver.evaluate(made)
    assert cells.units(made) == []


@pytest.mark.nightly
def test_a_group_that_is_closed_while_its_workers_start_frees_what_they_had_reserved(
    ray_local: None, tmp_path: Path
) -> None:
    """Its controller hears of it only once they are there; killed before, it would leave its placement group behind."""
    import ray

    heard = list[Mapping[str, Any]]()
    spec = group.WorkerGroupSpec((2, 2), "cpu", str(tmp_path), "closed early", 1, 60.0)
    closed = group.WorkerGroup(spec, lambda _, event: heard.append(event), lambda *_: None, threading.Event())
    try:
        deadline = time.monotonic() + WAIT_S
        while ray.available_resources().get("CPU") is not None:  # until both are reserved
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert not heard, "its workers were there at once: nothing was tested"
    finally:
        closed.close()
        closed.stay_until_ended()
    wait_until_nothing_is_reserved(15)


def test_the_tests_see_whether_their_ray_is_reserved(ray_local: None, shared_ray: SharedRay) -> None:
    import ray
    from ray.util import placement_group, remove_placement_group

    held = placement_group([{"CPU": 1}])
    ray.get(held.ready())
    assert not shared_ray.becomes_free(0.5)
    remove_placement_group(held)
    assert shared_ray.becomes_free()


class Seen(Silent):
    """The processes of workers that were there whenever something was shown."""

    def __init__(self) -> None:
        self.pids = set[int]()

    def update(self, name: str, done: int, note: str = "") -> None:
        self.pids |= {pid for pid, _ in train_workers()}


EVERY_KIND: dict[str, Any] = {
    "methods": [
        *({"base": base, "schedule": FAST} for base in ("replay-half", "replay-adaptive", "replay-self")),
        {"base": "cyclic-cosine", "name": "average", "schedule": FAST, "deploy": {"kind": "ema", "beta": 0.5}},
    ],
    "periods": {"initial": "202301", "last": "202303"},
    "evaluations": [{}, {"name": "tuned", "prepare": {"steps": 2}}],
}
"""Chains, averages, samples, tuned copies, and shares of replay that follow from what is measured."""


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_warm_workers_do_every_kind_of_work_as_one_process_does(
    ray_local: None, toy_root: Path, toy_study: MakeStudy, tmp_path: Path, workers: int
) -> None:
    """Two workers side by side, or in one group, which ends where what is measured needs its place. No worker starts
    twice; bits and cells are those of one process that does one thing after another."""
    shutil.copytree(toy_root, tmp_path / "alone")
    found = {}
    for trainer, root in (("ray", toy_root), ("process", tmp_path / "alone")):
        resources = {
            "trainer": trainer,
            "device": "cpu",
            "workers": workers if trainer == "ray" else 1,
            "evaluators": 1,
        }
        made = plan.make(toy_study(**EVERY_KIND, resources=resources | {"micro_batch_rows": 2}), str(root))
        assert made.open_rounds and made.tree.leaves and any(spec.sample for spec in made.tree.rounds.values())
        seen = Seen()
        driver.run(made, seen)
        assert cells.units(made) == [] and not made.pending()
        if trainer == "ray" and workers == 1:
            assert 1 <= len(seen.pids) <= 2
        weights = {key: weights_of(record) for key, record in made.records.items() if made.tree.rounds[key].is_trained}
        found[trainer] = weights, study_result(made).cells.to_csv()
    assert found["ray"] == found["process"]
    wait_until_nothing_is_reserved()


def test_nothing_of_a_users_module_reaches_the_next_chain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A class that counts, and a module beside it that does: both begin anew. What is installed stays."""
    (tmp_path / "counting_beside.py").write_text("CALLS = []")
    (tmp_path / "counting_own.py").write_text(
        "import counting_beside\n"
        "class Counting:\n"
        "    calls = 0\n"
        "    def count(self):\n"
        "        Counting.calls += 1\n"
        "        counting_beside.CALLS.append(1)\n"
        "        return Counting.calls, len(counting_beside.CALLS)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    sent = pickle.dumps(importlib.import_module("counting_own").Counting())
    counts, installed = [], sys.modules["pytest"]
    loaded = sys.modules.keys() - {"counting_own", "counting_beside"}
    for _ in range(2):
        slot_worker.made_fresh(["counting_own"], loaded)
        job = pickle.loads(sent)
        counts += [job.count(), job.count()]
        drawn = torch.rand(1).item()
        assert drawn == torch.rand(1, generator=torch.Generator().manual_seed(slot_worker.TORCH_SEED)).item()
    assert counts == [(1, 1), (2, 2)] * 2
    assert sys.modules["pytest"] is installed
    assert torch.initial_seed() == slot_worker.TORCH_SEED


@pytest.mark.nightly
def test_a_users_error_in_a_worker_or_an_evaluator_comes_back_as_itself(
    ray_local: None, toy_root: Path, toy_study: MakeStudy
) -> None:
    corpus = Corpus.open(f"{toy_root}/corpora/toy@1")
    (path,) = corpus.files("202302", "train")
    (held_out,) = corpus.files("202301", "eval")
    for file in (path, held_out):
        Path(corpus.store.path(file)).unlink()
    made = plan.make(study_of(toy_study, 4, workers=2), str(toy_root))
    with pytest.raises(InputError) as caught:
        driver.train(made)
    assert f"shard {corpus.store.uri(path)}: missing" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(made.records) == 1, "the round before is finished and kept"

    with pytest.raises(InputError) as caught:
        driver.evaluate(made)
    assert f"shard {corpus.store.uri(held_out)}: missing" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.nightly
def test_a_chain_that_always_fails_ends_with_its_cause(
    ray_local: None, toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no worker can mend: the tokenizer goes after the driver's look, and cannot be published with the model."""
    monkeypatch.setattr(group, "RESTARTS", 1)
    monkeypatch.setattr(requirements, "_require_data", lambda plan: shutil.rmtree(toy_root / "corpora/toy@1/tokenizer"))
    made = plan.make(study_of(toy_study, 4, workers=1), str(toy_root))
    with pytest.raises(RunError) as caught:
        driver.train(made)
    message = str(caught.value)
    assert "no new step after 1 restarts: FileNotFoundError" in message and "replay-half" in message
    assert "corpora/toy@1/tokenizer" in message and "\n" not in message


def test_more_workers_than_there_are_is_refused_at_once(ray_local: None, toy_root: Path, toy_study: MakeStudy) -> None:
    made = plan.make(study_of(toy_study, 4, workers=3), str(toy_root))
    with pytest.raises(InputError, match=r"resources.workers: 3 workers need a CPU each; this Ray has 2"):
        driver.train(made)
