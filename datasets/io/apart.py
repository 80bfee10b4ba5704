"""Work in a process of its own, which may die of it: by a crash, or because it takes too much memory or time.

The process is forked, so that it needs no imports and whatever it is given reaches it as it is; what it returns is
pickled. It says from time to time where it is (`reached`, `passed`). Where processes cannot be forked safely
(everywhere but on Linux), the work is done in the calling process, without bounds.
"""

from __future__ import annotations

import atexit
import ctypes
import faulthandler
import gc
import mmap
import multiprocessing
import os
import pickle
import resource
import signal
import struct
import sys
import threading
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, Generic, NamedTuple, NoReturn, TypeVar

from ticlm.core.errors import InputError, RunError, TiclmError
from ticlm.core.signals import join

LOOK_S = 0.5
"""How often a process that has not answered is looked at."""
IDLE_S = 30.0
"""A process that got nothing to do for so long ends."""
STILL_S = 1800.0
"""A process that neither goes on nor uses a CPU for so long is stuck; longer than a server is waited for."""
COUNTS, PLACE = struct.Struct("<QQ"), struct.Struct("<qH")
"""What stands at the beginning of the shared page: items taken, and records passed in the last one; then the offset
that was reached, or -1 and the length of a text that follows."""
TEXT_AT = COUNTS.size + PLACE.size
PAGE_BYTES = 4096
PR_SET_PDEATHSIG = 1  # of linux/prctl.h: the kernel signals a process whose parent died
T = TypeVar("T")
R = TypeVar("R")

_forking = threading.Lock()  # or a process would hold the other end of another's pipe, whose death was told late
_page: mmap.mmap | None = None
_taken = _passed = 0


class Bounds(NamedTuple):
    """CPU seconds that may pass from one place to the next, and bytes of memory beyond what the process began with."""

    cpu_s: float
    memory: int


class Death(Exception):
    """The process died, or was ended, before it answered. The message says why; `place` is the last one that it
    reached, or the record that it was at if it named none."""

    def __init__(self, why: str, place: str) -> None:
        super().__init__(why)
        self.place = place


def reached(place: str | int) -> None:
    """Say that the work is at this place now; a number is an offset in bytes."""
    if _page is None:
        return
    if isinstance(place, int):
        PLACE.pack_into(_page, COUNTS.size, place, 0)
    else:
        text = place.encode(errors="replace")[: PAGE_BYTES - TEXT_AT]
        _page[TEXT_AT : TEXT_AT + len(text)] = text
        PLACE.pack_into(_page, COUNTS.size, -1, len(text))


def passed() -> None:
    """Say that the work on one more record is done."""
    global _passed
    if _page is not None:
        _passed += 1
        COUNTS.pack_into(_page, 0, _taken, _passed)


class Apart(Generic[T, R]):
    """A function whose calls are answered by another process, which is started when it is needed."""

    def __init__(self, function: Callable[[T], R], bounds: Bounds) -> None:
        self._function, self._bounds = function, bounds
        self._process: Any = None
        self._pipe: Connection | None = None
        self._shared = mmap.mmap(-1, PAGE_BYTES)

    def __call__(self, item: T) -> R:
        """Return `function(item)`, or raise what it raises. Raises Death if its process does not live to answer."""
        if not _can_fork():
            return self._function(item)
        while True:
            process, pipe = self._started()
            before, _ = self._counts()
            try:
                pipe.send(item)
                kind, answer = pickle.loads(self._answer(process, pipe))
                break
            except (EOFError, OSError):
                join(process)
                if self._counts()[0] != before:
                    self._died(_cause(process.exitcode))
                self.end()  # it had nothing to do, and ended before this came
            except BaseException:
                self.end()
                raise
        if kind == "memory":
            self._died(f"it took more than {self._bounds.memory:,} bytes of memory (limits.record_memory)")
        if kind == "raised":
            raise answer
        result: R = answer
        return result

    def end(self) -> None:
        """End the process. The next call starts another."""
        atexit.unregister(self.end)
        process, pipe, self._process, self._pipe = self._process, self._pipe, None, None
        if pipe is not None:
            pipe.close()
        if process is not None:
            process.kill()
            join(process)
            process.close()

    def kill(self) -> None:
        """Kill the process, from whatever thread: a call in another thread that waits for its answer raises Death."""
        with _forking:  # one that is being started has nothing yet that could be killed
            process = self._process
        if process is not None:
            with suppress(ValueError):  # that thread has ended it
                process.kill()

    def _started(self) -> tuple[Any, Connection]:
        if self._process is not None and self._pipe is not None:
            return self._process, self._pipe
        with _forking:
            forks = multiprocessing.get_context("fork")
            self._pipe, theirs = forks.Pipe()
            self._shared[:] = bytes(PAGE_BYTES)
            given = (self._function, self._bounds, self._pipe, theirs, self._shared, os.getpid())
            process = forks.Process(target=_serve, args=given)
            process.start()
            self._process = process
            theirs.close()
        atexit.register(self.end)
        return process, self._pipe

    def _answer(self, process: Any, pipe: Connection) -> bytes:
        """Wait for the answer, and end the process if it goes beyond its bounds. Raises EOFError if it is dead."""
        state, at, cpu = b"", 0.0, 0.0
        while not wait([pipe, process.sentinel], LOOK_S):
            used, now = _cpu_s(process.pid), time.monotonic()
            if not process.is_alive():  # what it started itself may keep the pipe open
                break
            if (seen := bytes(self._shared)) != state:
                state, at, cpu = seen, now, used
            elif used - cpu > self._bounds.cpu_s:
                self._died(f"it took more than {self._bounds.cpu_s:g} s of CPU time (limits.record_cpu_s)")
            elif now - at > STILL_S and used - cpu < 1:
                self._died(f"it did nothing for {STILL_S / 60:.0f} minutes")
        if not pipe.poll():
            raise EOFError
        return pipe.recv_bytes()

    def _counts(self) -> tuple[int, int]:
        """Return how many items the process has taken, and how many records of the last one it has passed."""
        taken, passed = COUNTS.unpack_from(self._shared)
        return taken, passed

    def _place(self) -> str:
        offset, length = PLACE.unpack_from(self._shared, COUNTS.size)
        if offset < 0 and not length:
            return f"record {self._counts()[1] + 1}"
        return f"byte {offset}" if offset >= 0 else self._shared[TEXT_AT : TEXT_AT + length].decode(errors="replace")

    def _died(self, why: str) -> NoReturn:
        place = self._place()
        self.end()
        raise Death(why, place)


def _can_fork() -> bool:
    return sys.platform == "linux" and not multiprocessing.current_process().daemon


def _serve(
    function: Callable[[Any], Any], bounds: Bounds, ours: Connection, theirs: Connection, page: mmap.mmap, parent: int
) -> None:
    """Answer what comes through the pipe, in the new process, until nothing comes any more."""
    global _page, _taken, _passed
    ours.close()
    gc.freeze()  # or each collection would touch, and so copy, all memory that came with the fork
    faulthandler.disable()  # an end by a signal is told in one line
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets it too, and ends this process
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        return
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")  # where memory is short, this process is no loss
    _limit_memory(bounds.memory)
    _page, _taken = page, 0
    with suppress(EOFError, OSError):
        while theirs.poll(IDLE_S):
            item = theirs.recv()
            _taken, _passed = _taken + 1, 0
            PLACE.pack_into(page, COUNTS.size, -1, 0)
            COUNTS.pack_into(page, 0, _taken, _passed)
            theirs.send_bytes(_outcome(function, item))


def _outcome(function: Callable[[Any], Any], item: Any) -> bytes:
    try:
        return pickle.dumps(("done", function(item)))
    except MemoryError:
        return pickle.dumps(("memory", None))
    except Exception as error:
        if not isinstance(error, TiclmError | OSError):
            error.add_note(f"\nIn the process that did the work:\n{traceback.format_exc()}")
        try:
            pickle.loads(packed := pickle.dumps(("raised", error)))
        except Exception:  # an error of a library whose parts cannot be pickled
            kind = next((kind for kind in (InputError, RunError, OSError) if isinstance(error, kind)), RuntimeError)
            text = str(error) if isinstance(error, TiclmError) else f"{type(error).__name__}: {error}"
            packed = pickle.dumps(("raised", kind(text)))
        return packed


def _limit_memory(most: int) -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[5])  # data and stack
    wanted = pages * mmap.PAGESIZE + most
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _cpu_s(process: int) -> float:
    import psutil

    try:
        times = psutil.Process(process).cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)


def _cause(exit_code: int) -> str:
    if exit_code == -signal.SIGKILL:
        return "it was killed, most likely for want of memory"
    return f"it ended with {signal.Signals(-exit_code).name if exit_code < 0 else f'exit code {exit_code}'}"
