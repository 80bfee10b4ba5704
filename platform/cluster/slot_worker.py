"""What every worker of a slot runs: it takes job after job from the board, so that it starts, and imports, only once.

Between two jobs nothing of the first is left that the second could see: `made_fresh`.
"""

from __future__ import annotations

import ctypes
import gc
import random
import sys
import time
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from ticlm.core.errors import TiclmWarning
from ticlm.platform.cluster.board import CLOSED, Posted
from ticlm.platform.cluster.nodes import DrainNotice
from ticlm.platform.cluster.slot_jobs import Seat, SlotJob

IDLE_POLL_S = 0.1
"""Seconds between two looks of an idle worker at the board; each is one call of an actor, under a millisecond."""
IDLE_S = 60.0
"""After so many seconds without a job, a worker says so: what it has reserved may be given back."""
TORCH_SEED = 67280421310721
"""What torch seeds its generator with when a process starts."""


def serve(config: dict[str, Any]) -> None:
    """Do the jobs on a board until it is closed. `config` has the board, the device and the names of modules of the
    user's own."""
    import ray.train

    context = ray.train.get_context()
    rank, world = context.get_world_rank(), context.get_world_size()
    board = config["board"]
    heard = board if rank == 0 else None

    from ticlm.platform.eval import cells  # noqa: F401  loaded before there is work
    from ticlm.platform.models.sharding import Workers
    from ticlm.platform.train import trainer  # noqa: F401

    if config["device"] == "cuda":  # every worker of a node sees all its devices
        import torch
        from ray.train.torch import get_device

        torch.cuda.set_device(get_device())
    _pass_warnings_on(heard)
    workers, notice = Workers(rank, world, config["device"]), DrainNotice()
    loaded = frozenset(sys.modules)
    gc.freeze()  # what was imported, a million objects: looking through it takes 0.26 s, between any two jobs
    tell_moment(heard, "ready", workers=world)
    after, waits = 0, 0
    while True:
        posted: Posted | None = ray.get(board.job.remote(after))
        if posted is None:
            notice.leave_if_idle()
            waits += 1
            if waits == round(IDLE_S / IDLE_POLL_S):
                tell_moment(heard, "idle")
            time.sleep(IDLE_POLL_S)
            continue
        waits = 0
        if posted == CLOSED:
            return
        made_fresh(config["own_modules"], loaded)
        _do(posted, workers, notice, heard)
        after = posted.number


def _do(posted: Posted, workers: Any, notice: DrainNotice, board: Any) -> None:
    """Do one job to its end, and say so."""
    from ray import cloudpickle

    job: SlotJob = cloudpickle.loads(posted.job)
    world = workers.world if job.by_all else 1
    tell_moment(board, "started", f"training on {world} worker{'s' if world > 1 else ''}", workers=world)
    steps = 0

    def urgent() -> bool:
        nonlocal steps
        steps += 1
        if steps == 2:  # called before each step: the first one is done
            tell_moment(board, "step")
        return notice.given()

    def tell(event: Mapping[str, Any]) -> None:
        if board is not None:
            board.put.remote(dict(event))

    if job.by_all or workers.rank == 0:
        job.run(Seat(workers, tell, urgent))
    if job.by_all:
        # The job is taken down now: a rank that had not seen it would join in the next one's messages.
        workers.barrier()
    tell_moment(board, "finished", job=posted.number)


def made_fresh(own_modules: Collection[str], loaded: Collection[str]) -> None:
    """Make this process as it was before its first job, when the modules named in `loaded` were there: modules of the
    user's own are imported anew, generators of random numbers start again, warnings are shown again, compiled graphs
    are forgotten, and memory is free."""
    import torch

    forget_modules(own_modules, loaded)
    warnings.simplefilter("default", TiclmWarning)  # a change of filters also forgets what was shown
    if dynamo := sys.modules.get("torch._dynamo"):  # a block may have VARIANTS graphs in one chain, not in all
        dynamo.reset()
    random.seed()
    torch.manual_seed(TORCH_SEED)
    if numpy := sys.modules.get("numpy"):
        numpy.random.seed()
    gc.collect()
    return_memory()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def return_memory() -> None:
    """Give memory that is free in this process back to the system, where the C library can (glibc).

    It keeps what was freed between blocks still in use: .75 of 1.2 GB after each job that samples from SmolLM2-135M and
    trains it.
    """
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)


def forget_modules(own: Collection[str], loaded: Collection[str]) -> None:
    """Forget the modules with these top-level names, and all others that lie in the same folders, but for what is
    installed there and what was `loaded` before any of them."""
    folders = set[Path]()
    for name in own:
        file = getattr(sys.modules.get(name), "__file__", None)
        if file is not None:
            path = Path(file).resolve()
            folders.add(path.parent.parent if path.name == "__init__.py" else path.parent)
    for name, module in list(sys.modules.items()):
        file, top = getattr(module, "__file__", None), name.partition(".")[0]
        beside = file is not None and any(folder in Path(file).resolve().parents for folder in folders)
        installed = file is not None and {"site-packages", "dist-packages"} & set(Path(file).parts)
        kept = name in loaded or top in sys.stdlib_module_names or top == "ticlm"
        if top in own or (beside and not installed and not kept):
            del sys.modules[name]


def _pass_warnings_on(board: Any) -> None:
    show_others = warnings.showwarning

    def show(message: Any, category: type[Warning], *rest: Any) -> None:
        if issubclass(category, TiclmWarning):
            tell_moment(board, "warning", str(message))
        else:
            show_others(message, category, *rest)

    warnings.showwarning = show  # type: ignore[assignment]


def tell_moment(board: Any, moment: str, note: str = "", **more: Any) -> None:
    """Put a moment on the board, if there is one."""
    if board is not None:
        board.put.remote({"moment": moment, "note": note, "time": time.time(), **more})
