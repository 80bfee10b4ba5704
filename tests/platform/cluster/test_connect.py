"""Storage on a cluster of two nodes: what both reach passes, and the node that cannot reach it is named."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from ticlm.platform.cluster import connect
from ticlm.platform.core.errors import InputError, RunError
from ticlm.platform.core.store import Store

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
        ((code, answers),) = forks(partial(checked, folder, *roots), log=tmp_path / "log", timeout_s=120)
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


def test_a_local_ray_that_does_not_start_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    import ray

    def late(**_: Any) -> None:
        raise Exception("The current node timed out during startup. This could happen because some of the\nprocesses")

    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    monkeypatch.setattr(ray, "init", late)
    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "shutdown", lambda: None)
    with pytest.raises(RunError) as caught, connect.connected(1):
        pass
    assert str(caught.value).startswith("Ray did not start on this machine (Exception: The current node timed out")
    assert "\n" not in str(caught.value)
