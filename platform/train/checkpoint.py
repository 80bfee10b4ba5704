"""Mid-round checkpoints: the whole state of a running round, in a format that any number of workers can read (DCP).

Frozen weights are left out: whoever resumes a round has them from where it starts.
Where they lie is spelled in `core/paths.py`. Each has a record, which is written last.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from pathlib import Path
from typing import Any

import torch.distributed as dist
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.filesystem import FileSystemReader, FileSystemWriter
from torch.distributed.checkpoint.planner import SavePlan, SavePlanner
from torch.distributed.checkpoint.state_dict import get_model_state_dict, get_state_dict, set_state_dict
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save as write

from ticlm.core import paths
from ticlm.core.errors import InputError, TiclmWarning, of_storage
from ticlm.core.integrity.files import verify
from ticlm.core.integrity.records import Attempt
from ticlm.core.signals import Threads, result_of
from ticlm.core.store import Store
from ticlm.methods.seams import local_shard
from ticlm.platform.models.sharding import Workers
from ticlm.platform.study.stored_rounds import mid_round_checkpoints
from ticlm.platform.train.staging import Staging
from ticlm.platform.train.state import RunningRound

# torch warns of its own future changes, and that one process saves alone. Set once for the whole process: a thread
# must not change filters while others run.
for chatty in (r"torch\.distributed", r"torch\.utils"):
    warnings.filterwarnings("ignore", module=chatty)


LARGE = 64 << 20
"""Bytes of weights on this rank from which memory for a first checkpoint is made ready in the thread."""


class Writer:
    """Writes the mid-round checkpoints of a chain while it trains on, and does other work in the same thread.

    The state is copied, then the thread writes it. Work is done one after another in the order in which it was begun:
    so the record of a round, whose publication was begun first, stands before that of any checkpoint of the next round.
    Every rank has a writer, and all ranks make the same calls in the same order.
    """

    def __init__(self, store: Store, workers: Workers) -> None:
        self.store, self.workers = store, workers
        self.seconds = 0.0
        """How long the last write took."""
        self.stall = 0.0
        """Seconds for which the training stood still while the last state was copied (on a GPU: that the copy took)."""
        # A group of its own, and on the CPU: the thread must not meet the collectives of the training.
        self._group = dist.new_group(backend="gloo") if workers.world > 1 else None
        self._staging = Staging(workers.device)
        self._pool = Threads(1, "ticlm-checkpoint")
        self._begun: list[Future[None]] = []
        self._is_ready = False

    def prepare(self, running: RunningRound) -> None:
        """Begin to make the memory that copies of a large state go into, once a chain. Call it after a step: a state is
        whole only when the optimizer has its moments."""
        if not self._is_ready and sum(local_shard(p).nbytes for p in running.module.parameters()) >= LARGE:
            self._begun.append(self._pool.submit(self._staging.reserve, _state(running)))
        self._is_ready = True

    def save(self, attempt: Attempt, running: RunningRound) -> None:
        """Begin to write the state of a round as it is now. Rank 0 writes the record last."""
        self.wait()
        state = _state(running)
        self._staging.reserve(state)
        began = time.monotonic()
        copied, whole = self._staging.copy(state, running.optimizer)
        self.stall = time.monotonic() - began
        self._begun.append(self._pool.submit(self._write, attempt, running.step, copied, whole, began))

    def behind(self, work: Callable[[], None]) -> None:
        """Begin to do some work in the thread. It takes part in no collective."""
        self._begun.append(self._pool.submit(work))

    @property
    def is_busy(self) -> bool:
        """Whether something that was begun is not done yet. Raises what went wrong in what is done."""
        while self._begun and self._begun[0].done():
            result_of(self._begun.pop(0))
        return bool(self._begun)

    def wait(self) -> None:
        """Wait until all that was begun is done. Raises what went wrong there."""
        while self._begun:
            result_of(self._begun.pop(0))

    def leave(self) -> None:
        """Free the writer's group of ranks, once every rank has ended well: a process may train a hundred chains, and
        each group holds sockets and threads."""
        if self._group is not None:
            dist.destroy_process_group(self._group)
            self._group = None

    def close(self) -> None:
        """Wait until all that was begun has ended, well or not, and free the thread and the memory."""
        self._pool.shutdown()
        self._staging.close()

    def _write(
        self, attempt: Attempt, step: int, state: dict[str, Any], whole: Callable[[], None], copying: float
    ) -> None:
        whole()
        began = time.monotonic()
        self.stall = max(self.stall, began - copying) if self.workers.device == "cuda" else self.stall
        folder = paths.mid_round_checkpoint(attempt.path, step)
        if self.store.is_local:
            _write_files(state, self.store.path(f"{folder}/{paths.MID_ROUND_FILES}"), self.workers, self._group)
        else:
            with tempfile.TemporaryDirectory(prefix="ticlm-dcp-") as local:
                _write_files(state, local, self.workers, self._group)
                self.store.upload(Path(local), f"{folder}/{paths.MID_ROUND_FILES}")
            if self._group is not None:
                dist.barrier(self._group)
        if self.workers.rank == 0:
            Attempt(self.store, folder, paths.MID_ROUND_FILES).publish({"step": step})
            self._prune(attempt, folder, step)
        self.seconds = time.monotonic() - began

    def _prune(self, attempt: Attempt, newest: str, step: int) -> None:
        """Keep the checkpoint just written and, in case it gets damaged, the whole one before it. Those of later steps
        that other attempts left were passed over when this attempt began; in this attempt, another rank may have begun
        the next one. As in `publish.tidy`, nothing that a later writer makes is removed."""
        checkpoints = mid_round_checkpoints(self.store, attempt.folder)
        others = [path for earlier, path in checkpoints if path != newest and earlier <= step]
        before = next((path for path in others if self.store.exists(paths.record(path))), None)
        begun = [path for at, path in checkpoints if at > step and path.startswith(f"{attempt.path}/")]
        for _, path in checkpoints:
            if path not in (newest, before, *begun):
                self.store.remove(path)


def newest(store: Store, folder: str) -> str | None:
    """Return the path of the newest whole mid-round checkpoint among all attempts at a round, or None.

    Damaged and half-written ones are skipped, with a warning that names them.
    """
    for _, path in mid_round_checkpoints(store, folder):
        try:
            problems = verify(store, path)
        except InputError as error:  # the record itself is damaged
            problems = [str(error)]
        if not problems:
            return path
        what = f"is damaged ({problems[0]})" if store.exists(paths.record(path)) else "was not written to its end"
        message = f"checkpoint {store.uri(path)} {what}; going on from the one before"
        warnings.warn(message, TiclmWarning, stacklevel=2)
    return None


def restore(store: Store, path: str, running: RunningRound, workers: Workers) -> None:
    """Load a mid-round checkpoint into a round at its first step. Every rank calls.

    Raises InputError if it is of another model.
    """
    state = _state(running)
    with store.local(f"{path}/{paths.MID_ROUND_FILES}") as local:
        _check_shapes(state["model"], local, store.uri(path))
        _dcp(load, state, str(local), workers)
    weights = {**get_model_state_dict(running.module), **state["model"]}
    set_state_dict(running.module, running.optimizer, model_state_dict=weights, optim_state_dict=state["optimizer"])
    for penalty, saved in zip(running.penalties, state["penalties"].values()):
        penalty.load_state_dict(saved)
    running.step, running.history = state["step"], state["history"]


def _check_shapes(weights: dict[str, Any], folder: Path, named: str) -> None:
    """Raise InputError, on every rank alike, if a checkpoint does not have the weights of this model."""
    have = FileSystemReader(folder).read_metadata().state_dict_metadata
    for name, weight in weights.items():
        kept = getattr(have.get(f"model.{name}"), "size", None)
        if kept != weight.shape:
            there = f"there with shape {list(kept)}" if kept is not None else "not there"
            raise InputError(
                f"checkpoint {named} is not of this model: {name} of shape {list(weight.shape)} is {there}; remove it"
            )


def _state(running: RunningRound) -> dict[str, Any]:
    weights, moments = get_state_dict(running.module, running.optimizer)
    own = running.module.named_parameters(remove_duplicate=False)
    frozen = {name for name, weight in own if not weight.requires_grad}
    return {
        "model": {name: value for name, value in weights.items() if name not in frozen},
        "optimizer": moments,
        "penalties": {str(i): penalty.state_dict() for i, penalty in enumerate(running.penalties)},
        "step": running.step,
        "history": running.history,
    }


class _Files(FileSystemWriter):
    """Writes files of a checkpoint. On a full disk torch goes on to an error of its own, which says nothing of it."""

    def write_data(self, plan: SavePlan, planner: SavePlanner) -> Any:
        """Write this rank's files. Raises OSError with a path if the disk is full or fails."""
        try:
            return super().write_data(plan, planner)
        except Exception as error:
            raise of_storage(error, str(self.path)) or error from None


def _write_files(state: dict[str, Any], folder: str, workers: Workers, group: Any) -> None:
    _dcp(partial(write, storage_writer=_Files(folder)), state, folder, workers, group)


def _dcp(do: Any, state: dict[str, Any], folder: str, workers: Workers, group: Any = None) -> None:
    try:
        do(state, checkpoint_id=folder, no_dist=workers.world == 1, process_group=group)
    except CheckpointException as error:  # no Exception itself, so that nothing would catch it
        raise next(iter(error.failures.values()))[0] from None
