"""Whether every node of a cluster reaches the root: what one node writes, all others must read, and the reverse."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ticlm.platform.core.errors import InputError
from ticlm.platform.core.signals import heed_sigterm
from ticlm.platform.core.store import Store

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


PLACES = "RAY_AUTH_TOKEN, the file that RAY_AUTH_TOKEN_PATH names, and ~/.ray/auth_token"


def show_token() -> bool:
    """Have Ray's clients in this process show the token, where there is one and nothing else is said; whether this has
    just been decided here."""
    if "RAY_AUTH_MODE" in os.environ or not _has_token():
        return False
    os.environ["RAY_AUTH_MODE"] = "token"
    return True


def _has_token() -> bool:
    named = "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    return named or Path("~/.ray/auth_token").expanduser().is_file()


@contextmanager
def connected(cpus: int, dashboard: bool = False, root: str | None = None) -> Iterator[str]:
    """A running Ray: the one already initialised, that of RAY_ADDRESS, or a local one for the time of the block. Gives
    the address of its dashboard, if any. InputError where not all of its nodes reach the root."""
    import ray

    if ray.is_initialized():
        yield ""
        return
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    address = os.environ.get("RAY_ADDRESS")
    if address:
        context = _joined(address)
    else:
        context = ray.init(
            address="local",
            num_cpus=max(cpus, os.cpu_count() or 1),
            include_dashboard=dashboard,
            log_to_driver=False,
            logging_level="ERROR",
        )
    heed_sigterm()
    try:
        if root is not None:
            check(root)
        yield f"http://{context.dashboard_url}" if context.dashboard_url else ""
    finally:
        ray.shutdown()


def _joined(address: str) -> Any:
    """The Ray at RAY_ADDRESS; InputError in one line where there is none, or one that does not let us in."""
    import ray

    show_token()
    try:
        return ray.init(log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        said = " ".join(str(error).split())[:200]
        raise InputError(
            f"RAY_ADDRESS {address}: no Ray that can be joined there ({type(error).__name__}: {said}); give HEAD:6379 "
            "of a cluster whose token you have, or unset it"
        ) from None
