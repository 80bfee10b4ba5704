"""A Ray that this project starts: where its workers import from, and who may read its token."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.errors import TiclmError
from ticlm.core.remote import ray_start
from ticlm.datasets.io.ray_map import running_ray
from ticlm.platform.cluster import connect

SCRIPT = """
import sys
from ticlm.platform.cluster import connect
from ticlm.core import extensions

def imported(names):
    from importlib import import_module
    return [import_module(name).__file__ for name in names]

if len(sys.argv) > 1:
    extensions.object_at(sys.argv[1])
with connect.connected(1):
    import ray
    names = ["filecmp", *([sys.argv[1].partition(":")[0]] if len(sys.argv) > 1 else [])]
    print(*ray.get(ray.remote(imported).remote(names)), sep="\\n")
"""


def test_a_new_token_is_for_its_owner_alone_and_an_old_one_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    token = tmp_path / ".ray" / "auth_token"
    ray_start.make_token()
    assert token.stat().st_mode & 0o777 == 0o600
    assert len(first := token.read_text()) == 64
    ray_start.make_token()
    assert token.read_text() == first


def test_a_ray_has_the_cores_that_the_process_may_use(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ray counts those of the machine or of the container; by default it is left to that."""
    import ray

    asked: list[dict[str, Any]] = []
    monkeypatch.setattr(ray, "init", lambda **named: asked.append(named))
    monkeypatch.setattr(ray_start, "make_token", lambda: None)
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    for mine in ({0, 1, 2, 3}, {2}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda pid, mine=mine: mine, raising=False)
        ray_start.started()
        ray_start.started(3)
    assert [named["num_cpus"] for named in asked] == [None, 3, 1, 3]


@pytest.mark.parametrize(
    ("variable", "value"), [("RAY_AUTH_MODE", "disabled"), ("RAY_AUTH_TOKEN", "t"), ("RAY_AUTH_TOKEN_PATH", "/t")]
)
def test_no_token_is_made_where_none_is_needed(
    variable: str, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(variable, value)
    ray_start.make_token()
    assert not (tmp_path / ".ray").exists()


@pytest.mark.nightly
@pytest.mark.parametrize("own", [False, True])
def test_workers_import_from_the_current_folder_last_and_only_for_classes_of_the_users_own(
    own: bool, tmp_path: Path
) -> None:
    """`filecmp.py` beside the study stands for any name of the standard library."""
    (tmp_path / "filecmp.py").touch()
    (tmp_path / "mine.py").write_text("VALUE = 1")
    done = subprocess.run(
        [sys.executable, "-P", "-c", SCRIPT, *(["mine:VALUE"] if own else [])],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr
    files = done.stdout.split()[-2:] if own else done.stdout.split()[-1:]
    assert not files[0].startswith(str(tmp_path)), files
    assert files[1:] == ([str(tmp_path / "mine.py")] if own else [])


@pytest.mark.nightly
def test_workers_of_a_submitted_job_are_as_patient_as_it_is(tmp_path: Path) -> None:
    """A job has its variables in its own environment and, by Ray, in that of its workers."""
    variable = "TICLM_STORE_PATIENCE_S"
    job = {"RAY_JOB_CONFIG_JSON_ENV_VAR": json.dumps({"runtime_env": {"env_vars": {variable: "7"}}}), variable: "7"}
    script = f"""
from ticlm.platform.cluster import connect

def patience():
    import os
    return os.environ["{variable}"]

with connect.connected(1):
    import ray
    print(ray.get(ray.remote(patience).remote()))
"""
    for environment in ({variable: "9"}, job):
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            env=os.environ | environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout.split()[-1] == environment[variable]


def test_a_home_that_cannot_be_written_leaves_the_token_in_this_process(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "home").write_text("a file")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN", "")  # so that it is put back afterwards
    monkeypatch.delenv("RAY_AUTH_TOKEN")
    ray_start.make_token()
    assert len(os.environ["RAY_AUTH_TOKEN"]) == 64


TOLD = """
import os, signal, sys, threading, time
from ticlm.datasets.io.ray_map import running_ray
from ticlm.platform.cli.exit import ended


def tell():
    os.kill(os.getpid(), signal.SIGTERM)


def work():
    import ray
    if sys.argv[1] == "starts":
        threading.Timer(0.7, tell).start()  # a Ray takes longer
    with running_ray():
        print("runs", flush=True)
        tell()
        time.sleep(600)


ended(work)
"""


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.parametrize("when", ["starts", "runs"])
def test_a_command_that_is_told_to_end_ends_as_ever_whether_its_ray_starts_or_runs(when: str, tmp_path: Path) -> None:
    """Ray takes the signal for itself: its handler ends the process with other codes, or drains the node first."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | {"HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", TOLD, when], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 143 and done.stdout == ("runs\n" if when == "runs" else "")
    assert done.stderr == "ticlm: stopped; the same command goes on from here\n"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (
            "The actor died unexpectedly before finishing this task.\n\tclass_name: A\n\tactor_id: 7\n\tpid: 7\n"
            f"The actor is dead because {ray_start.UNOWNED} including lineage ref count.\nThe actor never ran.",
            f"The actor is dead because {ray_start.UNOWNED} including lineage ref count",
        ),
        (
            "The actor died unexpectedly before finishing this task.\n\tpid: 7\nThe actor is dead because its worker "
            "process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits with a "
            "connection error code 2. End of file.",
            "Worker unexpectedly exits with a connection error code 2",
        ),
        (
            "The worker died unexpectedly while executing this task.",
            "The worker died unexpectedly while executing this task",
        ),
        ("", "RuntimeError"),
    ],
)
def test_the_reason_is_that_of_ray_and_not_its_first_line(said: str, reason: str) -> None:
    assert ray_start.reason_of(RuntimeError(said)) == reason


def test_a_ray_that_cannot_ask_the_owner_of_an_actor_is_refused_with_the_true_cause(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    unowned = RuntimeError(f"The actor died.\n\tclass_name: A\nThe actor is dead because {ray_start.UNOWNED}.")
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    monkeypatch.setenv("RAY_AUTH_MODE", "token")
    for place in ("~/.ray/auth_token", "RAY_AUTH_TOKEN_PATH", "RAY_AUTH_TOKEN"):
        if place.startswith("RAY"):
            monkeypatch.setenv(place, "there")
        refusal = ray_start._refusal(unowned)
        assert f"the one in {place}; run the same command again with RAY_AUTH_MODE=disabled" in refusal
        assert ray_start.UNOWNED in refusal and "memory" not in refusal and "\n" not in refusal
    assert "token" not in ray_start._refusal(RuntimeError("The actor died.\nIts node ran out of paper."))
    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    assert "token" not in ray_start._refusal(unowned) and ray_start.UNOWNED in ray_start._refusal(unowned)


def train() -> None:
    with connect.connected(1):
        pass


def build() -> None:
    with running_ray():
        pass


@pytest.mark.parametrize("door", [train, build])
@pytest.mark.parametrize(
    ("address", "error", "line"),
    [
        (
            "",
            Exception("The node timed out.\nsome processes"),
            "Ray did not start on this machine (Exception: The node ",
        ),
        ("h:6379", ConnectionError("Failed to\nconnect"), "RAY_ADDRESS h:6379: no Ray that can be joined there ("),
    ],
)
def test_a_ray_that_neither_starts_nor_can_be_joined_is_one_line(
    door: Callable[[], None], address: str, error: Exception, line: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import ray

    def late(**_: Any) -> None:
        raise error

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RAY_ADDRESS", address)
    monkeypatch.setattr(ray, "init", late)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with pytest.raises(TiclmError) as caught:
        door()
    assert str(caught.value).startswith(line) and "\n" not in str(caught.value)
    assert caught.value.exit_code == (2 if address else 1)


def test_a_ray_that_was_too_slow_is_started_once_more(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import ray

    errors = [Exception("The current node timed out during startup. This could happen because …")]
    stopped: list[int] = []

    def init(**_: Any) -> str:
        if errors:
            raise errors.pop()
        return "a Ray"

    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(ray, "init", init)
    monkeypatch.setattr(ray, "shutdown", lambda: stopped.append(1))
    assert ray_start.started(1) == "a Ray" and stopped == [1]
    errors += [Exception("no room"), Exception("never asked for")]
    with pytest.raises(TiclmError, match="never asked for"):
        ray_start.started(1)
    assert len(errors) == 1, "another error is told at once"
