"""Ray jobs: send a study to a cluster whose nodes have the dependencies of ticlm, and follow the job to its end."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

import yaml

from ticlm.platform.cluster import ray_internals
from ticlm.platform.cluster.connect import TOKEN_PLACES, show_token
from ticlm.platform.core import extensions, settings
from ticlm.platform.core.errors import InputError, RunError, TiclmError
from ticlm.platform.core.extensions import PACKAGE
from ticlm.platform.core.fingerprint import fingerprint
from ticlm.platform.study.settings import FOLDER, Study

COMMANDS = ("run", "train", "eval", "report", "tune")
STOP_S = 30
"""Seconds that a stopped job has to give back what it holds; Ray's 3 are too few for a lease in a bucket."""
PATIENCE_S = 30.0
STUDY = "study.yaml"


class Left(TiclmError):
    """Raised when the user stops following a job, which goes on."""

    exit_code = 130


@dataclass(frozen=True)
class Job:
    """A command of ticlm on a study, for a cluster to run.

    `resolved`: the study's settings with all that it extends. `python`: the interpreter of the nodes. `installed`: the
    nodes have ticlm itself; otherwise the package is sent along. `modules`: files and folders of Python code that are
    sent too, by name, among them those with the user's own classes that the study names.
    """

    study: Study
    resolved: Mapping[str, Any]
    root: str
    command: tuple[str, ...] = ("run",)
    environment: Mapping[str, str] = field(default_factory=dict)
    installed: bool = False
    python: str = "python"
    modules: Mapping[str, Path] = field(default_factory=dict)

    @property
    def metadata(self) -> dict[str, str]:
        """The study, its fingerprint, the command and the root: what Ray's dashboard and `ray job list` show.

        No two jobs with the same metadata run at once.
        """
        study = fingerprint(self.study)
        return {
            "study": self.study.name,
            "fingerprint": study,
            "command": shlex.join(self.command),
            "root": self.root,
        }

    @property
    def entrypoint(self) -> str:
        """The shell command that the job runs, in the folder that `pack` has filled."""
        ticlm = ["ticlm"] if self.installed and self.python == "python" else [self.python, "-m", "ticlm.platform"]
        first, *rest = self.command
        words = [
            word if file is None else word.removesuffix(str(file)) + Path(file).name for word, file in _files(rest)
        ]
        return shlex.join([*ticlm, first, *words, STUDY, "--root", self.root])

    def pack(self, folder: Path) -> None:
        """Write what the nodes need to a folder: the study as one file, the files the command names, the package."""
        text = yaml.safe_dump(dict(self.resolved), sort_keys=False, allow_unicode=True)
        (folder / STUDY).write_text(text)
        for _, file in _files(self.command[1:]):
            if file is not None:
                shutil.copy(file, folder)
        sent = {} if self.installed else {PACKAGE: Path(str(files(PACKAGE)))}
        for name, source in {**self.modules, **sent}.items():
            if source.is_dir():
                shutil.copytree(source, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, folder)


def job(
    name: str,
    root: str | None,
    sets: Sequence[str] = (),
    command: str = "run",
    environment: Sequence[str] = (),
    installed: bool = False,
    python: str = "python",
    modules: Sequence[str] = (),
) -> Job:
    """Make the job that a user asks for. Raises InputError, in one line, before anything is sent.

    `sets`: changes of settings, as of `--set`. `environment`: variables as NAME, whose value is taken from here, or
    NAME=VALUE. `modules`: paths of further Python files and folders that the nodes need.
    """
    try:
        words = tuple(shlex.split(command))
    except ValueError as error:
        raise InputError(f"--command {command}: {error}") from None
    if not words or words[0] not in COMMANDS:
        raise InputError(f"--command {command!r}: must begin with one of {', '.join(COMMANDS)}")
    names = [Path(file).name for _, file in _files(words[1:]) if file is not None]
    if STUDY in names or len(set(names)) < len(names):
        raise InputError(f"--command {command}: files it names are sent under their names; none may be {STUDY}, or two")
    resolved, where = settings.resolved(name, FOLDER, sets)
    study = settings.parse(Study, resolved, where)
    own = extensions.own_modules(study) | dict(map(_module, modules))
    return Job(study, resolved, _root(root), words, dict(map(_variable, environment)), installed, python, own)


def _module(path: str) -> tuple[str, Path]:
    """Return a module's name and its place. Raises InputError if it is none, or has the package's name."""
    source = Path(path).resolve()
    if not (source.is_dir() or (source.suffix == ".py" and source.is_file())) or source.stem == PACKAGE:
        raise InputError(f"--module {path}: expected a Python file or the folder of a package, not called {PACKAGE}")
    return source.stem, source


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
        job.pack(Path(folder))
        name = f"{job.study.name.replace('+', '-')}-{time.strftime('%Y%m%d-%H%M%S')}-{uuid.uuid4().hex[:4]}"
        tell(f"job {name} at {client.get_address()}")
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
        raise Left(f"job {name} goes on; {_how_to(name, client)}") from None
    except InputError as error:  # it was right a moment ago
        raise RunError(f"job {name} is lost from sight: {error}; submit it again when the head is back") from None
    if str(info.status) == "STOPPED":
        raise RunError(f"job {name} was stopped; the same command goes on from there")
    if info.driver_exit_code is None and str(info.status) == "FAILED":
        raise RunError(f"job {name} failed: {_last_line(info.message or 'Ray does not say why')}")
    code = info.driver_exit_code or 0
    return code if code >= 0 else 128 - code


def _files(words: Sequence[str]) -> list[tuple[str, str | None]]:
    """Return each word of a command with the local file it names (also as `--option=FILE`), or None."""
    named = [(word, word.partition("=")[2] if word.startswith("--") else word) for word in words]
    return [(word, path if path and Path(path).is_file() else None) for word, path in named]


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
    read = 0
    async for text in client.tail_job_logs(name):
        shown.rest(text, read)
        read += len(text)


def _root(root: str | None) -> str:
    if not root:
        raise InputError("--root (or TICLM_ROOT) is required: a path that all nodes share, s3://… or gs://…")
    if "://" not in root and not root.startswith("/"):
        raise InputError(f"root {root} is relative; for a cluster give an absolute path that all nodes share, or a URI")
    return root


def _variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not name or (not equals and name not in os.environ):
        raise InputError(f"--env {name}: it is not set here; set it, or give NAME=VALUE")
    return name, value if equals else os.environ[name]


def _client(address: str | None) -> Any:
    if not address:
        raise InputError("no cluster: give --address http://HEAD:8265 (its dashboard), or set RAY_API_SERVER_ADDRESS")
    if not re.fullmatch(r"\w+://\S+|[^\s:/]+:\d+", address) or re.search(r":82\d\d$", address.partition("://")[0]):
        raise InputError(f"--address {address}: give the cluster's dashboard, http://HEAD:8265")
    os.environ["RAY_API_SERVER_ADDRESS"] = address  # otherwise RAY_ADDRESS, where it is set, would win over --address
    show_token()
    with _plain(address):
        from ray.job_submission import JobSubmissionClient

        ray_internals.silence_uploads()
        return JobSubmissionClient(address)


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
