"""What ticlm uses of Ray without Ray's promise: a new Ray must pass each of these, or ray_internals.py must change."""

from __future__ import annotations

import importlib
import inspect
import io
import logging
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from ticlm.platform.cluster import ray_internals


def test_ray_train_reads_the_variables_that_are_set() -> None:
    from ray.train.v2._internal import constants

    known = {value for name, value in vars(constants).items() if name.endswith("_ENV_VAR")}
    assert ray_internals.TRAIN_VARIABLES.keys() <= known


def test_a_variable_that_a_user_has_set_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second, *_ = ray_internals.TRAIN_VARIABLES
    monkeypatch.setenv(first, "7")
    monkeypatch.delenv(second, raising=False)
    ray_internals.set_train_variables()
    assert os.environ[first] == "7" and os.environ[second] == ray_internals.TRAIN_VARIABLES[second]


@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("ray.train.constants", ray_internals.SHOW_TRAIN_RUNS),
        ("ray.dashboard.modules.job.job_supervisor", ray_internals.STOP_WAIT),
        ("ray._private.runtime_env.constants", ray_internals.JOB_CONFIG),
        ("ray._private.accelerators.accelerator", ray_internals.OVERRIDE_ACCELERATORS),
        ("ray.tune.experimental.output", ray_internals.NEW_TUNE_OUTPUT),
    ],
)
def test_ray_reads_the_variable(module: str, name: str) -> None:
    assert f'"{name}"' in inspect.getsource(importlib.import_module(module))


def test_the_loggers_that_are_silenced_are_those_of_the_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ray_internals.UPLOAD_LOGGERS:
        assert "logging.getLogger(__name__)" in inspect.getsource(importlib.import_module(name))
        monkeypatch.setattr(logging.getLogger(name), "level", logging.INFO)
    ray_internals.silence_uploads()
    assert {logging.getLogger(name).level for name in ray_internals.UPLOAD_LOGGERS} == {logging.ERROR}


@pytest.mark.ray
@pytest.mark.parametrize("wait", ["get", "wait", "next", "pool"])
def test_waits_of_ray_look_for_signals_that_another_thread_took(ray_local: None, wait: str) -> None:
    """So `ray.get` and its kin may stand without a limit where the main thread waits (tests/repo/test_waits.py)."""
    import ray
    from ray.util import ActorPool

    class Slow:
        def work(self) -> None:
            time.sleep(600)

        def items(self) -> Iterator[None]:
            time.sleep(600)
            yield

    class Told(KeyboardInterrupt):  # as those of ticlm are: Ray drops what else a handler raises
        pass

    def handler(*_: object) -> None:
        raise Told

    actor = ray.remote(num_cpus=0)(Slow).remote()
    begun = actor.items.remote() if wait == "next" else actor.work.remote()
    waits: dict[str, Callable[[], Any]] = {
        "get": lambda: ray.get(begun),
        "wait": lambda: ray.wait([begun]),
        "next": lambda: next(begun),
        "pool": lambda: list(ActorPool([actor]).map(lambda one, _: one.work.remote(), [0])),
    }
    before = signal.signal(signal.SIGUSR1, handler)
    taken = threading.Timer(0.5, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGUSR1))
    taken.start()
    try:
        with pytest.raises(KeyboardInterrupt):  # Ray raises one of its own in its place
            waits[wait]()
    finally:
        taken.join()
        signal.signal(signal.SIGUSR1, before)
        ray.kill(actor)


def test_what_raylets_tell_every_driver_is_not_printed_in_the_block() -> None:
    from ray._private import worker

    told = {"lines": ["a node is gone"], "pid": "raylet", "is_err": False}
    out = io.StringIO()
    with ray_internals.quiet_raylets():
        worker.print_worker_logs(told, out)
    assert out.getvalue() == ""
    worker.print_worker_logs(told, out)
    assert "a node is gone" in out.getvalue()
    assert "print_to_stdstream(" in inspect.getsource(worker.listen_error_messages), "they come by another way now"
    assert "print_worker_logs(" in inspect.getsource(worker.print_to_stdstream)


def test_a_lost_worker_is_an_error_with_its_cause_even_from_another_process() -> None:
    from ray.train.v2._internal.exceptions import WorkerHealthCheckFailedError

    error = WorkerHealthCheckFailedError("no answer", RuntimeError("the actor died"))
    for one in (error, pickle.loads(pickle.dumps(error))):
        assert str(ray_internals.worker_death(one)) == "the actor died"
    assert ray_internals.worker_death(RuntimeError("cut off")) is None


def test_hooks_of_the_controller_are_there_with_the_arguments_that_ours_take() -> None:
    from ray.train.v2._internal.execution.callback import ControllerCallback

    (callback,) = ray_internals.controller_callbacks(lambda actor: None)
    methods = {name: method for name, method in vars(type(callback)).items() if inspect.isfunction(method)}
    hooks = {name: method for name, method in methods.items() if not name.startswith("__")}
    assert len(hooks) == 2 and isinstance(callback, ControllerCallback)
    for name, method in hooks.items():
        assert list(inspect.signature(method).parameters) == list(
            inspect.signature(getattr(ControllerCallback, name)).parameters
        )


def test_the_room_of_a_controller_that_was_killed_is_soon_free_again(monkeypatch: pytest.MonkeyPatch) -> None:
    from ray.train import ScalingConfig
    from ray.train.v2._internal.execution.scaling_policy import autoscaling_coordinator_client as module

    assert 2 * module.AUTOSCALING_REQUESTS_INTERVAL_S < ray_internals.REQUEST_EXPIRES_S
    monkeypatch.setattr(module, "AUTOSCALING_REQUESTS_EXPIRE_TIME_S", module.AUTOSCALING_REQUESTS_EXPIRE_TIME_S)
    (callback,) = ray_internals.controller_callbacks(print)
    (there,) = pickle.loads(pickle.dumps([callback]))  # so it reaches the controller's process
    assert type(there).__name__ == type(callback).__name__
    asked: list[dict[str, Any]] = []
    client: Any = module.TrainAutoscalingCoordinatorClient("train-one")
    remote = SimpleNamespace(remote=lambda **request: asked.append(request))
    client.__dict__["_autoscaling_coordinator"] = SimpleNamespace(request_resources=remote)
    monkeypatch.setattr("ray.get", lambda answer, timeout: answer)
    client.send_resource_request(ScalingConfig(num_workers=1), 1)
    assert [request["expire_after_s"] for request in asked] == [ray_internals.REQUEST_EXPIRES_S]


def test_a_controller_waits_in_states_that_there_are() -> None:
    from ray.train.v2._internal.execution.controller import state

    for name in ray_internals.WAITING_STATES:
        assert issubclass(getattr(state, name), state.TrainControllerState)
    waiting, running = state.InitializingState(), SimpleNamespace()
    assert ray_internals.is_waiting(waiting, state.InitializingState())
    assert not ray_internals.is_waiting(running, waiting) and not ray_internals.is_waiting(running, running)


def test_a_controller_is_an_actor_that_can_be_aborted() -> None:
    from ray.train.v2._internal.execution.controller.controller import TrainController

    assert inspect.iscoroutinefunction(TrainController.abort)
    own = [name for name in inspect.signature(TrainController.abort).parameters if not name.startswith("_ray_")]
    assert own == ["self"], "Ray adds parameters of its own to methods of actors"


@pytest.mark.ray
@pytest.mark.slow
def test_the_nodes_that_are_drained_can_be_asked_for(ray_local: None) -> None:
    assert ray_internals.draining_nodes() == frozenset()


@pytest.mark.ray
@pytest.mark.slow
def test_the_coordinator_of_elastic_groups_counts_again_when_it_is_asked(ray_local: None) -> None:
    import ray
    from ray.data._internal.cluster_autoscaler import default_autoscaling_coordinator as coordinators

    actor: Any = coordinators.get_or_create_autoscaling_coordinator()
    assert ray.get(ray_internals.recount_nodes()) == {}
    assert ray.get_actor(ray_internals.COORDINATOR, namespace=ray_internals.COORDINATOR) == actor
