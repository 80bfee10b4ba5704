"""Jobs on a cluster whose nodes have no ticlm: sent, refused, stopped, sent again, and finished to the same bits."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import urllib.request
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any
from urllib.error import HTTPError, URLError

import psutil
import pytest
import yaml
from paths import ROOT
from ports import free_ports
from signals import started

from ticlm.core import fingerprint
from ticlm.core.errors import InputError
from ticlm.core.integrity.records import read_record
from ticlm.core.paths import round_folder
from ticlm.core.store import Store
from ticlm.platform.cluster import jobs
from ticlm.platform.cluster.job import prepare
from ticlm.platform.study import plan
from ticlm.platform.study.settings import Study, load
from ticlm.platform.study.stored_rounds import published
from ticlm.platform.study.work import work_of
from ticlm.platform.study.written.calendar import check_recipe

SECRETS = ("AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_DEFAULT_REGION")
MINE = """
from ticlm.methods.replay import NoReplay


class LastReplay(NoReplay):
    pass
"""
POSTS = """
extends: monthly
name: posts
documents: {paths: [posts/*.jsonl]}
periods: {initial: 202301, step: month, last: 202302}
"""
SMALL = (  # of the demo: two rounds of one method
    "periods.last=202302",
    "initial.budget=163_840",
    "methods=[{base: cyclic-cosine, schedule: {max_rate: 2e-3, warmup_steps: 5}}]",
    "resources={workers: 1, chains: 1, evaluators: 1, cadence: {steps: 10}}",
)


def on_a_cluster(test: Callable[..., None]) -> Callable[..., None]:
    for mark in (pytest.mark.ray, pytest.mark.slow):
        test = mark(test)
    return test


def test_a_job_is_refused_in_one_line_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NOT_HERE", raising=False)
    wrong: dict[str, dict[str, Any]] = {
        "required": {"root": None},
        "relative": {"root": "runs"},
        "no such file": {"name": "nothing"},
        "batch_rows": {"sets": ["batch_rows=0"]},
        "begin with one of": {"command": "fly"},
        "No closing quotation": {"command": "run '"},
        "NOT_HERE: it is not set": {"environment": ["NOT_HERE"]},
    }
    for said, asked in wrong.items():
        with pytest.raises(InputError, match=said) as caught:
            prepare(**{"name": "demo", "root": "s3://bucket/root"} | asked)
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match="no cluster"):
        jobs.submit(prepare("demo", "/shared"), None, print)


def test_what_is_sent_is_the_study_in_one_file_and_the_package(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("extends: demo\nname: mine\n")
    job = prepare(f"{tmp_path}/mine.yaml", "s3://bucket/root", SMALL)
    (tmp_path / "sent").mkdir()
    job.pack(tmp_path / "sent")
    assert fingerprint.fingerprint(load(f"{tmp_path}/sent/study.yaml")) == job.metadata["fingerprint"]
    assert job.study.name == "mine" and job.study.periods.last == "202302"
    assert not list((tmp_path / "sent").rglob("__pycache__"))
    shown = subprocess.run(
        [sys.executable, "-S", "-c", "import ticlm.core.errors as e; print(e.__file__)"],
        cwd=tmp_path / "sent",
        env={"PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
    )
    assert shown.stdout.startswith(f"{tmp_path}/sent/ticlm/core/"), shown.stderr
    assert (tmp_path / "sent/ticlm/platform/studies/demo.yaml").is_file()


def test_a_study_whose_recipe_tells_its_calendar_is_sent_with_the_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "posts.recipe.yaml").write_text(POSTS)
    (tmp_path / "more.yaml").write_text(POSTS.replace("posts", "more"))
    (tmp_path / "mine.yaml").write_text(
        "extends: demo\nname: mine\ncorpus: posts\nrecipe: posts.recipe.yaml\nperiods: corpus\n"
        "recipes: [more.yaml, peps]\nmethods: [cyclic-cosine]\n"
    )
    job = prepare(f"{tmp_path}/mine.yaml", f"{tmp_path}/runs", installed=True)
    (tmp_path / "sent").mkdir()
    job.pack(tmp_path / "sent")
    monkeypatch.chdir(tmp_path / "sent")  # as the nodes do
    there = load("study.yaml", root=f"{tmp_path}/runs")
    assert fingerprint.fingerprint(there) == job.metadata["fingerprint"]
    assert there.timeline.labels == ("202301", "202302") and there.recipe == "recipe.yaml"
    assert check_recipe(there.recipe, there.corpus, "study.yaml")["documents"]["paths"] == ["posts/*.jsonl"]
    assert there.recipes == ("1recipe.yaml", "peps") and "name: more" in Path("1recipe.yaml").read_text()


def test_modules_of_the_users_own_are_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mine.py").write_text(MINE)
    (tmp_path / "more").mkdir()
    (tmp_path / "more/__init__.py").touch()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sets = ["methods=[{base: replay-half, replay: {kind: 'mine:LastReplay'}}]"]
    sent = prepare("demo", "/shared", sets, installed=True, modules=["more"])
    (tmp_path / "sent").mkdir()
    sent.pack(tmp_path / "sent")
    assert sorted(path.name for path in (tmp_path / "sent").iterdir()) == ["mine.py", "more", "study.yaml"]
    for wrong in ("nothing.py", "study.yaml", f"{tmp_path}/ticlm"):
        with pytest.raises(InputError, match=rf"--module {wrong}: expected a Python file or the folder of a package"):
            prepare("demo", "/shared", modules=[wrong])
    sys.modules.pop("mine", None)


def test_the_command_of_a_job_is_quoted_and_takes_the_files_it_names_along(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my space.py").write_text("SPACE = None\n")
    monkeypatch.chdir(tmp_path)
    job = prepare("demo", "s3://bucket/my root", command="tune './my space.py'", installed=True)
    assert job.entrypoint == "ticlm tune 'my space.py' study.yaml --root 's3://bucket/my root'"
    (tmp_path / "sent").mkdir()
    job.pack(tmp_path / "sent")
    assert sorted(path.name for path in (tmp_path / "sent").iterdir()) == ["my space.py", "study.yaml"]
    assert replace(job, installed=False, python="/opt/py thon").entrypoint.startswith(
        "'/opt/py thon' -m ticlm.platform "
    )


def test_only_the_variables_that_are_named_go_with_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HERE", "a=b")
    job = prepare("demo", "/shared", environment=["HERE", "THERE=c=d", "EMPTY="])
    assert job.environment == {"HERE": "a=b", "THERE": "c=d", "EMPTY": ""}
    assert "a=b" not in str(job.metadata) and "a=b" not in job.entrypoint


TAKES = """
import signal, sys, threading
from ticlm.platform.cli.main import main


def take():
    number = int(sys.stdin.readline())
    signal.pthread_kill(threading.get_ident(), number)


threading.Thread(target=take, daemon=True).start()
main()
"""
"""A command in which another thread takes the signal, as the system may choose it: that wakes nobody."""
STOPPED = "ticlm: stopped; the same command goes on from here\n"


def endless(root: Path, toy_study: Callable[..., Study]) -> list[str]:
    """The words of a command that trains for ever in its own process."""
    study = toy_study(
        initial={"budget": {"steps": 10**6}, "schedule": {"kind": "cosine", "max_rate": 1e-2}},
        resources={"trainer": "process", "device": "cpu", "cadence": {"steps": 10}},
    )
    (root / "toy.yaml").write_text(yaml.safe_dump(study.model_dump(mode="json")))
    return ["train", f"{root}/toy.yaml", "--root", str(root)]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "of_a_thread"),
    [(signal.SIGTERM, 143, False), (signal.SIGINT, 130, False), (signal.SIGTERM, 143, True)],
)
def test_a_run_that_is_told_to_end_gives_its_lease_back_and_says_so_in_one_line(
    toy_root: Path, toy_study: Callable[..., Study], number: int, code: int, of_a_thread: bool
) -> None:
    command = [sys.executable, *(["-c", TAKES] if of_a_thread else ["-m", "ticlm.platform"])]
    store, pipe = Store(toy_root), subprocess.PIPE
    with started([*command, *endless(toy_root, toy_study)], stdin=pipe, stderr=pipe, env=bare()) as process:
        until(lambda: trained(store) or process.poll() is not None, lambda: "no checkpoint was written")
        if not of_a_thread:
            process.send_signal(number)
        _, said = process.communicate(f"{number}\n" if of_a_thread else None, timeout=120)
    assert (process.returncode, said) == (code, STOPPED)
    assert released(store) == [True]


@pytest.mark.slow
@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_a_run_that_is_told_to_end_at_any_moment_ends(
    toy_root: Path, toy_study: Callable[..., Study], seed: int
) -> None:
    number, code = ((signal.SIGTERM, 143), (signal.SIGINT, 130))[seed % 2]
    command = [sys.executable, "-m", "ticlm.platform", *endless(toy_root, toy_study)]
    store = Store(toy_root)
    with started(command, stderr=subprocess.PIPE, env=bare()) as process:
        until(lambda: released(store) or process.poll() is not None, lambda: "no lease was taken")
        time.sleep(Random(seed).uniform(0, 4))
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
    assert (process.returncode, said) == (code, STOPPED)
    assert released(store) == [True]


FOLLOWS = """
import asyncio
from ticlm.platform.cli.exit import ended
from ticlm.platform.cluster import jobs


class Client:
    def get_address(self):
        return "http://head:8265"

    async def tail_job_logs(self, name):
        try:
            yield "a line of the log\\n"
            await asyncio.sleep(600)
        finally:
            print("closing", flush=True)
            await asyncio.sleep(2)  # the connection is closed


ended(lambda: jobs.follow(Client(), "a-job"))
"""


def test_whoever_presses_ctrl_c_twice_leaves_a_job_in_one_line() -> None:
    pipe = subprocess.PIPE
    with started([sys.executable, "-c", FOLLOWS], stdout=pipe, stderr=pipe, env=bare()) as process:
        assert process.stdout is not None
        for told in ("a line of the log\n", "closing\n"):
            assert process.stdout.readline() == told
            process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=120)
    assert process.returncode == 130
    assert said.startswith("ticlm: job a-job goes on; follow it with: ") and said.count("\n") == 1


@dataclass(frozen=True)
class Cluster:
    """A head whose nodes lack ticlm, seen from `folder` by someone who holds its token."""

    address: str
    token: str
    folder: Path

    @contextmanager
    def start(self, *command: str, **changes: str | None) -> Iterator[subprocess.Popen[str]]:
        """Start `python -m COMMAND` with the cluster's token, or with `changes` of the environment, for the block."""
        own = {"RAY_AUTH_TOKEN_PATH": self.token, "RAY_AUTH_MODE": "token", "NO_COLOR": "1"} | changes
        env = {name: value for name, value in (bare() | secret() | own).items() if value is not None}
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        with started([sys.executable, "-m", *command], cwd=self.folder, env=env, **pipes) as process:
            yield process

    def end(self, *command: str, **changes: str | None) -> tuple[int, str]:
        """Run the command to its end; returns its exit code and what it printed."""
        with self.start(*command, **changes) as process:
            said, _ = process.communicate(timeout=240)
        return process.returncode, said

    def submit(self, root: str, *more: str) -> tuple[str, ...]:
        sets = [word for change in SMALL for word in ("--set", change)]
        env = [word for name in SECRETS for word in ("--env", name)]
        return ("ticlm.platform", "submit", "demo", "--address", self.address, "--root", root, *sets, *env, *more)

    def ray(self, *words: str) -> tuple[int, str]:
        return self.end("ray.scripts.scripts", "job", words[0], "--address", self.address, *words[1:])

    def jobs(self) -> dict[str, dict[str, Any]]:
        """Every job by its id, as the dashboard has it."""
        headers = {"Authorization": f"Bearer {Path(self.token).read_text()}"}
        with urllib.request.urlopen(urllib.request.Request(f"{self.address}/api/jobs/", headers=headers)) as answer:
            return {job["submission_id"]: job for job in json.load(answer) if job["type"] == "SUBMISSION"}


def bare() -> dict[str, str]:
    """This process's environment without what concerns Ray, buckets, or where modules lie beside the environment."""
    strange = ("RAY_", "AWS_", "TICLM_")
    return {name: value for name, value in os.environ.items() if not name.startswith(strange)}


def secret() -> dict[str, str]:
    return {name: os.environ[name] for name in SECRETS}


@pytest.fixture(scope="module")
def nodes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The environment of the nodes: all that ticlm depends on, and not ticlm."""
    folder = tmp_path_factory.mktemp("nodes")
    venv.create(folder)
    python = folder / "bin/python"
    mine = sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
    Path(mine, "dependencies.pth").write_text(sysconfig.get_path("purelib"))  # a .pth file below it is not followed
    bare_env = {name: value for name, value in bare().items() if name != "PYTHONPATH"}
    code = "import ray, torch, importlib.util; print(importlib.util.find_spec('ticlm'))"
    found = subprocess.run([python, "-c", code], env=bare_env, cwd=folder, capture_output=True, text=True)
    assert found.stdout == "None\n", f"the nodes have ticlm: nothing would be tested: {found}"
    return folder


@pytest.fixture(scope="module")
def cluster(nodes: Path, s3_server: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """`ray start --head` with a token of its own, from the environment of the nodes, which hold no secrets."""
    folder, temporary = tmp_path_factory.mktemp("elsewhere"), tempfile.mkdtemp(prefix="ray", dir="/tmp")
    (token := folder / "token").write_text(secrets.token_hex(32))
    port, dashboard, client, agent = free_ports(4)
    env = {name: value for name, value in bare().items() if name != "PYTHONPATH"} | {
        "PATH": f"{nodes}/bin:{os.environ['PATH']}",
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN_PATH": str(token),
        "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0",
        "OMP_NUM_THREADS": "1",
    }
    command = f"-m ray.scripts.scripts start --head --block --disable-usage-stats --num-cpus=2 --temp-dir={temporary} "
    command += f"--port={port} --dashboard-host=127.0.0.1 --dashboard-port={dashboard} "
    command += f"--ray-client-server-port={client} --dashboard-agent-listen-port={agent}"
    with open(folder / "head.log", "w") as log:
        head = subprocess.Popen([nodes / "bin/python", *command.split()], env=env, cwd=folder, stdout=log, stderr=log)
    made = Cluster(f"http://127.0.0.1:{dashboard}", str(token), folder)

    def runs() -> bool:
        assert head.poll() is None, (folder / "head.log").read_text()
        return "Ray runtime started" in (folder / "head.log").read_text() and answers(made)

    try:
        until(runs, lambda: (folder / "head.log").read_text())
        yield made
    finally:
        processes = children(head.pid)
        head.terminate()
        for process in psutil.wait_procs(processes, timeout=15)[1]:
            process.kill()
        head.wait(10)
        shutil.rmtree(temporary, ignore_errors=True)


def children(pid: int) -> list[psutil.Process]:
    """The process and all below it; none if it has ended."""
    with suppress(psutil.NoSuchProcess):
        return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    return []


def answers(cluster: Cluster) -> bool:
    try:
        return cluster.jobs() == {}
    except (URLError, OSError):
        return False


def until(true: Callable[[], Any], otherwise: Callable[[], str], timeout_s: float = 800) -> None:
    deadline = time.monotonic() + timeout_s
    while not true():
        assert time.monotonic() < deadline, otherwise()
        time.sleep(0.1)


def trained(store: Store) -> list[str]:
    """Mid-round checkpoints that are whole."""
    return [path for path in store.walk("rounds") if "/steps/" in path and path.endswith("record.json")]


def released(store: Store) -> list[bool]:
    """Of each lease, whether its holder gave it back."""
    with suppress(FileNotFoundError):  # the next one has just removed it
        return [store.read_json(f"leases/{file}")["released"] for file in store.files("leases")]
    return []


def is_log(text: str) -> bool:
    """Whether it is lines of text: no bars that are drawn again and again, no colours."""
    return bool(text) and not any(sign in text for sign in "\r\x1b\b")


def last_line(text: str) -> str:
    return text.strip().splitlines()[-1]


@on_a_cluster
def test_whoever_has_no_token_is_refused(cluster: Cluster, tmp_path: Path) -> None:
    with pytest.raises(HTTPError) as caught:
        urllib.request.urlopen(f"{cluster.address}/api/jobs/")
    assert caught.value.code == 401
    (tmp_path / "wrong").write_text("wrong")
    nobody: dict[str, str | None] = {"HOME": str(tmp_path), "RAY_AUTH_MODE": None, "RAY_AUTH_TOKEN_PATH": None}
    wrong: dict[str, str | None] = {"RAY_AUTH_TOKEN_PATH": f"{tmp_path}/wrong"}
    for code, changes in (("401", nobody), ("403", wrong)):
        ended, said = cluster.end(*cluster.submit("s3://bucket/root"), **changes)
        assert ended == 2 and code in said and "RAY_AUTH_TOKEN_PATH" in said and said.count("\n") == 1, said
    gone: tuple[str, ...] = ("--address", f"http://127.0.0.1:{free_ports(1)[0]}")
    ended, said = cluster.end(*cluster.submit("s3://bucket/root", *gone))
    assert ended == 2 and "no Ray answers" in said and said.count("\n") == 1, said
    assert cluster.jobs() == {}, "nothing was sent"


@on_a_cluster
@pytest.mark.nightly
@pytest.mark.timeout(1200)
def test_the_demo_is_stopped_and_goes_on_to_the_weights_of_an_unbroken_run(
    cluster: Cluster, s3_bucket: str, tmp_path: Path, train_world: Callable[..., None]
) -> None:
    store = Store(f"{s3_bucket}/root")
    with cluster.start(*cluster.submit(store.root)) as first:
        assert first.stdout is not None
        told = first.stdout.readline()
        name = told.split()[1]
        assert told == f"job {name} at {cluster.address}\n"
        until(lambda: name in cluster.jobs(), lambda: told)
        twice, said = cluster.end(*cluster.submit(store.root))
        assert (twice, said.count("\n")) == (2, 1) and f"already, as job {name}" in said
        assert list(cluster.jobs()) == [name]
        until(lambda: trained(store) or first.poll() is not None, lambda: str(cluster.jobs()))

        assert cluster.ray("stop", name)[0] == 0
        said, _ = first.communicate(timeout=240)
    assert first.returncode == 1 and "was stopped" in last_line(said), said
    assert "ticlm: stopped; the same command goes on from here" in said and is_log(said)
    assert released(store) == [True]
    study = load("demo", SMALL)
    made = plan.make(study, store.root)
    assert made.chains and not made.records, "it was finished already: nothing was tested"

    with cluster.start(*cluster.submit(store.root)) as second:
        assert second.stdout is not None
        name = second.stdout.readline().split()[1]
        until(lambda: False in released(store), lambda: cluster.ray("logs", name)[1])
        second.send_signal(signal.SIGINT)  # whoever follows it leaves; the job goes on
        said, _ = second.communicate(timeout=240)
    assert second.returncode == 130 and f"job {name} goes on" in last_line(said) and "ray job stop" in said
    until(lambda: cluster.jobs()[name]["status"] not in ("PENDING", "RUNNING"), lambda: cluster.ray("logs", name)[1])
    ended = cluster.jobs()[name]
    assert (ended["status"], ended["driver_exit_code"]) == ("SUCCEEDED", 0), cluster.ray("logs", name)[1]
    assert (
        ended["metadata"].items()
        >= {
            "study": "demo",
            "fingerprint": fingerprint.fingerprint(study),
            "command": "run",
            "root": store.root,
        }.items()
    )

    made = plan.make(study, store.root)
    assert len(made.records) == 2 and not made.pending()
    compare(made, store, tmp_path, train_world)


@on_a_cluster
def test_a_job_ends_as_its_command_does(cluster: Cluster, s3_bucket: str) -> None:
    ended, said = cluster.end(*cluster.submit(f"{s3_bucket}/empty", "--set", "corpus=nothing"))
    assert ended == 2 and "corpus nothing@1: not there yet" in last_line(said) and is_log(said), said
    ended, said = cluster.end(*cluster.submit(f"{s3_bucket}/empty", "--python", "no-such-python"))
    assert ended == 127 and "no-such-python" in last_line(said)


@on_a_cluster
def test_a_class_of_the_users_own_goes_along(cluster: Cluster, s3_bucket: str) -> None:
    """The job gets as far as the corpus, so the study's class was found on a node that never had it."""
    (cluster.folder / "mine.py").write_text(MINE)
    method = "methods=[{base: replay-half, replay: {kind: 'mine:LastReplay'}}]"
    ended, printed = cluster.end(*cluster.submit(f"{s3_bucket}/empty", "--set", "corpus=nothing", "--set", method))
    assert ended == 2 and "corpus nothing@1: not there yet" in last_line(printed), printed


@on_a_cluster
@pytest.mark.nightly
def test_plain_ray_job_submit_runs_a_study_that_lies_in_a_bucket(
    cluster: Cluster, s3_bucket: str, toy_corpus: Callable[..., Any], toy_study: Callable[..., Study]
) -> None:
    store = Store(f"{s3_bucket}/root")
    toy_corpus(f"{store.root}/corpora/toy@1")
    study = toy_study(
        periods={"initial": "202301", "last": "202302"},
        methods=[{"base": "cyclic-cosine", "schedule": {"max_rate": 5e-3, "warmup_steps": 1}}],
        resources={"trainer": "ray", "device": "cpu", "chains": 1, "evaluators": 1},
    )
    data = study.model_dump(mode="json")
    store.write("study.yaml", yaml.safe_dump(data).encode())
    words = ("python", "-m", "ticlm.platform.cli.main", "run", f"{store.root}/study.yaml", "--root", store.root)
    env = ("--runtime-env-json", json.dumps({"env_vars": secret()}))
    ended, said = cluster.ray("submit", "--working-dir", str(ROOT / "src"), *env, "--", *words)
    assert ended == 0, said
    assert not plan.make(study, store.root).pending() and "Log-perplexity" in said


def compare(made: plan.Plan, store: Store, tmp_path: Path, train_world: Callable[..., None]) -> None:
    """The rounds of a plan that is done against those of a process that nobody stopped, on the same corpus."""
    (chain,) = made.chains
    work = replace(work_of(made, chain), root=str(tmp_path / "unbroken"))
    train_world(work, 1)
    unbroken = Store(work.root)
    for round_id in work.ids:
        mine, theirs = (s.read(f"{published(s, round_id)}/model.safetensors") for s in (store, unbroken))
        assert mine == theirs
    record = read_record(store, round_folder(work.ids[0]))
    assert record is not None and record.about["measured"]["tokens"] < record.about["tokens"], "it began anew"
