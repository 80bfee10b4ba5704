"""Work that needs no group of workers, as a Ray task on one CPU of any node, and on a GPU if it computes on one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ticlm.platform.core.errors import TiclmError


def in_task(function: Callable[..., Any], *arguments: Any, device: str = "cpu") -> Any:
    """Call a function in a Ray task on one CPU, and return what it returns. It is tried again if its node is lost.

    With the device `cuda` it also reserves a GPU, with `auto` only if the cluster has any.
    """
    import ray

    has_gpu = device == "cuda" or (device == "auto" and ray.cluster_resources().get("GPU", 0) >= 1)
    task = ray.remote(num_cpus=1, num_gpus=int(has_gpu), max_retries=3)(function)
    try:
        return ray.get(task.remote(*arguments))
    except ray.exceptions.RayTaskError as error:
        if isinstance(error.cause, TiclmError):  # as itself: Ray's own text is a traceback
            raise error.cause from None
        raise
