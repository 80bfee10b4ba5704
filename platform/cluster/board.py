"""The messages between the workers of a slot, their controller and the driver.

This module does not import Ray, so it loads fast. `group.WorkerGroup` makes the Board an actor on the driver's node, so
that it is not lost together with a worker.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ticlm.core.errors import TiclmError


class Posted(NamedTuple):
    """A job as it hangs on the board: its number, from 1, itself as a pickle, and how far it was when it was posted."""

    number: int
    job: bytes
    reached: tuple[int, str]


CLOSED = Posted(0, b"", (0, ""))
"""What workers get in place of a job once there is none left."""


class Board:
    """The job that a slot's workers do, if there is one; what was told of it since the last `take`, in order; and the
    error that ended it.

    An event is a moment (a start, a failure) if it has the key `moment`; any other event is progress, of which only the
    newest is kept between two moments.
    """

    def __init__(self) -> None:
        self.posted: Posted | None = None
        self.events: list[dict[str, Any]] = []
        self.error: TiclmError | None = None

    def post(self, job: Posted) -> None:
        """Put up a job, or CLOSED, for the workers to take."""
        self.posted = job

    def job(self, after: int) -> Posted | None:
        """Return the job, if there is one that is newer than number `after`; CLOSED if the workers are to end."""
        is_new = self.posted is not None and (self.posted == CLOSED or self.posted.number > after)
        return self.posted if is_new else None

    def put(self, event: dict[str, Any]) -> None:
        """Keep a moment, or a progress event in place of the one before. The moment `finished` takes the job down."""
        if "moment" not in event and self.events and "moment" not in self.events[-1]:
            self.events.pop()
        self.events.append(event)
        done = self.posted is not None and event.get("moment") == "finished" and event["job"] == self.posted.number
        if done and self.posted != CLOSED:
            self.posted = None

    def take(self) -> list[dict[str, Any]]:
        """Return and forget all events since the last call."""
        news, self.events = self.events, []
        return news

    def give_up(self, error: TiclmError) -> None:
        """Keep the error that ends the job."""
        self.error = error

    def ended_with(self) -> TiclmError | None:
        """Return the error that ended a job, or None."""
        return self.error
