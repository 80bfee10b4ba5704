"""What the workers of a chain, their controller and the driver tell each other, and when a chain is given up.

Light: no Ray here. cluster.py makes the Board an actor on the driver's node, where no lost worker takes it along.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ticlm.platform.core.errors import RunError, TiclmError
from ticlm.platform.core.store import Store
from ticlm.platform.study.work import ChainWork, folder_of


class Board:
    """Holds the newest progress event, every moment (a start, a failure) in order, and the error that ends a chain."""

    def __init__(self) -> None:
        self.moments: list[dict[str, Any]] = []
        self.progress: dict[str, Any] | None = None
        self.end: TiclmError | None = None

    def put(self, event: dict[str, Any]) -> None:
        if "moment" in event:
            self.moments.append(event)
        else:
            self.progress = event

    def take(self) -> list[dict[str, Any]]:
        """What was put since the last time; of progress only the newest."""
        news = self.moments + ([self.progress] if self.progress is not None else [])
        self.moments, self.progress = [], None
        return news

    def give_up(self, error: TiclmError) -> None:
        self.end = error

    def ended_with(self) -> TiclmError | None:
        return self.end


class Leaving(Exception):
    """Raised by a worker whose node is going away, once its chain has a checkpoint."""


@dataclass
class Guard:
    """Decides after every failure of a chain's workers whether they start again.

    A user's error ends the chain as it is. Anything else ends it after `restarts` starts in a row without a new step:
    a round finished or a mid-round checkpoint completed. Waiting for workers is no start, leaving in time no failure.
    """

    work: ChainWork
    restarts: int
    reached: tuple[int, str]
    idle: int = 0

    def verdict(self, errors: Mapping[int, BaseException]) -> TiclmError | None:
        """The error that ends the chain, or None where its workers are to start again. `errors` are by rank."""
        if not _deaths(errors):  # what a survivor makes of a death is no user's error
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
    """Grows whenever a round is finished or a mid-round checkpoint completed."""
    store = Store(work.root)
    for done, round_id in enumerate(work.ids):
        folder = folder_of(round_id)
        if not store.exists(f"{folder}/record.json"):
            places = [f"{folder}/{attempt}/steps" for attempt in store.folders(folder)]
            steps = sorted(((step, place) for place in places for step in store.folders(place)), reverse=True)
            whole = (step for step, place in steps if store.exists(f"{place}/{step}/record.json"))
            return done, next(whole, "")
    return len(work.ids), ""


def _deaths(errors: Mapping[int, BaseException]) -> list[BaseException]:
    return [failure for e in errors.values() if (failure := getattr(e, "health_check_failure", None)) is not None]


def cause(errors: Mapping[int, BaseException]) -> str:
    """What went wrong, on one line; a death comes first, because other workers then raise that they were cut off."""
    deaths = _deaths(errors)
    error = next(iter(deaths or errors.values()))
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    what = lines[-1][:300] if lines else ""
    return f"a worker died: {what}" if deaths else f"{type(error).__name__}: {what}"
