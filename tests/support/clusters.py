"""Small Rays of several nodes on this machine, whose nodes tests kill."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LOOPBACK = "127.0.0.2"
"""Where these Rays live: a driver would take 127.0.0.1 for this machine's address in its network."""


@contextmanager
def cluster_of(nodes: int) -> Iterator[tuple[Any, list[Any]]]:
    """A Ray of a head without CPUs, where this process is, and so many nodes of one CPU."""
    folder = tempfile.mkdtemp(prefix="el", dir="/tmp")  # short: sockets live in it
    os.environ["RAY_TMPDIR"] = folder
    import ray
    from ray.cluster_utils import Cluster

    cluster = Cluster()
    try:
        cluster.add_node(num_cpus=0, include_dashboard=False, node_ip_address=LOOPBACK)
        added = [cluster.add_node(num_cpus=1, node_ip_address=LOOPBACK) for _ in range(nodes)]
        ray.init(address=cluster.address, log_to_driver=False, logging_level="ERROR", _node_ip_address=LOOPBACK)
        yield cluster, added
    finally:
        ray.shutdown()
        for node in cluster.list_all_nodes():
            node.kill_all_processes(check_alive=False, allow_graceful=False)
        shutil.rmtree(folder, ignore_errors=True)
