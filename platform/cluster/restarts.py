"""The rule when workers that fail are started again, and when what they do is given up. Does not import Ray."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from ticlm.core import paths
from ticlm.core.errors import RunError, TiclmError
from ticlm.core.store import Store
from ticlm.platform.cluster.ray_internals import worker_death
from ticlm.platform.study.stored_rounds import mid_round_checkpoints
from ticlm.platform.study.work import ChainWork


class Leaving(Exception):
    """Raised by a worker whose node is going away, once its chain has a checkpoint."""


class Resumable(Protocol):
    """Work that can be done again from any point, as jobs of slots are."""

    @property
    def name(self) -> str:
        """What errors call it."""

    @property
    def piece(self) -> str:
        """What it comes in, one by one: a step, or a cell."""

    def reached(self) -> tuple[int, str]:
        """Return how far it is by what is stored; it grows with everything that need not be done again."""


@dataclass
class Guard:
    """Decides after every failure of a slot's workers whether they start again. Without work, they are idle.

    A TiclmError ends the work as it is, unless a worker died too. Any other error ends it once the workers have been
    started again `restarts` times in a row without progress (of a chain: a new finished round or a new complete
    mid-round checkpoint). Waiting for workers does not count as a start. If a worker saved and left a node that is
    shutting down, this is no failure, and the count starts again at 0.
    """

    work: Resumable | None
    restarts: int
    reached: tuple[int, str] = (0, "")
    idle: int = 0

    def verdict(self, errors: Mapping[int, BaseException]) -> TiclmError | None:
        """Return the error that ends the work, or None if its workers start again. `errors` are by rank."""
        if not _deaths(errors):  # after a death, a TiclmError of a surviving worker may only follow from it
            for error in errors.values():
                if isinstance(error, TiclmError):
                    return error
        reached = self.reached if self.work is None else self.work.reached()
        if reached > self.reached or any(isinstance(error, Leaving) for error in errors.values()):
            self.reached, self.idle = max(reached, self.reached), 0
            return None
        self.idle += 1
        if self.idle <= self.restarts:
            return None
        return gave_up(self.work, self.restarts, errors)


def gave_up(work: Resumable | None, restarts: int, errors: Mapping[int, BaseException]) -> RunError:
    """Return the error of work whose workers were started again too often."""
    name, piece = ("idle workers", "job") if work is None else (work.name, work.piece)
    return RunError(f"{name}: no new {piece} after {restarts} restarts: {cause(errors)}")


def progress(work: ChainWork) -> tuple[int, str]:
    """Return (finished rounds, newest complete checkpoint's step) of a chain; it grows whenever either is written."""
    store = Store(work.root)
    for done, round_id in enumerate(work.ids):
        folder = paths.round_folder(round_id)
        if not store.exists(paths.record(folder)):
            whole = (step for step, path in mid_round_checkpoints(store, folder) if store.exists(paths.record(path)))
            newest = next(whole, None)
            return done, "" if newest is None else paths.step_name(newest)
    return len(work.ids), ""


def _deaths(errors: Mapping[int, BaseException]) -> list[BaseException]:
    return [death for error in errors.values() if (death := worker_death(error)) is not None]


def cause(errors: Mapping[int, BaseException]) -> str:
    """Return what went wrong, on one line. If a worker died, name that; the other workers' errors only follow from
    it."""
    deaths = _deaths(errors)
    error = next(iter(deaths or errors.values()))
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    what = lines[-1][:300] if lines else ""
    return f"a worker died: {what}" if deaths else f"{type(error).__name__}: {what}"
