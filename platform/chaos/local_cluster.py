"""A Ray cluster of several nodes on this machine, whose processes can be killed one by one."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from ticlm.core.remote import ray_start
from ticlm.core.signals import keeping_sigterm

WORKERS = ("RayTrainWorker", "_Evaluator")
"""Names that Ray gives to the processes of training workers and of evaluators."""


@dataclass
class LocalCluster:
    """A head without CPUs, and nodes of one CPU each, as processes of this machine."""

    cluster: Any
    nodes: list[Any] = field(default_factory=list)

    @property
    def address(self) -> str:
        return str(self.cluster.address)

    def add_node(self) -> None:
        with keeping_sigterm():
            self.nodes.append(self.cluster.add_node(num_cpus=1))

    def kill_node(self, pick: float) -> str:
        """Kill a node with all its processes, without a word to the head, and return its address. `pick` is a random
        number in [0, 1)."""
        node = self.nodes.pop(int(pick * len(self.nodes)))
        name = f"{node.node_ip_address}:{node.node_manager_port}"
        self.cluster.remove_node(node, allow_graceful=False)
        return name

    def workers(self) -> list[Any]:
        """Return the processes that train or evaluate now, as `psutil.Process`, in the order of their ids."""
        import psutil

        found = []
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                if any(name in " ".join(process.cmdline()[:1]) for name in WORKERS):
                    found.append(process)
        return sorted(found, key=lambda process: int(process.pid))


@contextmanager
def local_cluster(nodes: int, environment: Mapping[str, str]) -> Iterator[LocalCluster]:
    """Run a cluster of this many nodes for the time of the block. Its workers have `environment`."""
    folder = tempfile.mkdtemp(prefix="tc", dir="/tmp")  # short: sockets live in it
    changed = {"RAY_TMPDIR": folder, **environment}
    before = {name: os.environ.get(name) for name in (*changed, "RAY_AUTH_MODE")}
    os.environ.update(changed)
    ray_start.make_token()
    ray_start.show_token()  # its processes and its drivers must agree on whether there is one
    from ray.cluster_utils import Cluster  # after that: Ray reads the environment once

    cluster = None
    try:
        with keeping_sigterm():
            cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
        made = LocalCluster(cluster)
        for _ in range(nodes):
            made.add_node()
        yield made
    finally:
        if cluster is not None:
            cluster.shutdown()
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})
        shutil.rmtree(folder, ignore_errors=True)
