"""Connecting to Ray: start or join one, show its token, and check that every node reaches the root.

A node reaches the root if it reads what this process wrote there, and can write there itself.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ticlm.platform.cluster import head, ray_internals
from ticlm.platform.core import ray_start
from ticlm.platform.core.errors import InputError, RunError
from ticlm.platform.core.signals import keeping_sigterm
from ticlm.platform.core.store import Store

PATIENCE_S = 60.0
NAMED = 5
STARTS = 3


def check(root: str) -> None:
    """Check that all nodes of the connected Ray read and write the root as this process does; removes what it wrote.

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


TOKEN_FILE = "~/.ray/auth_token"
TOKEN_PLACES = f"RAY_AUTH_TOKEN, the file that RAY_AUTH_TOKEN_PATH names, and {TOKEN_FILE}"


def show_token() -> bool:
    """Make Ray's clients in this process show the token, if there is one and RAY_AUTH_MODE is not set.

    Returns whether this call has changed the mode.
    """
    if "RAY_AUTH_MODE" in os.environ or not _has_token():
        return False
    os.environ["RAY_AUTH_MODE"] = "token"
    return True


def _has_token() -> bool:
    named = "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    return named or Path(TOKEN_FILE).expanduser().is_file()


@contextmanager
def connected(cpus: int, dashboard: bool = False, root: str | None = None) -> Iterator[str]:
    """Provide a running Ray: the one already initialised, the one at RAY_ADDRESS, or a local one for the block.

    Yields the address of its dashboard, or "" if it has none. Raises InputError if it cannot be joined, or if one of
    its nodes does not reach the root, and RunError if a local one does not start.
    """
    address = os.environ.get("RAY_ADDRESS")
    if address:
        show_token()  # before the import: Ray reads RAY_AUTH_MODE once, when it is loaded
    import ray

    if ray.is_initialized():
        yield ""
        return
    ray_internals.keep_devices_visible()
    with ray_internals.quiet_raylets():
        context = _joined(address) if address else _started(cpus, dashboard)
        try:
            with head.watched(context.address_info["gcs_address"]):
                if root is not None:
                    check(root)
                yield f"http://{context.dashboard_url}" if context.dashboard_url else ""
        finally:
            ray.shutdown()


def _started(cpus: int, dashboard: bool) -> Any:
    """Start a Ray of our own on this machine. Raises RunError, in one line, if it does not come up."""
    import ray

    ray_start.make_token()
    try:
        with keeping_sigterm():
            return ray.init(
                address="local",
                num_cpus=max(cpus, os.cpu_count() or 1),
                include_dashboard=dashboard,
                log_to_driver=False,
                logging_level="ERROR",
                **ray_start.arguments(),
            )
    except Exception as error:  # Ray raises a bare Exception when one of its processes does not answer in time
        ray.shutdown()
        raise RunError(
            f"Ray did not start on this machine ({_one_line(error)}); run the same command again when the machine is "
            "less busy and its temporary folder has room"
        ) from None


def _joined(address: str) -> Any:
    """Join the Ray at RAY_ADDRESS. Raises InputError, in one line, if there is none or it refuses us."""
    import ray

    try:
        with keeping_sigterm():
            context = ray.init(log_to_driver=False, logging_level="ERROR", **ray_start.arguments())
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(
            f"RAY_ADDRESS {address}: no Ray that can be joined there ({type(error).__name__}: {reason}); give "
            "HEAD:6379 of a cluster whose token you have, or unset it"
        ) from None
    try:
        check_owner(address)
    except BaseException:
        ray.shutdown()
        raise
    return context


def check_owner(address: str) -> None:
    """Have an actor of this process answer once: a Ray that can be joined may still not reach those who joined it.

    It starts again if its node is lost. Raises InputError, with Ray's reason, if it dies of anything else. An actor
    that only does not begin says nothing.
    """
    import ray

    class Silent:  # in a function, so that it travels whole: nodes need not have this module
        def answer(self) -> None:
            pass

    actor = ray.remote(num_cpus=0, max_restarts=STARTS, max_task_retries=STARTS)(Silent).remote()
    try:
        ray.get(actor.answer.remote(), timeout=PATIENCE_S)
    except ray.exceptions.GetTimeoutError:
        pass
    except ray.exceptions.RayError as error:
        raise InputError(f"RAY_ADDRESS {address}: {_refusal(error)}") from None
    finally:
        ray.kill(actor)


def _refusal(error: Exception) -> str:
    """Return why a Ray that was joined does not work for this process, and what helps, on one line."""
    reason = ray_start.reason_of(error)
    if ray_start.UNOWNED not in reason or os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        return f"it was joined, but an actor that does nothing died there ({reason})"
    named = [name for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH") if name in os.environ]
    return (
        f"that Ray has no token, and this process asks whoever calls it for the one in {(*named, TOKEN_FILE)[0]}; run "
        f"the same command again with RAY_AUTH_MODE=disabled (Ray says: {reason})"
    )
