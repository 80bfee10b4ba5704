"""Chains of rounds trained by plain processes, to their end or until they are killed."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from ticlm.platform.study.work import ChainWork


def after_saves(saves: int, then: Callable[[Any], None]) -> Callable[..., None]:
    """`Writer.save` that calls `then(workers)` once so many mid-round checkpoints are whole."""
    from ticlm.platform.train.checkpoint import Writer

    real, left = Writer.save, saves

    def save(self: Writer, *args: Any) -> None:
        nonlocal left
        real(self, *args)
        left -= 1
        if not left:
            self.wait()
            then(self.workers)

    return save


def train_rank(work: ChainWork, rank: int, world: int, meeting: str, saves: int | None) -> None:
    """One rank of a world; after `saves` mid-round checkpoints it is gone without a word."""
    import torch.distributed as dist

    from ticlm.platform.models.sharding import Workers, local_group
    from ticlm.platform.train import checkpoint, trainer

    def die(workers: Workers) -> None:
        workers.barrier()
        os._exit(9)

    if saves is not None:
        checkpoint.Writer.save = after_saves(saves, die)  # type: ignore[method-assign]
    if world == 1:
        with local_group(work.rounds[0].recipe.precision, "cpu"):
            trainer.run_chain(work, Workers())
        return
    dist.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=world)
    trainer.run_chain(work, Workers(rank, world))
    dist.barrier()
    dist.destroy_process_group()
