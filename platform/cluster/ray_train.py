"""Ray Train: starts the workers of a chain, restarts them when they die, and knows nothing of checkpoints.

Ray's own checkpoint manager resumes from its snapshot and breaks when a checkpoint is gone; here every start of the
workers finds the newest valid checkpoint in the root by itself (chain.py), so a restart needs nothing from Ray.
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

from ticlm.platform.cluster.nodes import Notice, Watch
from ticlm.platform.cluster.ray_metrics import Exported, Series
from ticlm.platform.cluster.restarts import Board, Guard, cause, progress
from ticlm.platform.core.errors import InputError, RunError, Stopped, TiclmError, TiclmWarning
from ticlm.platform.core.store import Store
from ticlm.platform.study.work import ChainWork

# Ray's defaults poll every 2 s: most of a short fit would be spent waiting for its end.
os.environ.setdefault("RAY_TRAIN_HEALTH_CHECK_INTERVAL_S", "0.2")
# Its own watcher lets a draining node train on to its deadline, and loses what came after the last checkpoint; see
# Notice in nodes.py.
os.environ.setdefault("RAY_TRAIN_ENABLE_PREEMPTION_WATCHER", "0")
# How long a group waits for its placement group, before its size is chosen anew: right after a node is lost it is still
# counted. What comes after (processes, imports) has no part in it. Ray's default is 60 s.
os.environ.setdefault("RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S", "3")
RESTARTS = 3
COMING_S = 600.0
"""How long a cluster may take until it has room for a chain's least workers."""


def fit(work: ChainWork, share: tuple[int, int], report: Callable[[Mapping[str, Any]], None], stop: Event) -> None:
    """Train a chain on `share` (min, max) workers until all its rounds have records.

    Workers that die, or whose nodes go, are started again, as many of them as there is room for, from the newest valid
    checkpoint. A user's error ends the chain as it is; after RESTARTS restarts in a row without a new step the chain
    fails with the last cause. `report` gets progress events, and moments (with a key of that name): the workers
    `started`, made a first `step`, `failed`, or are `waiting` for nodes. Once `stop` is set the workers are let go,
    with all they had reserved, and Stopped is raised.
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
                    told: TiclmError | None = ray.get(board.ended_with.remote())
                    if told is not None:
                        raise told from error
                    # The group could not even be started, for a reason that Ray does not try again by itself.
                    idle, reached = (idle + 1 if progress(work) == reached else 0), progress(work)
                    if idle > RESTARTS:
                        raise RunError(f"chain {work.label}: {cause({0: error})}") from error
    finally:
        ray.kill(board)


def _fit(work: ChainWork, share: tuple[int, int], device: str, board: Any) -> None:
    from ray.train import FailureConfig, RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    storage = f"{Store(work.root).uri('ray')}"
    name = _run_name(work)
    _show_runs()
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
            failure_config=FailureConfig(max_failures=-1),  # the guard decides
            callbacks=[_guard(Guard(work, RESTARTS, progress(work)), board), *_controller(board)],
            worker_runtime_env={"env_vars": _environment(work)},
        ),
    )
    try:
        trainer.fit()
    finally:
        if Store(work.root).is_local:
            shutil.rmtree(Path(storage) / name, ignore_errors=True)


def _train_fn(config: dict[str, Any]) -> list[str]:
    """What every Ray Train worker runs."""
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
    notice, asked = Notice(), 0
    show_others = warnings.showwarning

    def show(message: Any, category: type[Warning], *rest: Any) -> None:
        if issubclass(category, TiclmWarning):
            _tell(board, "warning", str(message))
        else:
            show_others(message, category, *rest)

    warnings.showwarning = show  # type: ignore[assignment]

    def urgent() -> bool:
        nonlocal asked
        asked += 1
        if asked == 2:  # asked before each step
            _tell(board, "step")
        return notice.given()

    def report(event: Mapping[str, Any]) -> None:
        if board is not None:
            board.put.remote(dict(event))
            for tracker in trackers:
                tracker.log(event)
        if event["finished"]:
            ray.train.report({name: event[name] for name in ("step", "loss", "tokens_per_s")})

    try:
        return run_chain(work, workers, report, urgent)
    finally:
        for tracker in trackers:
            tracker.close()


def _guard(guard: Guard, board: Any) -> Any:
    """The guard as Ray Train calls it, in the controller's process; an exception there ends the fit."""
    from ray.train import UserCallback

    series = Series(guard.work)

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


def _controller(board: Any) -> list[Any]:
    """What the controller of a fit does beside Ray's own. The hook is not a public one.

    It makes itself known, so that it can be told to stop: when only its caller is killed, as Tune does, its workers
    keep what they have reserved, unless Ray has a dashboard to ask. And it breathes where there is no room for any
    worker: Ray 2.60's then asks again without a pause and takes a whole core of the driver's node.
    """
    try:
        from ray.train.v2._internal.execution.callback import ControllerCallback
    except ImportError:
        return []

    class Controller(ControllerCallback):  # type: ignore[misc]
        def after_controller_start(self, train_run_context: Any) -> None:
            import ray

            _tell(board, "controller", actor=ray.get_runtime_context().current_actor)

        def after_controller_state_update(self, previous_state: Any, current_state: Any) -> None:
            waiting = ("InitializingState", "RestartingState", "ReschedulingState")
            if type(previous_state) is type(current_state) and type(current_state).__name__ in waiting:
                time.sleep(0.2)

    return [Controller()]


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
    """InputError where there will be no room for so many workers: at once on a Ray of our own, on a cluster that may
    still grow after COMING_S."""
    import ray

    kind, deadline = _kind(device), time.monotonic() + (COMING_S if os.environ.get("RAY_ADDRESS") else 0)
    told = False
    while (have := ray.cluster_resources().get(kind, 0)) < workers:
        lacks = f"resources.workers: {workers} workers need a {kind} each; this Ray has {have:g} {kind}s"
        if stop.is_set() or time.monotonic() >= deadline:
            raise InputError(lacks)
        if not told:
            warnings.warn(f"{lacks}; waiting for nodes, {COMING_S:.0f} s at most", TiclmWarning, stacklevel=2)
        told = True
        time.sleep(1)


def _run_name(work: ChainWork) -> str:
    """What Ray's dashboard shows, and a folder's name on any storage: the study and the chain, and no other run's."""
    words = re.sub(r"[^a-z0-9.]+", "-", work.label.lower()).strip("-.")
    return f"{words[:64]}-{uuid.uuid4().hex[:8]}"


def _show_runs() -> None:
    """Has Ray Train keep its runs for the dashboard where there is one. They live in an actor of 290 MB."""
    import ray

    if ray.init(ignore_reinit_error=True, configure_logging=False).dashboard_url:
        os.environ.setdefault("RAY_TRAIN_ENABLE_STATE_TRACKING", "1")


def _environment(work: ChainWork) -> dict[str, str]:
    """Idle threads must sleep: with the default spinning, two workers on two busy cores are seven times slower."""
    threads = str(work.resources.threads)
    quiet = {"TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error"}
    return {"OMP_NUM_THREADS": threads, "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", **quiet}
