"""A process whose children publish toy vintages, each in a fork of its own that may be killed.

It imports once, so that a child costs milliseconds. It reads lines of JSON: the place, its layout, the folder of the
vintages, the step before which the child kills itself (0: never) and the number of months. It prints the number of the
child's process, and then how that ended. A step is a change to a folder or a bucket.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

STOP_S = 10


class Publisher:
    """The process, from the side of a test."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def begin(self, to: str, layout: str, vintages: Path, die_at: int = 0, months: int = 12) -> int:
        """Start a child; return the number of its process."""
        assert self.process.stdin and self.process.stdout
        self.process.stdin.write(json.dumps([to, layout, str(vintages), die_at, months]) + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def ended(self) -> int:
        """Wait for the child; return its exit status, negative if a signal ended it."""
        assert self.process.stdout
        return int(self.process.stdout.readline())


@contextmanager
def publisher(environment: Mapping[str, str]) -> Iterator[Publisher]:
    """Run the process in the block, with these variables added to its environment."""
    variables = {**os.environ, **environment, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    command = [sys.executable, __file__]
    with subprocess.Popen(command, env=variables, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        try:
            yield Publisher(process)
        finally:
            assert process.stdin
            process.stdin.close()
            process.wait(STOP_S)


def _dying(step: int) -> Callable[[Any], Any]:
    """Return a decorator that counts the calls of several functions, and kills the process before one of them."""
    left = [step]

    def counted(function: Any) -> Any:
        def call(*args: Any, **options: Any) -> Any:
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **options)

        return call

    return counted


def _child(to: str, layout: Any, vintages: str, die_at: int, months: int) -> None:
    from vintages import LABELS, publish

    from ticlm.core.store import Store
    from ticlm.platform.publish.places.bucket_place import BucketPlace
    from ticlm.platform.publish.places.opened import place_of

    if die_at:
        counted = _dying(die_at)
        os.replace, os.rename, os.unlink = counted(os.replace), counted(os.rename), counted(os.unlink)
        shutil.copyfileobj = counted(shutil.copyfileobj)
        Store.write, Store.create = counted(Store.write), counted(Store.create)  # type: ignore[method-assign]
        BucketPlace._send_one = counted(BucketPlace._send_one)  # type: ignore[method-assign]
    publish(place_of(to, layout), Path(vintages), LABELS[:months])


def _serve() -> None:
    import huggingface_hub.hf_api  # noqa: F401
    import vintages  # noqa: F401

    import ticlm.platform.publish.places.opened  # noqa: F401

    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                _child(*json.loads(line))
                status = 0
            finally:
                os._exit(status)
        print(child, flush=True)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    _serve()
