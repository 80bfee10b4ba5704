"""Checkpoints: DCP while a round runs (readable by any number of workers), a Hugging Face folder when it ends.

rounds/<id>/<attempt>/steps/<n>/files/    DCP; rounds/<id>/<attempt>/steps/<n>/record.json is written last
rounds/<id>/<attempt>/model/              safetensors, tokenizer, metrics of the finished round
rounds/<id>/record.json                   the round is done
"""

from __future__ import annotations

import tempfile
import warnings
from pathlib import Path
from typing import Any

from torch import nn
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save as write
from torch.optim import Optimizer

from ticlm.methods.seams import PenaltyState
from ticlm.platform.errors import InputError
from ticlm.platform.model import Workers
from ticlm.platform.store import Attempt, Store, verify


def save(
    store: Store,
    attempt: Attempt,
    step: int,
    module: nn.Module,
    optimizer: Optimizer,
    penalties: list[PenaltyState],
    history: list[list[float]],
    workers: Workers,
) -> None:
    """Write the state after `step` steps; every rank calls, the record is written last by rank 0."""
    state = _state(module, optimizer, penalties, step, history)
    folder = f"{attempt.path}/steps/{step:08d}"
    if store.is_local:
        _dcp(write, state, store.path(f"{folder}/files"), workers)
    else:
        with tempfile.TemporaryDirectory(prefix="ticlm-dcp-") as local:
            _dcp(write, state, local, workers)
            store.upload(Path(local), f"{folder}/files")
        workers.barrier()
    if workers.rank == 0:
        Attempt(store, folder, "files").publish({"step": step})
        for older in store.folders(f"{attempt.path}/steps"):
            if older < f"{step:08d}":
                store.remove(f"{attempt.path}/steps/{older}")


def newest(store: Store, folder: str) -> str | None:
    """Path of the newest whole mid-round checkpoint among all attempts at a round; damaged ones are passed over with a
    warning that names them."""
    found = [
        (step, f"{folder}/{attempt}/steps/{step}")
        for attempt in store.folders(folder)
        for step in store.folders(f"{folder}/{attempt}/steps")
    ]
    for _, path in sorted(found, reverse=True):
        try:
            problems = verify(store, path)
        except InputError as error:  # the record itself is damaged
            problems = [str(error)]
        if not problems:
            return path
        if store.exists(f"{path}/record.json"):
            message = f"checkpoint {store.uri(path)} is damaged ({problems[0]}); going on from the one before"
            warnings.warn(message, stacklevel=2)
    return None


def restore(
    store: Store, path: str, module: nn.Module, optimizer: Optimizer, penalties: list[PenaltyState], workers: Workers
) -> tuple[int, list[list[float]]]:
    """Load a mid-round checkpoint in place and return (steps done, history); every rank calls."""
    state = _state(module, optimizer, penalties, 0, [])
    with store.local(f"{path}/files") as local:
        _dcp(load, state, str(local), workers)
    set_state_dict(module, optimizer, model_state_dict=state["model"], optim_state_dict=state["optimizer"])
    for penalty, saved in zip(penalties, state["penalties"].values()):
        penalty.load_state_dict(saved)
    return state["step"], state["history"]


def _state(
    module: nn.Module, optimizer: Optimizer, penalties: list[PenaltyState], step: int, history: list[list[float]]
) -> dict[str, Any]:
    weights, moments = get_state_dict(module, optimizer)
    own = {str(i): p.state_dict() for i, p in enumerate(penalties)}
    return {"model": weights, "optimizer": moments, "penalties": own, "step": step, "history": history}


def _dcp(do: Any, state: dict[str, Any], folder: str, workers: Workers) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            do(state, checkpoint_id=folder, no_dist=workers.world == 1)
        except CheckpointException as error:  # no Exception itself, so that nothing would catch it
            raise next(iter(error.failures.values()))[0] from None
