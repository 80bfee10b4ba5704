"""The messages between a chain's workers, their controller and the driver; and the rule when to stop
restarting a chain.

This module does not import Ray, so it loads fast. `ray_train.fit` makes the Board an actor on the driver's node, so
that it is not lost together with a worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ticlm.core import paths
from ticlm.core.errors import RunError, TiclmError
from ticlm.core.store import Store
from ticlm.platform.cluster.ray_internals import worker_death
from ticlm.platform.study.stored_rounds import mid_round_checkpoints
from ticlm.platform.study.work import ChainWork


class Board:
    """The moments (a start, a failure) of a chain since the last `take`, in order; the newest progress event; and the
    error that ends the chain.

    An event is a moment if it has the key `moment`.
    """

    def __init__(self) -> None:
        self.moments: list[dict[str, Any]] = []
        self.progress: dict[str, Any] | None = None
        self.end: TiclmError | None = None

    def put(self, event: dict[str, Any]) -> None:
        """Keep a moment, or replace the progress event."""
        if "moment" in event:
            self.moments.append(event)
        else:
            self.progress = event

    def take(self) -> list[dict[str, Any]]:
        """Return and forget all events since the last call: every moment, then the newest progress event."""
        news = self.moments + ([self.progress] if self.progress is not None else [])
        self.moments, self.progress = [], None
        return news

    def give_up(self, error: TiclmError) -> None:
        """Keep the error that ends the chain."""
        self.end = error

    def ended_with(self) -> TiclmError | None:
        """Return the error that ends the chain, or None if it goes on."""
        return self.end


class Leaving(Exception):
    """Raised by a worker whose node is going away, once its chain has a checkpoint."""


@dataclass
class Guard:
    """Decides after every failure of a chain's workers whether they start again.

    A TiclmError ends the chain as it is, unless a worker died too. Any other error ends it once the workers have been
    started again `restarts` times in a row without progress (a new finished round or a new complete mid-round
    checkpoint). Waiting for workers does not count as a start. If a worker saved and left a node that is shutting down,
    this is no failure, and the count starts again at 0.
    """

    work: ChainWork
    restarts: int
    reached: tuple[int, str]
    idle: int = 0

    def verdict(self, errors: Mapping[int, BaseException]) -> TiclmError | None:
        """Return the error that ends the chain, or None if its workers start again. `errors` are by rank."""
        if not _deaths(errors):  # after a death, a TiclmError of a surviving worker may only follow from it
            for error in errors.values():
                if isinstance(error, TiclmError):
                    return error
        reached = progress(self.work)
        if reached > self.reached or any(isinstance(error, Leaving) for error in errors.values()):
            self.reached, self.idle = max(reached, self.reached), 0
            return None
        self.idle += 1
        if self.idle <= self.restarts:
            return None
        return RunError(f"chain {self.work.label}: no new step after {self.restarts} restarts: {cause(errors)}")


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
