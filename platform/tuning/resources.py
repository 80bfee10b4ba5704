"""Resources of trials: the part of a study's workers that each gets, and what its own process reserves."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ticlm.core.errors import InputError
from ticlm.platform.study.resources import Resources


def part_of(resources: Resources, at_once: int) -> Resources:
    """Return the resources of one of `at_once` concurrent trials, which share a study's evenly."""
    low, high = resources.worker_range
    part = (max(1, low // at_once), max(1, high // at_once))
    return resources.model_copy(update={"workers": part[0] if part[0] == part[1] else part, "chains": 1})


def reserved(resources: Resources, count: int, have: Mapping[str, float]) -> dict[str, float]:
    """Return what Tune reserves for the process of each of `count` concurrent trials on a cluster that has `have`.

    This process scores checkpoints; the workers of the trial, as many as `resources` says, reserve for themselves. On
    GPUs it gets `evaluator_gpus`, by default what the workers leave, up to a whole GPU. Raises InputError if the
    cluster has no room.
    """
    each, _ = resources.worker_range
    kind = "GPU" if resources.device != "cpu" and have.get("GPU", 0) >= 1 else "CPU"
    if have.get(kind, 0) < each * count:
        raise InputError(
            f"{count} trials at once, with {each} worker{'s' * (each > 1)} each, need {each * count} {kind}s; this Ray "
            f"has {have.get(kind, 0):g}: lower resources.chains (trials at once) or resources.workers"
        )
    if resources.trainer == "process":  # it trains, too
        return {"CPU": 1.0, **({"GPU": 1.0} if kind == "GPU" else {})}
    left = (have["GPU"] - each * count) / count if kind == "GPU" else 0.0
    share = resources.evaluator_gpus
    if share is None:
        share = math.floor(100 * min(1.0, left)) / 100  # rounded down: together they must fit
    elif kind == "GPU" and share > left:
        raise InputError(
            f"resources.evaluator_gpus: {share:g} for the scoring of each of {count} trials, beside their workers, but "
            f"{left:g} are left of this Ray's {have['GPU']:g} GPUs; 0 scores on the CPU"
        )
    # Tune refuses 0 CPUs; a hundredth takes no worker's place.
    return {"CPU": 0.01, **({"GPU": share} if share and kind == "GPU" else {})}
