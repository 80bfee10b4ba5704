"""Ray Train: starts the workers of a chain, restarts them when they die, and knows nothing of checkpoints.

Ray's own checkpoint manager resumes from its snapshot and breaks when a checkpoint is gone; here every start of the
workers finds the newest valid checkpoint in the root by itself (chain.py), so a restart needs nothing from Ray.
"""

from __future__ import annotations

import os
import shutil
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ticlm.platform.errors import InputError, RunError, TiclmError
from ticlm.platform.store import Store
from ticlm.platform.work import ChainWork, folder_of

# Ray's defaults poll every 2 s: most of a short fit would be spent waiting for its end.
os.environ.setdefault("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2")
os.environ.setdefault("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")
os.environ.setdefault("RAY_TRAIN_METRICS_ENABLED", "0")
RESTARTS = 3


@contextmanager
def connected(cpus: int) -> Iterator[None]:
    """A running Ray: the one already initialised, that of RAY_ADDRESS, or a local one for the time of the block."""
    import ray

    if ray.is_initialized():
        yield
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if os.environ.get("RAY_ADDRESS"):
        ray.init(log_to_driver=False, logging_level="ERROR")
    else:
        ray.init(
            address="local",
            num_cpus=max(cpus, os.cpu_count() or 1),
            include_dashboard=False,
            log_to_driver=False,
            logging_level="ERROR",
        )
    try:
        yield
    finally:
        ray.shutdown()


@dataclass(frozen=True)
class Failed:
    """A user-facing error that a worker met, brought home as a value so that Ray does not retry it."""

    error: TiclmError


def fit(work: ChainWork, share: tuple[int, int], report: Callable[[Mapping[str, Any]], None]) -> None:
    """Train a chain on `share` (min, max) workers until all its rounds have records.

    After RESTARTS restarts in a row without a new step the chain fails with the last cause.
    """
    import ray
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    device = _device(work.resources.device)
    _check_capacity(share[0], device)
    board = ray.remote(num_cpus=0)(Board).remote()
    stop = threading.Event()
    watcher = threading.Thread(target=_watch, args=(board, report, stop), daemon=True)
    watcher.start()
    storage = f"{Store(work.root).uri('ray')}"
    resources = {"GPU": 1.0} if device == "cuda" else {"CPU": 1.0}
    try:
        while True:
            before = _progress(work)
            name = f"{uuid.uuid4().hex[:12]}"
            trainer = TorchTrainer(
                _train_fn,
                train_loop_config={"work": work, "device": device, "board": board},
                torch_config=TorchConfig(backend="nccl" if device == "cuda" else "gloo"),
                scaling_config=ScalingConfig(
                    num_workers=share[0] if share[0] == share[1] else share,
                    use_gpu=device == "cuda",
                    resources_per_worker=resources,
                ),
                run_config=RunConfig(
                    name=name,
                    storage_path=storage,
                    failure_config=FailureConfig(max_failures=RESTARTS),
                    worker_runtime_env={"env_vars": _environment(work)},
                ),
            )
            try:
                outcome = trainer.fit().return_value
            except Exception as error:  # Ray wraps what a worker raised in several layers of its own
                if _progress(work) == before:
                    cause = _cause(error)
                    raise RunError(f"chain {work.label}: no new step after {RESTARTS} restarts: {cause}") from error
                continue
            finally:
                if Store(work.root).is_local:
                    shutil.rmtree(Path(storage) / name, ignore_errors=True)
            if isinstance(outcome, Failed):
                raise outcome.error
            return
    finally:
        stop.set()
        watcher.join()
        ray.kill(board)


def _train_fn(config: dict[str, Any]) -> list[str] | Failed:
    """What every Ray Train worker runs."""
    import ray.train

    from ticlm.platform import tracking
    from ticlm.platform.chain import run_chain
    from ticlm.platform.model import Workers

    if config["device"] == "cuda":  # every worker of a node sees all its devices
        import torch
        from ray.train.torch import get_device

        torch.cuda.set_device(get_device())
    context = ray.train.get_context()
    work: ChainWork = config["work"]
    workers = Workers(context.get_world_rank(), context.get_world_size(), config["device"])
    trackers: list[tracking.Tracker] = []
    if workers.rank == 0:
        study, _, label = work.label.partition(" ")
        trackers = tracking.start(work.resources, work.root, study, label)

    def report(event: Mapping[str, Any]) -> None:
        if workers.rank == 0:
            config["board"].put.remote(dict(event))
            for tracker in trackers:
                tracker.log(event)
        if event["finished"]:
            ray.train.report({name: event[name] for name in ("step", "loss", "tokens_per_s")})

    try:
        return run_chain(work, workers, report)
    except TiclmError as error:
        # All ranks meet a loss that is no number at once; anything else might leave others waiting, so it is raised.
        if workers.world == 1 or isinstance(error, RunError):
            return Failed(error)
        raise
    finally:
        for tracker in trackers:
            tracker.close()


class Board:
    """A Ray actor that holds the newest progress event of a chain, until the driver takes it."""

    def __init__(self) -> None:
        self.event: dict[str, Any] | None = None

    def put(self, event: dict[str, Any]) -> None:
        self.event = event

    def take(self) -> dict[str, Any] | None:
        event, self.event = self.event, None
        return event


def _watch(board: Any, report: Callable[[Mapping[str, Any]], None], stop: threading.Event) -> None:
    import ray

    while not stop.wait(0.3):
        event = ray.get(board.take.remote())
        if event is not None:
            report(event)


def _device(wanted: str) -> str:
    import ray

    if wanted != "auto":
        return wanted
    return "cuda" if ray.cluster_resources().get("GPU", 0) >= 1 else "cpu"


def _check_capacity(workers: int, device: str) -> None:
    import ray

    kind = "GPU" if device == "cuda" else "CPU"
    have = ray.cluster_resources().get(kind, 0)
    if have < workers:
        raise InputError(f"resources.workers: {workers} workers need a {kind} each; this Ray has {have:g} {kind}s")


def _environment(work: ChainWork) -> dict[str, str]:
    """Idle threads must sleep: with the default spinning, two workers on two busy cores are seven times slower."""
    threads = str(work.resources.threads)
    quiet = {"TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error"}
    return {"OMP_NUM_THREADS": threads, "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", **quiet}


def _progress(work: ChainWork) -> tuple[int, str]:
    """Grows whenever a round is finished or a mid-round checkpoint completed."""
    store = Store(work.root)
    done = 0
    for round_id in work.ids:
        folder = folder_of(round_id)
        if not store.exists(f"{folder}/record.json"):
            steps = [s for a in store.folders(folder) for s in store.folders(f"{folder}/{a}/steps")]
            return done, max(steps, default="")
        done += 1
    return done, ""


def _cause(error: BaseException) -> str:
    """The innermost message of a chain of errors, on one line."""
    while error.__cause__ is not None:
        error = error.__cause__
    failures = getattr(error, "worker_failures", None)
    if failures:
        error = next(iter(failures.values()))
    lines = [line for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[-1].strip() if lines else ''}"
