"""A group of workers that does one job after another: one run of Ray Train for as long as there are jobs.

Ray knows nothing of our checkpoints: its own checkpoint manager resumes from its snapshot and breaks when a checkpoint
is gone. Here every start of the workers takes the job from the board and finds by itself how far it was, so a restart
needs nothing from Ray.
"""

from __future__ import annotations

import os
import re
import shutil
import threading
import uuid
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ticlm.core import extensions, paths
from ticlm.core.errors import Stopped, TiclmError
from ticlm.core.remote.patient import VARIABLE
from ticlm.core.signals import join
from ticlm.core.store import Store
from ticlm.platform.cluster import ray_internals
from ticlm.platform.cluster.board import CLOSED, Board, Posted
from ticlm.platform.cluster.nodes import Watch
from ticlm.platform.cluster.ray_metrics import WorkerSeries
from ticlm.platform.cluster.restarts import Guard, cause, gave_up
from ticlm.platform.cluster.slot_jobs import ChainJob, SlotJob
from ticlm.platform.cluster.slot_worker import serve, tell_moment

ray_internals.set_train_variables()
RESTARTS = 3
"""How often in a row workers start again over one job without a new step."""
Report = Callable[[Mapping[str, Any]], None]


@dataclass(eq=False)
class Asked:
    """A job that was asked for: who hears of it, and its end. `share` are the workers (min, max) that it needs; None:
    rank 0 of any group does it. `pickled` is what is sent, and `reached` how far it was when it was asked for."""

    job: SlotJob
    share: tuple[int, int] | None
    report: Report
    pickled: bytes
    reached: tuple[int, str]
    done: Future[None] = field(default_factory=Future)
    failed: Exception | None = None
    """What `report` raised."""


@dataclass(frozen=True)
class WorkerGroupSpec:
    """What a group is made of: its workers (min, max) and their device; the root, a name for people, CPU threads of a
    worker, and the seconds between two looks for more room."""

    share: tuple[int, int]
    device: str
    root: str
    name: str
    threads: int
    resize_seconds: float

    @property
    def kind(self) -> str:
        """What each worker reserves one of."""
        return kind_of(self.device)


def kind_of(device: str) -> str:
    """Return what a worker on a device reserves one of."""
    return "GPU" if device == "cuda" else "CPU"


class WorkerGroup:
    """Workers that wait for jobs, in a run of Ray Train of their own that lasts until `close`.

    Workers that die, or whose nodes go, start again, as many as there is room for, and take their job up where it was.
    `heard` gets the group and every event: progress, and moments (with the key `moment`): the workers are `ready`, have
    `started` a job, made a first `step`, `failed`, are `waiting` for nodes, have `finished`, or were `idle` for a
    while. `ended` gets the group and what ended it: a user's error as it is, RunError with the last cause after
    RESTARTS restarts in a row without anything new, Stopped once `stop` was set, or None if it was closed.
    """

    def __init__(
        self,
        spec: WorkerGroupSpec,
        heard: Callable[[WorkerGroup, Mapping[str, Any]], None],
        ended: Callable[[WorkerGroup, Exception | None], None],
        stop: threading.Event,
    ) -> None:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        self.spec, self.stop = spec, stop
        self.asked: Asked | None = None
        """What its workers do now."""
        self.is_ready = self.was_ready = self.is_closing = False
        self._error: Exception | None = None
        """What went wrong in this process while it heard of its workers."""
        self._number = 0
        self._heard, self._ended = heard, ended
        here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
        self._board = ray.remote(num_cpus=0, scheduling_strategy=here)(Board).remote()
        self._thread = threading.Thread(target=self._run, daemon=True, name="ticlm-slot")
        self._thread.start()

    @property
    def is_free(self) -> bool:
        """Whether its workers are there and have nothing to do."""
        return self.is_ready and self.asked is None and not self.is_closing

    @property
    def is_coming(self) -> bool:
        """Whether its workers are not there yet, and will have nothing to do."""
        return not self.is_ready and self.asked is None and not self.is_closing

    def do(self, asked: Asked) -> None:
        """Give the workers a job."""
        posted = Posted(self._number + 1, asked.pickled, asked.reached)
        self.asked, self._number = asked, posted.number
        self._board.post.remote(posted)

    def close(self) -> None:
        """Let the workers end once they have nothing to do; does not wait."""
        if not self.is_closing:
            self.is_closing = True
            self._board.post.remote(CLOSED)

    def stay_until_ended(self) -> None:
        """Wait until the workers have ended and freed what they had reserved."""
        join(self._thread)

    def _run(self) -> None:
        import ray

        ending: Exception | None = None
        try:
            with Watch(self._board, self.spec.share, self.spec.kind, self._hear, self._is_to_end):
                ending = self._serve()
        except Exception as error:
            ending = error
        finally:
            try:
                ray.kill(self._board)
            finally:
                self._ended(self, ending)

    def _is_to_end(self) -> bool:
        """Return whether its controller must end the workers: they were stopped, closed before they were there, or
        cannot be heard of any more."""
        return self.stop.is_set() or self._error is not None or (self.is_closing and not self.is_ready)

    def _serve(self) -> Exception | None:
        """Run the workers until they are closed; return what ended them before."""
        import ray

        idle, before = 0, (0, (0, ""))
        while True:
            try:
                self._fit()
                return None
            except Exception as error:  # Ray wraps what a worker raised in several layers of its own
                self.is_ready = False
                if self.stop.is_set():
                    return Stopped()
                if self._error is not None:
                    return self._error
                if self.is_closing:
                    return None
                ending: TiclmError | None = ray.get(self._board.ended_with.remote())
                if ending is not None:
                    ending.__cause__ = error
                    return ending
                # The group could not even start, for a reason that Ray does not try again by itself.
                job = self.asked.job if self.asked else None
                now = (self._number, (0, "") if job is None else job.reached())
                idle, before = (idle + 1 if now == before else 0), now
                if idle > RESTARTS:
                    return gave_up(job, RESTARTS, {0: error})

    def _hear(self, event: Mapping[str, Any]) -> None:
        match event.get("moment"):
            case "ready":
                self.is_ready = self.was_ready = True
            case "failed":
                self.is_ready = False
            case "finished" if event["job"] != self._number:
                return
        try:
            self._heard(self, event)
        except Exception as error:  # the thread that watches must go on, or nobody could end the workers
            self._error = self._error or error

    def _fit(self) -> None:
        from ray.train import FailureConfig, RunConfig, ScalingConfig
        from ray.train.torch import TorchConfig, TorchTrainer

        spec, board = self.spec, self._board
        storage = Store(spec.root).uri(paths.RAY)
        name = run_name(spec.name)
        ray_internals.show_train_runs()
        trainer = TorchTrainer(
            serve,
            train_loop_config={
                "board": board,
                "device": spec.device,
                "own_modules": sorted(extensions.MODULES),
            },
            torch_config=TorchConfig(backend="nccl" if spec.device == "cuda" else "gloo"),
            scaling_config=ScalingConfig(
                num_workers=spec.share[0] if spec.share[0] == spec.share[1] else spec.share,
                use_gpu=spec.device == "cuda",
                resources_per_worker={spec.kind: 1.0},
                elastic_resize_monitor_interval_s=spec.resize_seconds,
            ),
            run_config=RunConfig(
                name=name,
                storage_path=storage,
                # The guard decides: Ray counts all failures of a run, however far it got between them.
                failure_config=FailureConfig(max_failures=-1),
                callbacks=[
                    guard_callback(board),
                    *ray_internals.controller_callbacks(lambda actor: tell_moment(board, "controller", actor=actor)),
                ],
                worker_runtime_env={"env_vars": _environment(spec.threads)},
            ),
        )
        try:
            trainer.fit()
        finally:
            if Store(spec.root).is_local:  # in a bucket, `ticlm clean` removes it
                shutil.rmtree(Path(storage) / name, ignore_errors=True)


def guard_callback(board: Any) -> Any:
    """Return a callback of Ray Train that asks a guard of the job on the board after every failure. It runs in the
    controller's process; an exception there ends the run."""
    from ray.train import UserCallback

    restarts = RESTARTS

    class Callback(UserCallback):  # type: ignore[misc]
        number, guard = -1, Guard(None, restarts)

        def after_exception(self, run_context: Any, worker_exceptions: dict[int, Exception]) -> None:
            import ray
            from ray import cloudpickle

            posted: Posted | None = ray.get(board.job.remote(-1))
            number = posted.number if posted else 0
            if number != self.number:
                job: SlotJob | None = cloudpickle.loads(posted.job) if posted and posted != CLOSED else None
                reached = posted.reached if posted else (0, "")
                self.number, self.guard = number, Guard(job, restarts, reached)
            error = self.guard.verdict(worker_exceptions)
            tell_moment(board, "failed", "" if error else f"starting again: {cause(worker_exceptions)}")
            if error is not None:
                ray.get(board.give_up.remote(error))
                raise error
            if isinstance(self.guard.work, ChainJob):
                series = WorkerSeries(self.guard.work.work)
                with series.harmless():
                    series.add("ticlm_restarts_total", 1)

    return Callback()


def run_name(label: str) -> str:
    """Return a unique name, for Ray's dashboard and for a folder on any storage."""
    words = re.sub(r"[^a-z0-9.]+", "-", label.lower()).strip("-.")
    return f"{words[:64]}-{uuid.uuid4().hex[:8]}"


def _environment(threads: int) -> dict[str, str]:
    """Return the environment of a worker. Idle threads must sleep: if they spin, which is the default, two workers on
    two busy cores are seven times slower."""
    quiet = {"TOKENIZERS_PARALLELISM": "false", "TRANSFORMERS_VERBOSITY": "error"}
    patience = {VARIABLE: os.environ[VARIABLE]} if VARIABLE in os.environ else {}
    return {"OMP_NUM_THREADS": str(threads), "OMP_WAIT_POLICY": "PASSIVE", "GOMP_SPINCOUNT": "0", **quiet, **patience}
