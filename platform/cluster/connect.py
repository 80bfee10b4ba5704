"""Connecting to Ray: start or join one for the time of a command, and check that every node reaches the root.

A node reaches the root if it reads what this process wrote there, and can write there itself.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ticlm.core.errors import InputError
from ticlm.core.remote import ray_start
from ticlm.core.store import Store
from ticlm.platform.cluster import head, ray_internals

PATIENCE_S = 60.0
NAMED = 5  # nodes that an error lists


def check(root: str) -> None:
    """Check that all nodes of the connected Ray read and write the root as this process does; leave no file there.

    Nothing is checked on a cluster of one node, and nodes that go meanwhile are not counted. Raises InputError, in one
    line, with the nodes that do not reach the root.
    """
    import ray

    nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
    if len(nodes) < 2:
        return
    store, folder, content = Store(root), f".reach-{uuid.uuid4().hex}", os.urandom(32)
    try:
        store.write(f"{folder}/probe", content)
        reasons = _ask(list(nodes), root, folder, content)
    finally:
        store.remove(folder)
    failed = {node: reason for node, reason in reasons.items() if reason}
    if failed:
        reason = next(iter(failed.values()))
        ips = sorted({nodes[node] for node in failed})
        more = f" and {len(ips) - NAMED} more" if len(ips) > NAMED else ""
        raise InputError(
            f"root {root} cannot be reached from node{'s' if len(ips) > 1 else ''} {', '.join(ips[:NAMED])}{more}: "
            f"{reason}; give --root a path that all nodes share, or s3://… or gs://… with credentials on all nodes"
        )


def _ask(nodes: list[str], root: str, folder: str, content: bytes) -> Mapping[str, str]:
    """Return for each node that is still there why it does not reach the root; empty if it does."""
    import ray
    from ray.exceptions import RayError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    task = ray.remote(num_cpus=0, max_retries=0)(against)
    answers: dict[Any, str] = {}
    for node in nodes:
        here = NodeAffinitySchedulingStrategy(node, soft=False)
        answers[task.options(scheduling_strategy=here).remote(root, folder, node, content)] = node
    done, waiting = ray.wait(list(answers), num_returns=len(answers), timeout=PATIENCE_S)
    reasons = {answers[answer]: f"no answer within {PATIENCE_S:.0f} s" for answer in waiting}
    for answer in done:
        try:
            reasons[answers[answer]] = ray.get(answer)
        except RayError as error:
            reasons[answers[answer]] = _one_line(error)
    alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
    return {node: reason for node, reason in reasons.items() if node in alive}


def against(root: str, folder: str, name: str, content: bytes) -> str:
    """Return why this process cannot read `probe` in a folder of the root, or write `name` there; empty if it can."""
    try:
        store = Store(root)
        if not store.exists(f"{folder}/probe"):
            return "what this process wrote is not there"
        if store.read(f"{folder}/probe") != content:
            return "it reads something else than was written"
        store.write(f"{folder}/{name}", content)
    except Exception as error:  # whatever the filesystem's library raises
        return _one_line(error)
    return ""


def _one_line(error: Exception) -> str:
    if "No module named 'ticlm'" in str(error):
        return "it has no module ticlm: install it there, or send it with ticlm submit"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else f"{error}"
    lines = f"{type(error).__name__}: {reason}".splitlines()
    return " ".join(lines[0].split())


@contextmanager
def connected(cpus: int, dashboard: bool = False, root: str | None = None) -> Iterator[str]:
    """Provide a running Ray: the one already initialised, the one at RAY_ADDRESS, or a local one for the block.

    Yields the address of its dashboard, or "" if it has none. Raises InputError if it cannot be joined, or if one of
    its nodes does not reach the root, and RunError if a local one does not start.
    """
    address = ray_start.address_to_join()
    import ray

    if ray.is_initialized():
        yield ""
        return
    ray_internals.keep_devices_visible()
    with ray_internals.quiet_raylets():
        most = max(cpus, ray_start.cores())
        context = ray_start.joined(address) if address else ray_start.started(most, dashboard)
        try:
            with head.watched(context.address_info["gcs_address"]):
                if root is not None:
                    check(root)
                yield f"http://{context.dashboard_url}" if context.dashboard_url else ""
        finally:
            ray.shutdown()
