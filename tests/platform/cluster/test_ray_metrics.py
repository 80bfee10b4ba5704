"""Metrics: what Prometheus finds at a node of Ray while a chain trains, and that publishing can break no training."""

from __future__ import annotations

import json
import re
import time
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import ray
from ray import cloudpickle

from ticlm.core.errors import TiclmWarning
from ticlm.core.integrity.records import read_record
from ticlm.core.paths import round_folder
from ticlm.core.store import Store
from ticlm.platform.cluster.board import Posted
from ticlm.platform.cluster.group import guard_callback, run_name
from ticlm.platform.cluster.ray_metrics import METRICS, Exported, WorkerSeries
from ticlm.platform.cluster.slot_jobs import TrainChain
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study
from ticlm.platform.study.work import ChainWork, work_of

MakeStudy = Callable[..., Study]
FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}
BATCH = 4 * 16  # tokens of the toy study's steps
Found = dict[str, dict[str, float]]


def study_of(toy_study: MakeStudy, name: str, **resources: Any) -> Study:
    """A chain of two rounds under a name of its own: Ray keeps counters for as long as it lives."""
    return toy_study(
        name=name,
        methods=[{"base": "replay-half", "schedule": FAST}],
        periods={"initial": "202301", "last": "202302"},
        resources={"trainer": "ray", "device": "cpu", "chains": 1} | resources,
    )


def chain_work(toy_study: MakeStudy, root: Path, name: str) -> ChainWork:
    made = plan.make(study_of(toy_study, name), str(root))
    return work_of(made, made.chains[0])


def scraped(study: str) -> Found:
    """Return a study's series as they are now: name -> tags (as text) -> value, summed over all publishers."""
    import ray

    found: Found = defaultdict(lambda: defaultdict(float))
    for node in ray.nodes():
        at = f"http://{node['NodeManagerAddress']}:{node['MetricsExportPort']}/metrics"
        for line in urllib.request.urlopen(at, timeout=10).read().decode().splitlines():
            if match := re.fullmatch(r"(\w+)\{(.*)\} (\S+)", line):
                name, tags = match[1], dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', match[2]))
                if tags.get("study") == study and "ticlm" in name:
                    kept = {key: value for key, value in tags.items() if key in ("chain", "period")}
                    found[name][json.dumps(kept)] += float(match[3])
    return found


def agent_is_up() -> None:
    """Wait for Ray's exporter: a process that ends before it is there publishes nothing."""
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        try:
            scraped("")
            return
        except OSError:
            time.sleep(0.2)


def scraped_until(study: str, whole: Callable[[Found], bool]) -> Found:
    """Return the series once they are whole, or after five minutes: a busy machine exports them late."""
    deadline = time.monotonic() + 300
    while not whole(found := scraped(study)) and time.monotonic() < deadline:
        time.sleep(0.5)
    return found


def event(step: int, period: str = "202301", **changes: Any) -> Mapping[str, Any]:
    rates = {"loss": 2.5, "rate": 1e-3, "gradient_norm": 0.5, "tokens_per_s": 10.0}
    return {"step": step, "tokens": step * BATCH, "period": period, **rates, **changes}


@pytest.mark.ray
@pytest.mark.slow
def test_prometheus_finds_a_chain_as_it_was_trained(ray_local: None, toy_root: Path, toy_study: MakeStudy) -> None:
    made = plan.make(study_of(toy_study, "exported", workers=2), str(toy_root))
    work = work_of(made, made.chains[0])
    agent_is_up()
    driver.train(made)
    trained = {f"ray_{name}" for name in METRICS} - {"ray_ticlm_restarts_total"}
    chain, steps_done = json.dumps({"chain": "replay-half: 202301 - 202302"}), sum(r.steps for r in work.rounds)
    found = scraped_until("exported", lambda found: found["ray_ticlm_workers"].get(chain) == 0)
    assert found.keys() == trained, "every name, and no other"

    store, last = Store(toy_root), work.ids[-1]
    record = read_record(store, round_folder(last))
    assert record is not None
    steps = json.loads(store.read(f"{round_folder(last)}/{record.attempt}/metrics.json"))
    for name, column in (("loss", "loss"), ("learning_rate", "rate"), ("gradient_norm", "gradient_norm")):
        assert found[f"ray_ticlm_{name}"] == {chain: pytest.approx(steps[column][-1])}, name
    assert found["ray_ticlm_step"] == {chain: steps_done}
    assert found["ray_ticlm_tokens_total"] == {chain: sum(r.tokens for r in work.rounds)}
    assert found["ray_ticlm_workers"] == {chain: 0}, "nobody trains it any more"
    assert found["ray_ticlm_tokens_per_second"][chain] > 0
    periods = {json.loads(tags)["period"]: value for tags, value in found["ray_ticlm_period"].items()}
    assert periods == {"202301": 0, "202302": 0}


@pytest.mark.ray
@pytest.mark.slow
def test_a_start_after_a_failure_is_counted_and_counts_only_its_own_tokens(
    ray_local: None, toy_root: Path, toy_study: MakeStudy, run_until: Callable[[ChainWork, int], None]
) -> None:
    made = plan.make(study_of(toy_study, "again", cadence={"steps": 2}), str(toy_root))
    work = work_of(made, made.chains[0])
    first = Exported(work, 2)
    for step in (1, 3, 5):
        first.log(event(step))
    run_until(work, 2)  # its newest checkpoint is now that after step 4

    board = _Board(Posted(1, cloudpickle.dumps(TrainChain(work)), (0, "")))
    guard: Any = guard_callback(board)
    guard.after_exception(None, {0: OSError("gone")})
    assert [moment["moment"] for moment in board.events] == ["failed"]

    again = Exported(work, 1)
    again.log(event(5))
    again.log(event(7, "202302"))
    again.log(event(7, "202302"))
    found = scraped_until("again", lambda found: {"ray_ticlm_restarts_total", "ray_ticlm_loss"} <= found.keys())
    chain = json.dumps({"chain": "replay-half: 202301 - 202302"})
    assert found["ray_ticlm_restarts_total"] == {chain: 1}
    assert found["ray_ticlm_tokens_total"] == {chain: (5 + 3) * BATCH}, "step 5 was trained twice"
    assert found["ray_ticlm_workers"] == {chain: 1}


class _Board:
    """A board with what the handle of its actor offers: `put.remote`, and `job.remote` for a job."""

    def __init__(self, posted: Posted) -> None:
        self.events: list[dict[str, Any]] = []
        self.put = SimpleNamespace(remote=self.events.append)
        self.job = SimpleNamespace(remote=lambda after: ray.put(posted))


def test_names_are_those_that_ray_exports_unchanged() -> None:
    for name, metric in METRICS.items():
        assert re.fullmatch(r"ticlm_[a-z_]+", name)
        assert name.endswith("_total") == (metric.kind == "counter"), "Prometheus would see another name"
        assert {"study", "chain"} <= set(metric.tags)


def test_tags_are_ascii_whatever_a_chain_is_called(toy_root: Path, toy_study: MakeStudy) -> None:
    tags = WorkerSeries(chain_work(toy_study, toy_root, "toy")).tags
    assert tags == {"study": "toy", "chain": "replay-half: 202301 - 202302"}


def test_what_goes_wrong_in_publishing_is_told_once_and_stops_nothing(
    toy_root: Path, toy_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ray.util.metrics import Gauge

    def refuse(*args: Any, **more: Any) -> None:
        raise RuntimeError("no agent\nto be found")

    monkeypatch.setattr(Gauge, "set", refuse)
    exported = Exported(chain_work(toy_study, toy_root, "toy"), 1)
    with pytest.warns(TiclmWarning) as warned:
        for step in range(1, 4):
            exported.log(event(step))
    assert [str(warning.message) for warning in warned] == [
        "metrics are not published: RuntimeError: no agent to be found"
    ]


def test_a_run_has_a_name_to_read_that_no_other_has() -> None:
    name, other = (run_name("toy+X 2 workers") for _ in range(2))
    assert re.fullmatch(r"toy-x-2-workers-[0-9a-f]{8}", name)
    assert name != other
    assert len(run_name("a" * 200)) < 80
