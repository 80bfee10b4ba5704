"""Work that needs no group of workers, as a Ray task on one CPU of any node, and on a GPU if it computes on one."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any

from ticlm.core.errors import Stopped, TiclmError

STOP_POLL_S = 1.0
"""Seconds between two looks at whether the caller was told to stop."""


def in_task(function: Callable[..., Any], *arguments: Any, stop: Event, device: str = "cpu") -> Any:
    """Call a function in a Ray task on one CPU and return its result. The task is tried again if its node is lost.

    With the device `cuda` it also reserves a GPU, with `auto` only if the cluster has any. Raises Stopped, and ends the
    task, once `stop` is set.
    """
    import ray

    has_gpu = device == "cuda" or (device == "auto" and ray.cluster_resources().get("GPU", 0) >= 1)
    running = ray.remote(num_cpus=1, num_gpus=int(has_gpu), max_retries=3)(function).remote(*arguments)
    while not ray.wait([running], timeout=STOP_POLL_S)[0]:
        if stop.is_set():
            ray.cancel(running, force=True)
            raise Stopped
    try:
        return ray.get(running)
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, TiclmError):  # as itself: Ray's own text is a traceback
            raise error.cause from None
        raise
