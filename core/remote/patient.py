"""A remote filesystem whose calls are repeated while its server is out of reach."""

from __future__ import annotations

import io
import os
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

from ticlm.core.errors import InputError, RunError, TiclmWarning
from ticlm.core.remote.passing import in_one_line, passing
from ticlm.core.signals import ENDING

VARIABLE = "TICLM_STORE_PATIENCE_S"
PATIENCE_S = 300.0
"""How many seconds a call is repeated, unless the environment has VARIABLE."""
FIRST_S, MOST_S = 0.2, 10.0
"""Pauses between two tries grow from the first to the second, each by a random part less."""
TOLD_S = 5.0
"""After so many seconds without an answer, the user hears of it."""
BLOCK = 8 << 20  # bytes of one request: what a lost answer costs
# Each of these only reads, or leaves the same behind if it is done twice: the first try may have reached the server.
CALLS = (
    *("cat_file", "pipe_file", "info", "size", "ls", "find", "rm", "rm_file"),
    *("put_file", "get_file", "makedirs", "isfile", "isdir", "ukey"),
)

T = TypeVar("T")
_LIMIT: ContextVar[float | None] = ContextVar("limit", default=None)


class Patient:
    """A filesystem of fsspec that repeats its CALLS, and reading from the files that it opens, after errors that may
    pass. All other calls, and files that are open for writing, are the filesystem's own."""

    def __init__(self, fs: Any) -> None:
        self._fs = fs

    def __reduce__(self) -> tuple[type[Patient], tuple[Any]]:
        return Patient, (self._fs,)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._fs, name)
        if name not in CALLS:
            return found

        @wraps(found)
        def repeated(path: Any, *rest: Any, **options: Any) -> Any:
            named = rest[0] if name == "put_file" else path
            return patiently(f"{self._fs.unstrip_protocol(named)}", lambda: found(path, *rest, **options))

        return repeated

    def exists(self, path: str) -> bool:
        """Return whether there is a file or a folder."""
        # Not by the filesystem's own `exists`: fsspec takes some failed requests for a no.

        def ask() -> bool:
            try:
                if "/" in path:
                    self._fs.info(path)
                elif not self._fs.exists(path):
                    self._fs.ls(path)
            except FileNotFoundError as error:
                if passing(error):
                    raise
                return False
            return True

        return patiently(self._fs.unstrip_protocol(path), ask)

    def open(self, path: str, mode: str = "rb", **options: Any) -> Any:
        """Open a file. A file that is read is fetched block by block."""
        if mode != "rb":
            return self._fs.open(path, mode, **options)
        return io.BufferedReader(_Blocks(self, path, int(self.size(path))), BLOCK)


class _Blocks(io.RawIOBase):
    def __init__(self, fs: Patient, path: str, size: int) -> None:
        self._fs, self._path, self._size, self._at = fs, path, size, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = max(0, offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at}.get(whence, self._size))
        return self._at

    def readall(self) -> bytes:
        return b"".join(iter(lambda: self.read(BLOCK) or b"", b""))  # Python's own asks for 8 KiB at a time

    def readinto(self, buffer: Any) -> int:
        into = memoryview(buffer).cast("B")
        end = min(self._size, self._at + len(into))
        if end <= self._at:
            return 0
        data = self._fs.cat_file(self._path, start=self._at, end=end)
        into[: len(data)] = data
        self._at += len(data)
        return len(data)


@contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Repeat calls of this thread for at most so many seconds while the block runs."""
    token = _LIMIT.set(seconds)
    try:
        yield
    finally:
        _LIMIT.reset(token)


def patiently(what: str, action: Callable[[], T]) -> T:
    """Return what `action` returns; repeat it after errors that may pass.

    Raises RunError, in one line, when patience ends, and at once any other error. A command that has been told to end
    does not wait.
    """
    try:
        return action()
    except Exception as error:
        if not passing(error) or not (limit := _limit()):
            raise
    import tenacity

    began, told = time.monotonic(), False

    def tell(state: tenacity.RetryCallState) -> None:
        nonlocal told
        waited = time.monotonic() - began
        if waited >= TOLD_S and not told and state.outcome is not None:
            told = True
            error = state.outcome.exception()
            said = in_one_line(error) if error is not None else ""
            warnings.warn(f"{what}: {said}; trying again for up to {limit:g} s", TiclmWarning, stacklevel=2)

    again = tenacity.Retrying(
        retry=tenacity.retry_if_exception(passing),
        wait=tenacity.wait_random_exponential(multiplier=FIRST_S, max=MOST_S),
        stop=tenacity.stop_any(tenacity.stop_after_delay(limit), tenacity.stop_when_event_set(ENDING)),
        sleep=tenacity.sleep_using_event(ENDING),
        before_sleep=tell,
    )
    try:
        return again(action)
    except tenacity.RetryError as error:
        last = error.last_attempt.exception()
        # one more than tenacity counts: the first try was before it
        tries, seconds = again.statistics["attempt_number"] + 1, time.monotonic() - began
        raise RunError(
            f"{what}: no good answer in {tries} tries within {seconds:.0f} s ({VARIABLE}); the last: "
            f"{in_one_line(last) if last is not None else ''}; what is finished is kept, and the same command goes on"
        ) from last


def _limit() -> float:
    """Return how many seconds calls are repeated. Raises InputError if the environment does not give a number."""
    limit = _LIMIT.get()
    if limit is not None:
        return limit
    said = os.environ.get(VARIABLE, "")
    try:
        return max(0.0, float(said)) if said else PATIENCE_S
    except ValueError:
        raise InputError(f"{VARIABLE} must be a number of seconds, got {said!r}") from None
