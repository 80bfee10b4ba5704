"""Ray jobs: send one to a cluster whose nodes have the dependencies of ticlm, and follow it to its end."""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ticlm.core.errors import InputError, RunError, TiclmError
from ticlm.core.remote.credentials import without_credentials
from ticlm.core.remote.ray_start import TOKEN_PLACES, show_token
from ticlm.core.signals import WAKE_S, ignore_interrupts
from ticlm.platform.cluster import ray_internals
from ticlm.platform.cluster.job import Job

STOP_S = 30
"""Seconds that a stopped job has to give back what it holds; Ray's 3 are too few for a lease in a bucket."""
PATIENCE_S = 30.0  # for a head that has just started, and answers 500 until it has an agent for jobs


class Left(TiclmError):
    """Raised when the user stops following a job, which goes on."""

    exit_code = 130


def submit(job: Job, address: str | None, tell: Callable[[str], None]) -> tuple[Any, str]:
    """Send the job. Returns Ray's client and the job's id. Raises InputError if the same run is there already."""
    client = _client(address)
    with _plain(client.get_address()), tempfile.TemporaryDirectory(prefix="ticlm-job-") as folder:
        for other in client.list_jobs():
            if not other.status.is_terminal() and (other.metadata or {}).items() >= job.metadata.items():
                raise InputError(
                    f"this run is {other.status.lower()} already, as job {other.submission_id}; "
                    + _how_to(other.submission_id, client)
                )
        sent = job.pack(Path(folder))
        name = f"{job.study.name.replace('+', '-')}-{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:4]}"
        for line in (f"job {name} at {without_credentials(client.get_address())}", *sent):
            tell(line)
        _patiently(
            lambda: client.submit_job(
                entrypoint=job.entrypoint,
                submission_id=name,
                metadata=job.metadata,
                runtime_env={
                    "working_dir": folder,
                    "env_vars": {**ray_internals.job_stop_wait(STOP_S), **job.environment},
                },
            )
        )
    return client, name


def follow(client: Any, name: str) -> int:
    """Print a job's log as it comes, until the job ends. Returns the job's exit code.

    Raises Left on Ctrl-C, which does not touch the job, and RunError if the job was stopped, failed without an exit
    code, or cannot be reached any longer.
    """
    from aiohttp import ClientError

    try:
        with _plain(client.get_address()):
            shown = _Shown()
            while True:
                try:
                    asyncio.run(_tail(client, name, shown))
                except (ClientError, RuntimeError, OSError):  # the connection was lost
                    time.sleep(1)
                info = _patiently(lambda: client.get_job_info(name))
                if info.status.is_terminal():
                    break
            shown.rest(client.get_job_logs(name))
    except KeyboardInterrupt:
        ignore_interrupts()
        raise Left(f"job {name} goes on; {_how_to(name, client)}") from None
    except InputError as error:  # it was right a moment ago
        raise RunError(f"job {name} is lost from sight: {error}; submit it again when the head is back") from None
    if str(info.status) == "STOPPED":
        raise RunError(f"job {name} was stopped; the same command goes on from there")
    if info.driver_exit_code is None and str(info.status) == "FAILED":
        raise RunError(f"job {name} failed: {_last_line(info.message or 'Ray does not say why')}")
    code = info.driver_exit_code or 0
    return code if code >= 0 else 128 - code  # ended by a signal: its number and 128, as shells say


class _Shown:
    """Prints every part of a log once, even if the log is read again from its beginning."""

    def __init__(self) -> None:
        self.count = 0

    def rest(self, text: str, before: int = 0) -> None:
        """Print the new part of `text`, a piece of the log that begins after `before` characters."""
        new = text[max(0, self.count - before) :]
        print(new, end="", flush=True)
        self.count += len(new)


async def _tail(client: Any, name: str, shown: _Shown) -> None:
    read, wakes = 0, asyncio.create_task(_wakes())
    async for text in client.tail_job_logs(name):
        shown.rest(text, read)
        read += len(text)
    wakes.cancel()


async def _wakes() -> None:
    """Look for signals while the log has nothing new: asyncio by itself waits without a limit."""
    while True:
        await asyncio.sleep(WAKE_S)


def _client(address: str | None) -> Any:
    if not address:
        raise InputError("no cluster: give --address http://HEAD:8265 (its dashboard), or set RAY_API_SERVER_ADDRESS")
    if not re.fullmatch(r"\w+://\S+|[^\s:/]+:\d+", address) or re.search(r":82\d\d$", address.partition("://")[0]):
        raise InputError(f"--address {address}: give the cluster's dashboard, http://HEAD:8265")
    address = address.rstrip("/")
    os.environ["RAY_API_SERVER_ADDRESS"] = address  # otherwise RAY_ADDRESS, where it is set, would win over --address
    show_token()
    with _plain(address):
        from ray.job_submission import JobSubmissionClient

        ray_internals.silence_uploads()
        try:
            return JobSubmissionClient(address)
        except (LookupError, TypeError, AttributeError):  # of the client, in the answer of another server
            raise InputError(f"no Ray answers at {address}, but something else; give the dashboard of a head") from None


@contextmanager
def _plain(address: str) -> Iterator[None]:
    """Turn errors of Ray's client in the block into InputError or RunError of one line."""
    from ray.exceptions import AuthenticationError, RayError
    from requests.exceptions import RequestException

    try:
        yield
    except AuthenticationError as error:
        if "Forbidden" in str(error):
            raise InputError(f"{address} refuses the token (403); one is looked for in {TOKEN_PLACES}") from None
        if "Unauthorized" in str(error):
            raise InputError(f"{address} wants a token (401); there is none in {TOKEN_PLACES}") from None
        raise InputError(f"{address}: {_first(error)}") from None
    except (ConnectionError, RequestException, RayError) as error:
        raise InputError(f"no Ray answers at {address}: {_first(error)}; give the dashboard of a head") from None
    except (RuntimeError, ValueError) as error:
        raise RunError(f"{address}: {_last_line(str(error))}") from None


def _patiently(do: Callable[[], Any]) -> Any:
    """Return the result of a call; repeats it for PATIENCE_S while the head is not ready or cannot be reached."""
    from ray.exceptions import AuthenticationError
    from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

    def passing(error: BaseException) -> bool:
        early = isinstance(error, RuntimeError) and "status code 50" in str(error)
        return early or (isinstance(error, OSError) and not isinstance(error, AuthenticationError))

    return Retrying(
        retry=retry_if_exception(passing), stop=stop_after_delay(PATIENCE_S), wait=wait_fixed(1), reraise=True
    )(do)


def _how_to(name: str, client: Any) -> str:
    at = f"--address {client.get_address()}"
    ray = "RAY_AUTH_MODE=token ray" if os.environ.get("RAY_AUTH_MODE") == "token" else "ray"
    return f"follow it with: {ray} job logs {at} --follow {name}; stop it with: {ray} job stop {at} {name}"


def _first(error: Exception) -> str:
    return str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")


def _last_line(text: str) -> str:
    return ([line.strip() for line in text.splitlines() if line.strip()] or [""])[-1]
