"""Trackers: a chain's losses in TensorBoard and Weights & Biases, whole after a restart."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.platform.run import driver
from ticlm.platform.study import plan
from ticlm.platform.study.resources import Resources
from ticlm.platform.study.settings import Study
from ticlm.platform.train import tracking

FAST = {"kind": "cosine", "max_rate": 5e-3, "warmup_steps": 1}


def event(step: int, loss: float) -> Mapping[str, Any]:
    return {"step": step, "loss": loss, "rate": 1e-3, "gradient_norm": 1.0, "tokens_per_s": 10.0, "tokens": step * 64}


def points(folder: Path, metric: str) -> dict[int, float]:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    shown = EventAccumulator(str(folder), purge_orphaned_data=True)
    shown.Reload()
    return {point.step: point.value for point in shown.Scalars(metric)}


@pytest.mark.slow
def test_a_study_logs_every_round_of_a_chain_to_both(toy_root: Path, toy_study: Callable[..., Study]) -> None:
    resources = {"trainer": "process", "device": "cpu", "tensorboard": True, "wandb": {"mode": "offline"}}
    method = {"base": "cyclic-cosine", "schedule": FAST}
    study = toy_study(methods=[method], periods={"initial": "202301", "last": "202302"}, resources=resources)
    driver.train(plan.make(study, str(toy_root)))
    (folder,) = (toy_root / "tensorboard").iterdir()
    for metric in tracking.METRICS:
        assert {6, 10} <= points(folder, metric).keys(), "the end of each round is always logged"
    (run,) = (toy_root / "wandb").glob("offline-run-*/*.wandb")
    assert run.stat().st_size > 0


def test_a_restart_keeps_the_points_before_it_and_replaces_those_after(tmp_path: Path) -> None:
    resources = Resources(tensorboard=True)
    (first,) = tracking.start(resources, str(tmp_path), "toy", "half: 202301")
    for step in range(1, 9):
        first.log(event(step, 1.0))
    first.close()
    (again,) = tracking.start(resources, str(tmp_path), "toy", "half: 202301")
    for step in range(5, 7):  # went on from the checkpoint after step 4
        again.log(event(step, 2.0))
    again.close()
    (folder,) = (tmp_path / "tensorboard").iterdir()
    assert points(folder, "loss") == {1: 1.0, 2: 1.0, 3: 1.0, 4: 1.0, 5: 2.0, 6: 2.0}


def test_chains_have_runs_of_their_own_and_a_chain_that_trains_nothing_has_none(tmp_path: Path) -> None:
    for label in ("half: 202301", "equal: 202301"):
        (tracker,) = tracking.start(Resources(tensorboard=True), str(tmp_path), "toy", label)
        tracker.log(event(1, 1.0))
        tracker.close()
    (idle,) = tracking.start(Resources(tensorboard=True), str(tmp_path), "toy", "none: 202301")
    idle.close()
    assert len(list((tmp_path / "tensorboard").iterdir())) == 2
    assert tracking.start(Resources(), str(tmp_path), "toy", "half: 202301") == []


def start_online(folder: Path, environment: Mapping[str, str]) -> str:
    """What becomes of trackers in mode online where wandb knows nothing but this environment; "" where a key is found.
    In a process of its own: wandb remembers keys."""
    for name in [n for n in os.environ if n.startswith("WANDB_") or n == "NETRC"]:
        del os.environ[name]
    os.environ.update({"HOME": str(folder), **environment})
    os.chdir(folder)  # a folder of settings beside the process would count too
    try:
        if environment:
            os.environ["WANDB_SILENT"] = "true"
            tracking._require_key()
        else:
            tracking.start(Resources.model_validate({"wandb": {"mode": "online"}}), str(folder), "toy", "half: 202301")
    except InputError as error:
        return str(error)
    return ""


def test_wandb_online_without_a_key_is_one_line(tmp_path: Path, forks: Callable[..., list[tuple[int, Any]]]) -> None:
    key = {"WANDB_API_KEY": "0" * 40}
    given: tuple[dict[str, str], ...] = ({}, {"WANDB_API_KEY": "short"}, key, key | {"WANDB_MODE": "offline"})
    none, bad, good, other = forks(*(partial(start_online, tmp_path, one) for one in given), timeout_s=120)
    assert none == (
        0,
        "resources.wandb: mode online needs WANDB_API_KEY in the environment of the workers (a secret of the cluster), "
        "or mode: offline",
    )
    assert bad[1].startswith("resources.wandb: WANDB_API_KEY invalid") and "\n" not in bad[1]
    assert good == other == (0, ""), "whatever WANDB_MODE says: the study has a mode"
