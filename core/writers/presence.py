"""Marks of living writers: they tell whether the holder of a lease lives on this machine, or ended here.

A mark is a locked file with a random name in the memory of the machine. The kernel unlocks it when its process ends,
however it ends. So a locked mark means that the holder lives, and an unlocked one that it lived here and ended. No mark
says nothing: the holder may be on another machine, in another container, or of an earlier start of this machine.

Unlike ids of processes, marks are not confused by containers and machines that share a name, a boot id or a snapshot:
a machine that was cloned before the writer started has no mark of it. Only one that was cloned while the writer ran
has: there the clone of the writer holds the lock, and the number of the lease fences the two (`core.lease`).
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Literal

_HELD = set[int]()
"""Descriptors of this process's marks. A forked child closes its copies, which would keep the locks."""


def _close_copies() -> None:
    for descriptor in _HELD:
        os.close(descriptor)
    _HELD.clear()


os.register_at_fork(after_in_child=_close_copies)


@contextmanager
def marked(token: str) -> Iterator[None]:
    """Mark this process as the living holder of the lease with this token, for the time of the block.

    Where no mark can be made, there is none: then others watch the heart of this process. At the end of the block the
    mark is unlocked, and stays until it is forgotten.
    """
    path = _path(token)
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o644)
    except OSError:
        yield
        return
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # an unlocked mark would say that the holder has ended
        os.close(descriptor)
        forget(token)
        yield
        return
    _HELD.add(descriptor)
    try:
        yield
    finally:
        if descriptor in _HELD:
            _HELD.remove(descriptor)
            os.close(descriptor)


def look(token: str) -> Literal["lives", "ended", "unknown"]:
    """Return whether a lease's holder lives, by its mark; `unknown` if this machine has no mark of it."""
    if not token.isalnum():
        return "unknown"
    try:
        descriptor = os.open(_path(token), os.O_RDONLY)
    except OSError:
        return "unknown"
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "lives"
    except OSError:
        return "unknown"
    finally:
        os.close(descriptor)
    return "ended"


def forget(token: str) -> None:
    """Remove the mark of a holder that ended; its lease is given back, or has a successor."""
    if token.isalnum():
        with suppress(OSError):
            os.unlink(_path(token))


def _path(token: str) -> Path:
    memory = Path("/dev/shm")
    return (memory if memory.is_dir() else Path(tempfile.gettempdir())) / f"ticlm-{token}"
