"""The messages between a chain's workers, their controller and the driver; and the rule that gives a chain up.

Light: Ray is not imported here. `ray_train.fit` makes the Board an actor on the driver's node, so that it is not lost
together with a worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ticlm.platform.cluster.ray_internals import worker_death
from ticlm.platform.core import paths
from ticlm.platform.core.errors import RunError, TiclmError
from ticlm.platform.core.store import Store
from ticlm.platform.study.stored_rounds import mid_rounds
from ticlm.platform.study.work import ChainWork


class Board:
    """The newest progress event of a chain, all its moments (a start, a failure) in order, and the error that ends it.

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

    A user's error ends the chain as it is. Any other error ends it after `restarts` starts in a row without a new step:
    a finished round, or a complete mid-round checkpoint. Waiting for workers does not count as a start, and leaving a
    draining node in time does not count as a failure.
    """

    work: ChainWork
    restarts: int
    reached: tuple[int, str]
    idle: int = 0

    def verdict(self, errors: Mapping[int, BaseException]) -> TiclmError | None:
        """Return the error that ends the chain, or None if its workers start again. `errors` are by rank."""
        if not _deaths(errors):  # what a surviving worker raises after a death is not a user's error
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
            whole = (step for step, path in mid_rounds(store, folder) if store.exists(paths.record(path)))
            newest = next(whole, None)
            return done, "" if newest is None else paths.step_name(newest)
    return len(work.ids), ""


def _deaths(errors: Mapping[int, BaseException]) -> list[BaseException]:
    return [death for error in errors.values() if (death := worker_death(error)) is not None]


def cause(errors: Mapping[int, BaseException]) -> str:
    """Return what went wrong, on one line. A death comes first: the other workers then only raise that they were cut
    off."""
    deaths = _deaths(errors)
    error = next(iter(deaths or errors.values()))
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    what = lines[-1][:300] if lines else ""
    return f"a worker died: {what}" if deaths else f"{type(error).__name__}: {what}"
