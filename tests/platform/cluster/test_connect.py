"""Storage on a cluster of two nodes: what both reach passes, and the node that cannot reach it is named."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest
from ports import free_ports

from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.platform.cluster import connect

Forks = Callable[..., list[tuple[int, Any]]]


def test_what_one_process_wrote_another_must_find_as_it_was(store: Store) -> None:
    store.write("probes/probe", b"here")
    assert connect.against(store.root, "probes", "node", b"here") == ""
    assert store.read("probes/node") == b"here", "it can write there as well"
    assert "something else" in connect.against(store.root, "probes", "node", b"there")
    assert "is not there" in connect.against(store.root, "elsewhere", "node", b"here")
    assert connect.against("nothing://bucket", "probes", "node", b"").startswith("InputError: root nothing://bucket")
    assert not store.exists("elsewhere"), "nothing is made where there was nothing"


def checked(folder: str, *roots: str) -> list[str]:
    """Check each root on a head, 127.0.0.2, and a node, 127.0.0.3; returns "reached" or the error of each.

    The workers of each run in a folder of their own, so that /proc/self/cwd differs between them, as a path does on two
    machines.
    """
    os.environ["RAY_TMPDIR"] = folder
    import ray
    from ray.cluster_utils import Cluster

    cluster, answers = Cluster(), []
    try:
        for name, address in {"head": "127.0.0.2", "node": "127.0.0.3"}.items():
            os.mkdir(f"{folder}/{name}")
            os.chdir(f"{folder}/{name}")
            cluster.add_node(num_cpus=0, include_dashboard=False, node_ip_address=address)
        os.chdir(f"{folder}/head")
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR", _node_ip_address="127.0.0.2")
        for root in roots:
            try:
                connect.check(root)
                answers.append("reached")
            except InputError as error:
                answers.append(str(error))
    finally:
        ray.shutdown()
        for node in cluster.list_all_nodes():
            node.kill_all_processes(check_alive=False, allow_graceful=False)
    return answers


@pytest.mark.ray
@pytest.mark.slow
def test_a_node_that_cannot_reach_the_root_is_named_in_one_line(forks: Forks, s3_bucket: str, tmp_path: Path) -> None:
    folder = tempfile.mkdtemp(prefix="re", dir="/tmp")  # short: sockets live in it
    try:
        roots = (f"{tmp_path}/shared", f"{s3_bucket}/root", "/proc/self/cwd/root")
        ((code, answers),) = forks(partial(checked, folder, *roots), log=tmp_path / "log", timeout_s=400)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    assert code == 0, (tmp_path / "log").read_text()[-3000:]
    assert answers[:2] == ["reached"] * 2
    assert answers[2].startswith("root /proc/self/cwd/root cannot be reached from node 127.0.0.3: ")
    assert "a path that all nodes share" in answers[2] and "\n" not in answers[2]
    assert not list((tmp_path / "shared").iterdir()) and not Store(f"{s3_bucket}/root").walk(), "what it wrote is left"


@pytest.mark.ray
@pytest.mark.slow
def test_a_single_node_needs_no_check(ray_local: None, tmp_path: Path) -> None:
    connect.check(f"{tmp_path}/root")
    assert not list(tmp_path.iterdir())


JOINS = """
import sys
from ticlm.platform.cli.exit import ended


def train():
    from ticlm.platform.cluster import connect

    with connect.connected(1):
        print("joined")


def build():
    from ticlm.datasets.io.ray_map import running_ray

    with running_ray():
        print("joined")


ended({"train": train, "build": build}[sys.argv[1]])
"""


@contextmanager
def head(folder: Path, mode: str) -> Iterator[str]:
    """Run `ray start --head` in a home of its own, with a token or without one; yields its address."""
    temporary = tempfile.mkdtemp(prefix="he", dir="/tmp")  # short: sockets live in it
    below: list[psutil.Process] = []
    folder.mkdir(exist_ok=True)
    port, client, agent = free_ports(3)
    words = f"-m ray.scripts.scripts start --head --block --disable-usage-stats --num-cpus=1 --temp-dir={temporary} "
    words += f"--port={port} --include-dashboard=false --ray-client-server-port={client} "
    words += f"--dashboard-agent-listen-port={agent}"
    with open(folder / f"{mode}.log", "w") as log:
        env = bare(folder) | {"RAY_AUTH_MODE": mode, "RAY_GRACEFUL_SHUTDOWN_DRAIN_TIMEOUT_S": "0"}
        process = subprocess.Popen([sys.executable, *words.split()], env=env, stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 300
        while "Ray runtime started" not in (folder / f"{mode}.log").read_text():
            assert process.poll() is None and time.monotonic() < deadline, (folder / f"{mode}.log").read_text()
            time.sleep(0.2)
        yield f"127.0.0.1:{port}"
    finally:
        with suppress(psutil.NoSuchProcess):  # one that did not start has said why above
            below = psutil.Process(process.pid).children(recursive=True)
        process.terminate()
        for child in psutil.wait_procs(below, timeout=15)[1]:
            child.kill()
        process.wait(30)
        shutil.rmtree(temporary, ignore_errors=True)


def bare(home: Path) -> dict[str, str]:
    """This process's environment with another home, and without what concerns Ray."""
    home.mkdir(exist_ok=True)
    return {name: value for name, value in os.environ.items() if not name.startswith("RAY_")} | {"HOME": str(home)}


def joined(address: str, home: Path, by: str = "train", **more: str) -> tuple[int, str]:
    """Join a Ray with what a home holds, as a training or a build does; returns the exit code and what was said.

    Without the lines of Ray's own core on the same stream, which cannot be had otherwise: its level has a line, too.
    """
    env = bare(home) | {"RAY_ADDRESS": address, **more}
    done = subprocess.run([sys.executable, "-c", JOINS, by], env=env, capture_output=True, text=True, timeout=300)
    return done.returncode, re.sub(
        r"^\[[-\d]+ [:,\d]+ [WE] \d+ \d+\] \w+\.cc:.*\n", "", done.stdout + done.stderr, flags=re.M
    )


@pytest.mark.ray
@pytest.mark.slow
@pytest.mark.nightly
def test_a_token_that_only_one_side_has_is_named_with_a_remedy_that_works(tmp_path: Path) -> None:
    with_token, cluster, token = tmp_path / "with", tmp_path / "cluster", "1" * 64
    for home, text in ((with_token, "0" * 64), (cluster, token)):  # a head in token mode does not start without one
        (home / ".ray").mkdir(parents=True)
        (home / ".ray/auth_token").write_text(text)
    with head(tmp_path / "none", "disabled") as address:
        for by in ("train", "build"):
            code, said = joined(address, with_token, by)
            assert code == 2 and said.count("\n") == 1, said
            assert "no token" in said and "~/.ray/auth_token" in said and "memory" not in said
            assert "RAY_AUTH_MODE=disabled" in said
        assert joined(address, with_token, RAY_AUTH_MODE="disabled") == (0, "joined\n")
    with head(cluster, "token") as address:
        code, said = joined(address, tmp_path / "nobody")
        assert code == 2 and said.count("\n") == 1, said
        assert said.startswith("ticlm: ") and "whose token you have" in said, said
        assert joined(address, tmp_path / "nobody", RAY_AUTH_TOKEN=token) == (0, "joined\n")
        assert joined(address, cluster, "build") == (0, "joined\n"), "by the file"
