"""What a worker of a chain needs memory for, by its module and its share of the work."""

from __future__ import annotations

from typing import Any

from ticlm.core.errors import InputError
from ticlm.platform.models import build, compiled, memory
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.work import ChainWork


def workload(work: ChainWork, workers: Workers, module: Any, number: int) -> memory.Workload:
    """Return what a worker needs memory for in round `number` of a chain, whose module is whole and prepared."""
    recipe, resources, weights = work.rounds[number].recipe, work.resources, list(module.parameters())
    compiles = compiled.is_wanted(resources.compile, workers.device)
    return memory.Workload(
        build.with_shape(module.config, sum(one.numel() for one in weights)),
        recipe.precision,
        rows=min(work.micro_rows or -(-recipe.batch_rows // workers.world), recipe.batch_rows),
        length=recipe.length,
        world=workers.world,
        trained=sum(one.numel() for one in weights if one.requires_grad),
        copies=sum(penalty.saved_copies for penalty in recipe.penalties),
        moments=recipe.optimizer.moments,
        recompute=resources.recompute,
        compile=compiles,
        logits_at_once=memory.LOGITS_AT_ONCE if compiles else None,
    )


def too_large(period: str, job: memory.Workload | None) -> InputError:
    """Return the error of a worker whose GPU had no memory left in a round. `job`: what it held, if it is known."""
    if job is None:
        return InputError(f"period {period}: a worker's GPU has no room for the model")
    return InputError(
        f"period {period}: a worker's GPU is out of memory: it takes {memory.of(job)}, and more that cannot be told "
        f"beforehand; {memory.remedies(job, None)}"
    )
