"""Publishing a model in the middle of a round, and going on as if nothing had been published."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from ticlm.core import paths
from ticlm.core.integrity.records import Attempt, read_record
from ticlm.methods.seams import Optimizer, local_shard
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.work import ChainWork
from ticlm.platform.train.publish import model_of
from ticlm.platform.train.state import RunningRound


def publish_mid_round(running: RunningRound, work: ChainWork, attempt: Attempt, workers: Workers) -> None:
    """Publish the weights of a round as they would be if it ended with this step, unless an attempt before did so.

    The record is written last; the round goes on with the same bits. Every rank calls.
    """
    began = time.monotonic()
    own = Attempt(attempt.store, paths.mid_round_model(attempt.folder, running.step), attempt.name)
    if not workers.agree(workers.rank == 0 and read_record(own.store, own.folder) is not None):
        with unchanged(running):
            model_of(running, work, own, workers, copied=False)()
        if workers.rank == 0:
            # the word of records since there are such models
            own.publish({"kind": "inside", "period": running.round.period, "step": running.step})
        workers.barrier()
    running.began += time.monotonic() - began  # the pace is that of training


@contextmanager
def unchanged(running: RunningRound) -> Iterator[None]:
    """Undo, at the end of the block, what `before_evaluation` of the optimizer and the penalties changes.

    An averaging optimizer swaps the weights there; swapping back by its own arithmetic would round. So weights, buffers
    and the optimizer's state are copied to the CPU and put back bit for bit, and penalties get their own state back.
    """
    swaps = type(running.round.recipe.optimizer).before_evaluation is not Optimizer.before_evaluation
    if not swaps and not running.penalties:
        yield
        return
    module, optimizer = running.module, running.optimizer
    tensors = [_kept(tensor) for tensor in (*module.parameters(), *module.buffers())]
    states = {parameter: dict(state) for parameter, state in optimizer.state.items()}
    tensors += [_kept(value) for state in states.values() for value in state.values() if isinstance(value, Tensor)]
    groups = [{name: value for name, value in group.items() if name != "params"} for group in optimizer.param_groups]
    tensors += [_kept(value) for group in groups for value in group.values() if isinstance(value, Tensor)]
    penalties = [copy.deepcopy(penalty.state_dict()) for penalty in running.penalties]
    yield
    with torch.no_grad():
        for put_back in tensors:
            put_back()
    optimizer.state.clear()
    optimizer.state.update(states)
    for group, before in zip(optimizer.param_groups, groups):
        group.update(before)
    for penalty, saved in zip(running.penalties, penalties):
        penalty.load_state_dict(saved)


def _kept(tensor: Tensor) -> Callable[[], Any]:
    """Copy what this rank holds of a tensor; return a function that puts it back."""
    local = local_shard(tensor)
    saved = local.to("cpu", copy=True)
    return lambda: local.copy_(saved)
