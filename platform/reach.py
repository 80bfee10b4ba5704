"""Whether every node of a cluster reaches the root: what one node writes, all others must read, and the reverse."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from typing import Any

from ticlm.platform.errors import InputError
from ticlm.platform.store import Store

PATIENCE_S = 60.0
NAMED = 5


def check(root: str) -> None:
    """InputError in one line that names the nodes which cannot read and write the root as this process does.

    To be called with Ray connected; with one node there is nothing to check. Nodes that go meanwhile are not counted.
    What is written for it is removed.
    """
    import ray

    nodes = {node["NodeID"]: node["NodeManagerAddress"] for node in ray.nodes() if node["Alive"]}
    if len(nodes) < 2:
        return
    store, folder, content = Store(root), f".reach-{uuid.uuid4().hex}", os.urandom(32)
    try:
        store.write(f"{folder}/probe", content)
        reasons = _asked(list(nodes), root, folder, content)
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


def _asked(nodes: list[str], root: str, folder: str, content: bytes) -> Mapping[str, str]:
    """What each node has against the root; nothing for those that are gone."""
    import ray
    from ray.exceptions import RayError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    ask = ray.remote(num_cpus=0, max_retries=0)(against)
    answers: dict[Any, str] = {}
    for node in nodes:
        here = NodeAffinitySchedulingStrategy(node, soft=False)
        answers[ask.options(scheduling_strategy=here).remote(root, folder, node, content)] = node
    done, waiting = ray.wait(list(answers), num_returns=len(answers), timeout=PATIENCE_S)
    found = {answers[answer]: f"no answer within {PATIENCE_S:.0f} s" for answer in waiting}
    for answer in done:
        try:
            found[answers[answer]] = ray.get(answer)
        except RayError as error:
            found[answers[answer]] = _told(error)
    alive = {node["NodeID"] for node in ray.nodes() if node["Alive"]}
    return {node: reason for node, reason in found.items() if node in alive}


def against(root: str, folder: str, name: str, content: bytes) -> str:
    """Why this process cannot read `probe` in a folder of the root, or write there; empty where it can."""
    try:
        store = Store(root)
        if not store.exists(f"{folder}/probe"):
            return "what this process wrote is not there"
        if store.read(f"{folder}/probe") != content:
            return "it reads something else than was written"
        store.write(f"{folder}/{name}", content)
    except Exception as error:  # whatever the filesystem's library raises
        return _told(error)
    return ""


def _told(error: Exception) -> str:
    if "No module named 'ticlm'" in str(error):
        return "it has no module ticlm: install it there, or send it with ticlm submit"
    reason = error.strerror if isinstance(error, OSError) and error.strerror else f"{error}"
    lines = f"{type(error).__name__}: {reason}".splitlines()
    return " ".join(lines[0].split())
