"""Processes that tests send signals to: SIGINT reaches them however pytest was started, and none is left running."""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psutil


@contextmanager
def started(command: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Start a command that SIGINT interrupts; at the end of the block, kill it and its children if they still run.

    What starts in the background (`make test &`, `nohup`) inherits SIGINT as ignored, and a Python that does never
    hears of Ctrl-C. A handler, unlike "ignored", is reset to the default when another program starts.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        process = subprocess.Popen(command, text=True, **options)
    finally:
        signal.signal(signal.SIGINT, before)
    try:
        yield process
    finally:
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(process.pid).children(recursive=True):
                with suppress(psutil.NoSuchProcess):
                    child.kill()
        process.kill()
        process.wait(10)
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
