"""Training a chain with Ray Train, which starts its workers and restarts them when they die.

Ray knows nothing of our checkpoints: its own checkpoint manager resumes from its snapshot and breaks when a checkpoint
is gone. Here every start of the workers finds the newest valid checkpoint in the root by itself
(`platform.train.trainer`), so a restart needs nothing from Ray.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import uuid
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from threading import Event
from typing import Any

from ticlm.core import paths
from ticlm.core.errors import InputError, RunError, Stopped, TiclmError, TiclmWarning
from ticlm.core.remote.patient import VARIABLE
from ticlm.core.store import Store
from ticlm.platform.cluster import ray_internals
from ticlm.platform.cluster.nodes import DrainNotice, Watch
from ticlm.platform.cluster.ray_metrics import Exported, WorkerSeries
from ticlm.platform.cluster.restarts import Board, Guard, cause, progress
from ticlm.platform.study.work import ChainWork

ray_internals.set_train_variables()
RESTARTS = 3
"""How often in a row the workers of a chain start again without a new step."""
COMING_S = 600.0
"""How many seconds a cluster may take until it has room for the least number of workers of a chain."""


def fit(work: ChainWork, share: tuple[int, int], report: Callable[[Mapping[str, Any]], None], stop: Event) -> None:
    """Train a chain on `share` (min, max) workers until all its rounds have records.

    Workers that die, or whose nodes go, start again from the newest valid checkpoint, as many as there is room for.
    `report` gets progress events, and moments (events with the key `moment`): the workers have `started`, made a first
    `step`, `failed`, or are `waiting` for nodes.

    Raises a user's error as it is, RunError with the last cause after RESTARTS restarts in a row without a new step,
    and Stopped once `stop` is set and the workers have ended and freed what they had reserved.
    """
    import ray
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    device = _device(work.resources.device)
    _check_capacity(share[0], device, stop)
    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    board = ray.remote(num_cpus=0, scheduling_strategy=here)(Board).remote()
    idle, reached = 0, progress(work)
    try:
        with Watch(board, share, _kind(device), report, stop):
            while True:
                try:
                    return _fit(work, share, device, board)
                except Exception as error:  # Ray wraps what a worker raised in several layers of its own
                    if stop.is_set():
                        raise Stopped from None
                    ending: TiclmError | None = ray.get(board.ended_with.remote())
                    if ending is not None:
                        raise ending from error
                    # The group could not even start, for a reason that Ray does not try again by itself.
                    idle, reached = (idle + 1 if progress(work) == reached else 0), progress(work)
                    if idle > RESTARTS:
                        raise RunError(f"chain {work.label}: {cause({0: error})}") from error
    finally:
        ray.kill(board)


def _fit(work: ChainWork, share: tuple[int, int], device: str, board: Any) -> None:
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    storage = Store(work.root).uri(paths.RAY)
    name = _run_name(work)
    ray_internals.show_train_runs()
    trainer = TorchTrainer(
        _train_fn,
        train_loop_config={"work": work, "device": device, "board": board},
        torch_config=TorchConfig(backend="nccl" if device == "cuda" else "gloo"),
        scaling_config=ScalingConfig(
            num_workers=share[0] if share[0] == share[1] else share,
            use_gpu=device == "cuda",
            resources_per_worker={_kind(device): 1.0},
            elastic_resize_monitor_interval_s=work.resources.resize_seconds,
        ),
        run_config=RunConfig(
            name=name,
            storage_path=storage,
            # The guard decides: Ray counts all failures of a run, however far it got between them.
            failure_config=FailureConfig(max_failures=-1),
            callbacks=[
                _guard(Guard(work, RESTARTS, progress(work)), board),
                *ray_internals.controller_callbacks(lambda actor: _tell(board, "controller", actor=actor)),
            ],
            worker_runtime_env={"env_vars": _environment(work)},
        ),
    )
    try:
        trainer.fit()
    finally:
        if Store(work.root).is_local:  # in a bucket, `ticlm clean` removes it
            shutil.rmtree(Path(storage) / name, ignore_errors=True)


def _train_fn(config: dict[str, Any]) -> list[str]:
    """Train the chain in `config`; every worker of Ray Train runs this."""
    import ray.train

    context = ray.train.get_context()
    rank, world = context.get_world_rank(), context.get_world_size()
    board = config["board"] if rank == 0 else None
    _tell(board, "started", f"training on {world} worker{'s' if world > 1 else ''}", workers=world)

    from ticlm.platform.models.sharding import Workers
    from ticlm.platform.train import tracking
    from ticlm.platform.train.trainer import run_chain

    if config["device"] == "cuda":  # every worker of a node sees all its devices
        import torch
        from ray.train.torch import get_device

        torch.cuda.set_device(get_device())
    work: ChainWork = config["work"]
    workers = Workers(rank, world, config["device"])
    trackers: list[tracking.Tracker] = []
    if rank == 0:
        study, _, label = work.label.partition(" ")
        trackers = [Exported(work, world), *tracking.start(work.resources, work.root, study, label)]
    notice, steps = DrainNotice(), 0
    show_others = warnings.showwarning

    def show(message: Any, category: type[Warning], *rest: Any) -> None:
        if issubclass(category, TiclmWarning):
            _tell(board, "warning", str(message))
        else:
            show_others(message, category, *rest)

    warnings.showwarning = show  # type: ignore[assignment]

    def urgent() -> bool:
        nonlocal steps
        steps += 1
        if steps == 2:  # called before each step: the first one is done
            _tell(board, "step")
        return notice.given()

    def report(event: Mapping[str, Any]) -> None:
        if board is not None:
            board.put.remote(dict(event))
            for tracker in trackers:
                tracker.log(event)
        if event["finished"]:  # a barrier of all ranks: once a round, not at every event
            ray.train.report({name: event[name] for name in ("step", "loss", "tokens_per_s")})

    try:
        return run_chain(work, workers, report, urgent)
    finally:
        for tracker in trackers:
            tracker.close()


def _guard(guard: Guard, board: Any) -> Any:
    """Return the guard as a callback of Ray Train. It runs in the controller's process; an exception there ends the
    fit."""
    from ray.train import UserCallback

    series = WorkerSeries(guard.work)

    class Callback(UserCallback):  # type: ignore[misc]
        def after_exception(self, run_context: Any, worker_exceptions: dict[int, Exception]) -> None:
            import ray

            error = guard.verdict(worker_exceptions)
            _tell(board, "failed", "" if error else f"starting again: {cause(worker_exceptions)}")
            if error is not None:
                ray.get(board.give_up.remote(error))
                raise error
            with series.harmless():
                series.add("ticlm_restarts_total", 1)

    return Callback()


def _tell(board: Any, moment: str, note: str = "", **more: Any) -> None:
    if board is not None:
        board.put.remote({"moment": moment, "note": note, "time": time.time(), **more})


def _kind(device: str) -> str:
    return "GPU" if device == "cuda" else "CPU"


def _device(wanted: str) -> str:
    import ray

    if wanted != "auto":
        return wanted
    return "cuda" if ray.cluster_resources().get("GPU", 0) >= 1 else "cpu"


def _check_capacity(workers: int, device: str, stop: Event) -> None:
    """Raise InputError if the cluster has no room for this many workers: at once on a Ray of our own; after COMING_S on
    a cluster, which may still grow."""
    import ray

    kind, deadline = _kind(device), time.monotonic() + (COMING_S if os.environ.get("RAY_ADDRESS") else 0)
    warned = False
    while (have := ray.cluster_resources().get(kind, 0)) < workers:
        lacks = f"resources.workers: {workers} workers need a {kind} each; this Ray has {have:g} {kind}s"
        if stop.is_set() or time.monotonic() >= deadline:
            raise InputError(lacks)
        if not warned:
            warnings.warn(f"{lacks}; waiting for nodes, {COMING_S:.0f} s at most", TiclmWarning, stacklevel=2)
        warned = True
        time.sleep(1)


def _run_name(work: ChainWork) -> str:
    """Return a unique name of study and chain, for Ray's dashboard and for a folder on any storage."""
    words = re.sub(r"[^a-z0-9.]+", "-", work.label.lower()).strip("-.")
    return f"{words[:64]}-{uuid.uuid4().hex[:8]}"


def _environment(work: ChainWork) -> dict[str, str]:
    """Return the environment of a worker. Idle threads must sleep: if they spin, which is the default, two workers on
    two busy cores are seven times slower."""
    threads = str(work.resources.threads)
    quiet = {"TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error"}
    patience = {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}
    return {"OMP_NUM_THREADS": threads, "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", **quiet, **patience}
