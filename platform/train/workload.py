"""What a worker of a chain needs memory for, by its module and its share of the work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ticlm.core.errors import InputError
from ticlm.platform.models import build, compiled, memory
from ticlm.platform.models.parameter_groups import passed
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.round import RoundRecipe
from ticlm.platform.study.work import ChainWork


def workloads(work: ChainWork, workers: Workers, module: Any, numbers: Sequence[int]) -> dict[int, memory.Workload]:
    """Return what a worker needs memory for in these rounds of a chain, by number. Their module is whole and
    prepared."""
    resources, weights = work.resources, list(module.parameters())
    size = build.with_shape(module.config, sum(one.numel() for one in weights))
    trained = sum(one.numel() for one in weights if one.requires_grad)
    layers = passed(module)[1]
    compiles = compiled.is_wanted(resources.compile, workers.device)
    in_parts = compiles and compiled.output_layer(module) is not None

    def one(recipe: RoundRecipe) -> memory.Workload:
        return memory.Workload(
            size,
            recipe.precision,
            rows=min(work.micro_rows or -(-recipe.batch_rows // workers.world), recipe.batch_rows),
            length=recipe.length,
            world=workers.world,
            trained=trained,
            layers=layers,
            frozen_layers=recipe.freezes_within_layers,
            copies=recipe.held_copies,
            moments=recipe.optimizer.moments,
            recompute=resources.recompute,
            compile=compiles,
            loss_in_parts=in_parts,
        )

    return {number: one(work.rounds[number].recipe) for number in numbers}


def too_large(period: str, job: memory.Workload | None) -> InputError:
    """Return the error of a worker whose GPU had no memory left in a round. `job`: what it held, if it is known."""
    if job is None:
        return InputError(f"period {period}: a worker's GPU has no room for the model")
    return InputError(
        f"period {period}: a worker's GPU is out of memory: it takes {memory.of(job)}, and more that cannot be told "
        f"beforehand; {memory.remedies(job, None)}"
    )
