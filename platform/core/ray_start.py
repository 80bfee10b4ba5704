"""How this project's processes start or join a Ray: from where its workers import, who may read its token, and what Ray
says of a process that it lost."""

from __future__ import annotations

import logging
import os
import re
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ticlm.platform.core import extensions
from ticlm.platform.core.remote.patient import VARIABLE
from ticlm.platform.core.signals import keeping_sigterm

UNOWNED = "all references to the actor were removed"
"""What Ray says of an actor whose owner it cannot ask, although the owner has a handle of the actor."""


def arguments() -> dict[str, Any]:
    """Return the arguments of `ray.init` for a job whose workers import nothing from the driver's current folder.

    Ray puts that folder first on the path of its workers, so that a `queue.py` there would run in place of Python's
    own. If this process has found a class of the user's own in the current folder, workers search it as this process
    does, after everything that is installed. They are as patient with storage as this process.
    """
    from ray.job_config import JobConfig

    class Job(JobConfig):  # type: ignore[misc]
        def _runtime_env_has_working_dir(self) -> bool:
            return True  # Ray adds no folder to the path of a job that brings its own

    folders, patience = extensions.own_folders(), os.environ.get(VARIABLE)

    def prepare() -> None:
        sys.path.extend(folder for folder in folders if folder not in sys.path)
        if patience is not None:  # not by `env_vars`, as Ray refuses those that a submitted job has, too
            os.environ.setdefault(VARIABLE, patience)

    needed = folders or patience is not None
    return {"job_config": Job(), **({"runtime_env": {"worker_process_setup_hook": prepare}} if needed else {})}


def connect() -> bool:
    """Connect to the Ray at RAY_ADDRESS, or start a local one; return whether that was needed."""
    import ray

    if ray.is_initialized():
        return False
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, **arguments()}
    if not os.environ.get("RAY_ADDRESS"):
        make_token()
        quiet |= {"address": "local", "include_dashboard": False}
    with keeping_sigterm():
        ray.init(**quiet)
    return True


def make_token() -> None:
    """Write a token for the local Ray, which only this user may read, unless there is one or Ray shall use none.

    Where the home cannot be written, the token is in the environment of this process instead.

    Ray would write it itself, for everybody to read; whoever has it can run code as this user.
    """
    named = "RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ
    if named or os.environ.get("RAY_AUTH_MODE", "token").lower() != "token":
        return
    path = Path.home() / ".ray" / "auth_token"
    new = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError), os.fdopen(os.open(path, new, 0o600), "w") as file:
            file.write(secrets.token_hex(32))
    except OSError:  # a home that cannot be written, as in many containers: the token lives as long as this process
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


def reason_of(error: BaseException) -> str:
    """Return the reason that Ray gives for a lost actor, task or worker, on one line of at most 200 characters."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    said = [line for line in lines[1:] if not re.match(r"(class_name|actor_id|pid|name|namespace|ip): ", line)]
    detail = re.search(r"(?:exit detail|Reason): *([^.\n]+)", str(error))
    reason = detail[1] if detail else (said or lines or [type(error).__name__])[0]
    return " ".join(reason.split())[:200].rstrip(".")
