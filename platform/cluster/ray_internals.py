"""All that ticlm uses of Ray beyond its documented API: calls, attributes, variables and names of loggers.

Ray may change any of them without notice, so each has a test in `tests/platform/cluster/test_ray_internals.py` that a
new Ray must pass, and no other file may have one (`tests/repo/test_ray.py`). Ray loads inside the functions.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

TRAIN_VARIABLES = {
    # Ray's default polls every 2 s: most of a short fit would be spent waiting for its end.
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.2",
    # Ray's own watcher lets a draining node train on to its deadline, and loses what came after the last checkpoint;
    # nodes.DrainNotice does it instead.
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",
    # How long a group waits for its placement group before its size is chosen anew: right after a node is lost, the
    # node is still counted. Processes and imports come later and are not part of this time. Ray's default is 60 s.
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "3",
}
SHOW_TRAIN_RUNS = "RAY_TRAIN_ENABLE_STATE_TRACKING"
STOP_WAIT = "RAY_JOB_STOP_WAIT_TIME_S"
"""The variable of a job that says how many seconds lie between SIGTERM and SIGKILL when it is stopped."""
JOB_CONFIG = "RAY_JOB_CONFIG_JSON_ENV_VAR"
OVERRIDE_ACCELERATORS = "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"
NEW_TUNE_OUTPUT = "RAY_AIR_NEW_OUTPUT"
UPLOAD_LOGGERS = (
    "ray.dashboard.modules.dashboard_sdk",
    "ray.dashboard.modules.job.sdk",
    "ray._private.runtime_env.packaging",
)
WAITING_STATES = ("InitializingState", "RestartingState", "ReschedulingState")
"""States of a Train controller in which it asks for room again and again."""
COORDINATOR = "AutoscalingCoordinator"
REQUEST_EXPIRES_S = 60
"""How long room is kept for a controller that does not ask again, as it does every 20 s."""


def set_train_variables() -> None:
    """Set the variables that Ray Train reads, unless the environment has them already."""
    for name, value in TRAIN_VARIABLES.items():
        os.environ.setdefault(name, value)


def show_train_runs() -> None:
    """Make Ray Train keep its runs for the dashboard, where the cluster has one. They live in an actor of 290 MB."""
    import ray

    if ray.init(ignore_reinit_error=True, configure_logging=False).dashboard_url:
        os.environ.setdefault(SHOW_TRAIN_RUNS, "1")


def keep_devices_visible() -> None:
    """Leave the GPUs of this node visible to tasks and actors that reserve none of them."""
    os.environ.setdefault(OVERRIDE_ACCELERATORS, "0")


def use_old_tune_output() -> None:
    """Make Tune print as it did before its new output, which shows errors as tracebacks at every verbosity."""
    os.environ.setdefault(NEW_TUNE_OUTPUT, "0")


def job_stop_wait(seconds: int) -> dict[str, str]:
    """Return the environment that gives a job `seconds` between SIGTERM and SIGKILL; Ray's default is 3."""
    return {STOP_WAIT: str(seconds)}


def inside_job() -> bool:
    """Return whether this process is the driver of a Ray job, or was started by one."""
    return bool(os.environ.get(JOB_CONFIG))


def silence_uploads() -> None:
    """Silence the loggers of Ray's job client, which report what they upload."""
    for name in UPLOAD_LOGGERS:
        logging.getLogger(name).setLevel(logging.ERROR)


@contextmanager
def quiet_raylets() -> Iterator[None]:
    """Keep what raylets tell every driver out of this process's output while the block runs.

    When a node goes, Ray prints a hundred lines of its own logs, whatever `log_to_driver` and `logging_level` are.
    """
    import ray

    worker = ray._private.worker
    before = worker._worker_logs_enabled
    worker._worker_logs_enabled = False
    try:
        yield
    finally:
        worker._worker_logs_enabled = before


def draining_nodes() -> frozenset[str]:
    """Return the ids of nodes that are being drained. No public call returns them."""
    import ray

    return frozenset(ray._private.state.state.get_draining_nodes())


def recount_nodes() -> Any:
    """Make Ray's coordinator of resources count the nodes now; returns a reference to its answer.

    Elastic groups of workers ask this actor for how many workers there is room. By itself it counts every 20 s, and no
    setting changes that. Raises ValueError if no group has been started yet: then there is no such actor.
    """
    import ray

    coordinator = ray.get_actor(COORDINATOR, namespace=COORDINATOR)
    return coordinator.get_reserved_resources.remote("", recompute=True)


def worker_death(error: BaseException) -> BaseException | None:
    """Return why a worker of Ray Train no longer answers, or None if `error` is not about a lost worker."""
    found: BaseException | None = getattr(error, "health_check_failure", None)
    return found


def abort(controller: Any) -> Any:
    """Make the controller of a fit end its workers and free their resources; return a reference to wait for."""
    return controller.abort.remote()


def controller_callbacks(announce: Callable[[Any], None]) -> list[Any]:
    """Return callbacks for the controller of a fit: they run in its process. Empty if this Ray has no such hook.

    They call `announce` with the controller's handle, so that the driver can abort it. If only the process that waits
    for the controller is killed, as Tune does, the workers keep what they have reserved, unless Ray has a dashboard to
    ask. They make the controller pause where there is no room for any worker: the controller of Ray 2.60 asks again
    without a pause and takes a whole core of the driver's node. And what it asks for expires soon (`forget_soon`).
    """
    try:
        from ray.train.v2._internal.execution.callback import ControllerCallback
    except ImportError:
        return []

    class Controller(ControllerCallback):  # type: ignore[misc]
        def __reduce__(self) -> tuple[Any, ...]:
            return _in_controller, (announce,)

        def after_controller_start(self, train_run_context: Any) -> None:
            import ray

            announce(ray.get_runtime_context().current_actor)

        def after_controller_state_update(self, previous_state: Any, current_state: Any) -> None:
            if is_waiting(previous_state, current_state):
                time.sleep(0.2)

    return [Controller()]


def _in_controller(announce: Callable[[Any], None]) -> Any:
    """Return the callback in the process of the controller, before that asks for room for the first time."""
    forget_soon()
    (callback,) = controller_callbacks(announce)
    return callback


def forget_soon() -> None:
    """Let the room that this process, a controller, asks for be kept for REQUEST_EXPIRES_S instead of 180 s.

    A driver that is killed takes nothing back: as long as its last request stands, the same command started again has
    no room for workers.
    """
    with suppress(ImportError):
        from ray.train.v2._internal.execution.scaling_policy import autoscaling_coordinator_client as client

        client.AUTOSCALING_REQUESTS_EXPIRE_TIME_S = REQUEST_EXPIRES_S


def is_waiting(previous_state: Any, current_state: Any) -> bool:
    """Return whether a controller stays in a state in which it waits for room."""
    return type(previous_state) is type(current_state) and type(current_state).__name__ in WAITING_STATES
