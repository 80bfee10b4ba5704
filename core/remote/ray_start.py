"""How this project's processes start or join a Ray: from where its workers import, who may read its token, why it
cannot be, and what Ray says of a process that it lost. Trainings, evaluations and builds all come here."""

from __future__ import annotations

import os
import re
import secrets
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from ticlm.core import extensions
from ticlm.core.errors import InputError, RunError
from ticlm.core.remote.patient import VARIABLE
from ticlm.core.signals import keeping_sigterm

QUIET = {"log_to_driver": False, "logging_level": "ERROR"}
PATIENCE_S = 60.0
STARTS = 3
TOO_SLOW = "timed out during startup"
"""In the error of a node that was not there after 30 s, a limit of Ray's that nothing sets: a busy machine may need it
twice."""
TOKEN_FILE = "~/.ray/auth_token"
TOKEN_VARIABLES = ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")
TOKEN_PLACES = f"RAY_AUTH_TOKEN, the file that RAY_AUTH_TOKEN_PATH names, and {TOKEN_FILE}"
UNOWNED = "all references to the actor were removed"
"""What Ray says of an actor whose owner it cannot ask, although the owner has a handle of the actor."""


def arguments() -> dict[str, Any]:
    """Return the arguments of `ray.init` for a job whose workers import nothing from the driver's current folder.

    Ray puts that folder first on the path of its workers, so that a `queue.py` there would run in place of Python's
    own. If this process has found a class of the user's own in the current folder, workers search it as this process
    does, after everything that is installed. They are as patient with storage as this process.
    """
    from ray.job_config import JobConfig

    # Ray adds the driver's folder to the path of a job, unless the job brings a folder of its own.
    class WithoutFolder(JobConfig):  # type: ignore[misc]
        def _runtime_env_has_working_dir(self) -> bool:
            return True

    folders, patience = extensions.own_folders(), os.environ.get(VARIABLE)

    def prepare() -> None:
        sys.path.extend(folder for folder in folders if folder not in sys.path)
        if patience is not None:  # not by `env_vars`, as Ray refuses those that a submitted job has, too
            os.environ.setdefault(VARIABLE, patience)

    needed = folders or patience is not None
    return {
        "job_config": WithoutFolder(),
        **({"runtime_env": {"worker_process_setup_hook": prepare}} if needed else {}),
    }


def connect() -> bool:
    """Join the Ray at RAY_ADDRESS, or start a local one; return whether that was needed. Raises as `joined` and
    `started` do."""
    address = address_to_join()
    import ray

    if ray.is_initialized():
        return False
    if address:
        joined(address)
    else:
        started()
    return True


def address_to_join() -> str:
    """Return RAY_ADDRESS, empty if it is not set. If it is, Ray's clients show the token, if there is one; so call this
    before Ray is imported, which reads RAY_AUTH_MODE once, when it is loaded."""
    address = os.environ.get("RAY_ADDRESS", "")
    if address:
        show_token()
    return address


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def started(cpus: int | None = None, dashboard: bool = False) -> Any:
    """Start a Ray of our own on this machine, with so many CPUs; by default those that this process may use. A start
    that was too slow is tried once more. Raises RunError, in one line, if it does not come up."""
    import ray

    make_token()
    if cpus is None and cores() < (os.cpu_count() or 1):
        cpus = cores()  # Ray heeds the quota of a container by itself, and counts cores that this process is kept off

    def start() -> Any:
        with keeping_sigterm():
            return ray.init(address="local", num_cpus=cpus, include_dashboard=dashboard, **QUIET, **arguments())

    try:
        try:
            return start()
        except Exception as error:  # Ray raises a bare Exception when one of its processes does not answer in time
            if TOO_SLOW not in str(error):
                raise
            ray.shutdown()
            return start()  # what is left of the first one ends with this process
    except Exception as error:
        ray.shutdown()
        raise RunError(
            f"Ray did not start on this machine ({_told(error)}); run the same command again when the machine is less "
            "busy and its temporary folder has room"
        ) from None


def joined(address: str) -> Any:
    """Join the Ray at RAY_ADDRESS. Raises InputError, in one line, if there is none or it refuses us."""
    import ray

    try:
        with keeping_sigterm():
            context = ray.init(**QUIET, **arguments())
    except (ConnectionError, ValueError, RuntimeError, ray.exceptions.RayError) as error:
        raise InputError(
            f"RAY_ADDRESS {address}: no Ray that can be joined there ({_told(error)}); give HEAD:6379 of a cluster "
            "whose token you have, or unset it"
        ) from None
    try:
        check_owner(address)
    except BaseException:
        ray.shutdown()
        raise
    return context


def check_owner(address: str) -> None:
    """Start an actor and wait for one answer: a Ray that lets this process join may still not reach it.

    The actor starts again if its node is lost. Raises InputError, with Ray's reason, if it dies of anything else. An
    actor for which there is no room within PATIENCE_S says nothing.
    """
    import ray

    class Idle:  # in a function, so that it travels whole: nodes need not have this module
        def answer(self) -> None:
            pass

    actor = ray.remote(num_cpus=0, max_restarts=STARTS, max_task_retries=STARTS)(Idle).remote()
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
    reason = reason_of(error)
    if UNOWNED not in reason or os.environ.get("RAY_AUTH_MODE", "").lower() != "token":
        return f"it was joined, but an actor that does nothing died there ({reason})"
    named = [name for name in TOKEN_VARIABLES if name in os.environ]
    return (
        f"that Ray has no token, and this process asks whoever calls it for the one in {(*named, TOKEN_FILE)[0]}; run "
        f"the same command again with RAY_AUTH_MODE=disabled (Ray says: {reason})"
    )


def _told(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"


def show_token() -> bool:
    """Make Ray's clients in this process show the token, if there is one and RAY_AUTH_MODE is not set.

    Returns whether this call has changed the mode.
    """
    there = _names_token() or Path(TOKEN_FILE).expanduser().is_file()
    if "RAY_AUTH_MODE" in os.environ or not there:
        return False
    os.environ["RAY_AUTH_MODE"] = "token"
    return True


def _names_token() -> bool:
    return any(name in os.environ for name in TOKEN_VARIABLES)


def make_token() -> None:
    """Write a token for the local Ray, which only this user may read, unless there is one or Ray shall use none.

    Where the home cannot be written, the token is in the environment of this process instead.

    Ray would write it itself, for everybody to read; whoever has it can run code as this user.
    """
    if _names_token() or os.environ.get("RAY_AUTH_MODE", "token").lower() != "token":
        return
    path = Path(TOKEN_FILE).expanduser()
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
