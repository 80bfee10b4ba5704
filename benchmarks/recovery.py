"""Benchmark of recovery: how long a chain stands still after a killed worker, a lost node or an added node, with our
settings and with Ray's defaults.

    python -m benchmarks.recovery [--times 3] [--quick]

Each side trains a tiny model without end on `workers: [1, 2]`, on a Ray of its own: a head without CPUs and two nodes
of one CPU. All sides run the same code. `defaults` undoes the settings that our code makes before Ray Train is loaded,
and does not inform Ray's coordinator when nodes come and go. `quick health` is our side on a Ray whose head was started
with HEALTH_CHECKS. The sides take turns, each on a fresh Ray.

detect  from the fault until Ray Train's controller notices it
wait    until the new workers begin to run our code: resources are found, processes start, torch loads, they connect
start   until their first step is done: transformers loads, the checkpoint is read
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from statistics import median
from typing import Any

from benchmarks.sides import Side

RAYS_DEFAULTS = {
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "2.0",
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "60",
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "1",
    "RAY_TRAIN_METRICS_ENABLED": "1",
}
HEALTH_CHECKS = {"RAY_health_check_period_ms": "1000", "RAY_health_check_failure_threshold": "3"}
SIDES = {"ours": {}, "defaults": RAYS_DEFAULTS, "quick health": HEALTH_CHECKS}
FAULTS = ("worker killed", "node lost", "node added")
PARTS = ("detect", "wait", "start", "total")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="once, ours only")
    parser.add_argument("--side", choices=sorted(SIDES), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.side:
        _serve(options.side)
        return
    names = ["ours"] if options.quick else list(SIDES)
    seconds: dict[tuple[str, str], list[Mapping[str, float]]] = {(f, n): [] for f in FAULTS for n in names}
    for number in range(1 if options.quick else options.times):
        for name in names:
            with Side(name, [sys.executable, "-m", "benchmarks.recovery", "--side", name]) as side:
                for fault in FAULTS:
                    found = side.ask(fault=fault)
                    seconds[fault, name].append(found)
                    print(f"{number} {name:13} {fault:14}", *(f"{p} {found[p]:5.1f}" for p in PARTS), flush=True)
    print(f"\nmedian seconds  {'':14}" + "".join(f"{part:>9}" for part in PARTS))
    for (fault, name), runs in seconds.items():
        print(f"{fault:16}{name:14}" + "".join(f"{median(run[part] for run in runs):9.1f}" for part in PARTS))


def _serve(side: str) -> None:
    """Answer each fault with the times of the recovery from it, on a Ray of this process."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    folder = tempfile.mkdtemp(prefix="rc", dir="/tmp")  # short: sockets live in it
    os.environ |= {"RAY_TMPDIR": folder, "PYTHONPATH": os.pathsep.join(sys.path)}
    os.environ.pop("RAY_ADDRESS", None)
    os.environ |= SIDES[side]

    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        nodes = [cluster.add_node(num_cpus=1) for _ in range(2)]
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR")
        chain = Chain(folder, side)
        chain.after(time.time(), workers=2)
        for line in sys.stdin:
            fault = json.loads(line)["fault"]
            time.sleep(5)
            began = time.time()
            if fault == "worker killed":
                os.kill(_a_worker(), signal.SIGKILL)
            elif fault == "node lost":
                cluster.remove_node(nodes.pop(), allow_graceful=False)
            else:
                nodes.append(cluster.add_node(num_cpus=1))
            out.write(json.dumps(chain.after(began, 1 if fault == "node lost" else 2)) + "\n")
            out.flush()
    finally:
        ray.shutdown()
        cluster.shutdown()
        shutil.rmtree(folder, ignore_errors=True)


class Chain:
    """A chain that trains without end in a thread, and the moments of its events."""

    def __init__(self, folder: str, side: str) -> None:
        from ticlm.platform.cluster import ray_internals
        from ticlm.platform.cluster.slots import Slots
        from ticlm.platform.study import plan
        from ticlm.platform.study.work import work_of

        if side == "defaults":
            vars(ray_internals)["recount_nodes"] = lambda: None
        made = plan.make(_study(folder), folder)
        work = work_of(made, made.chains[0])
        self.moments: list[Mapping[str, Any]] = []

        def fit() -> None:
            with Slots(made.study.resources, folder, made.study.name, threading.Event()) as slots:
                slots.fit(work, (1, 2), self._keep)

        self.thread = threading.Thread(target=fit, daemon=True)
        self.thread.start()

    def _keep(self, event: Mapping[str, Any]) -> None:
        if "moment" in event:
            print(time.time(), dict(event), file=sys.stderr, flush=True)
            self.moments.append(event)

    def after(self, began: float, workers: int) -> dict[str, float]:
        """Wait for the first step of that many workers after `began`, and return how long each part took."""
        while self.thread.is_alive():
            time.sleep(0.1)
            since = [m for m in self.moments if m["time"] >= began]
            kinds = [m["moment"] for m in since]
            if "step" in kinds and next(m for m in reversed(since) if m["moment"] == "started")["workers"] == workers:
                failed = next((m["time"] for m in since if m["moment"] == "failed"), began)
                started = [m["time"] for m in since if m["moment"] == "started"][-1]
                stepped = [m["time"] for m in since if m["moment"] == "step"][-1]
                if stepped > started:
                    parts = failed - began, started - failed, stepped - started, stepped - began
                    return dict(zip(PARTS, parts))
        raise SystemExit("the chain has ended")


def _a_worker() -> int:
    """The process of one of the workers under this process."""
    import psutil

    below = psutil.Process().children(recursive=True)
    return max(int(p.pid) for p in below if "RayTrainWorker" in " ".join(p.cmdline()[:1]))


def _study(folder: str) -> Any:
    from benchmarks import corpora

    from ticlm.platform.study.settings import Study

    corpora.publish(f"{folder}/toy@1", {"202301": corpora.tokens(4096, 17, 64, seed=0)}, 64)
    schedule = {"kind": "cosine", "max_rate": 1e-3, "warmup_steps": 2}
    return Study(
        name="recovery",
        corpus=f"{folder}/toy@1",
        periods={"initial": "202301", "step": "month", "last": "202301"},
        model={"kind": "preset", "name": "tiny", "changes": {"hidden_size": 16, "num_hidden_layers": 1}},
        batch_rows=4,
        length=16,
        initial={"budget": {"steps": 1_000_000}, "schedule": schedule},
        continual_tokens={"per_period": 64},
        methods=["cyclic-cosine"],
        resources={"workers": (1, 2), "device": "cpu", "chains": 1, "cadence": {"seconds": 2}},
    )


if __name__ == "__main__":
    main()
