"""Progress: the protocol by which long work reports what it has done, and a version that shows nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable


class Show(Protocol):
    """Shows progress: a bar for each piece of work, and lines of text."""

    def begin(self, name: str, total: int, unit: str) -> None:
        """Start a bar for the work `name`, which has `total` units, such as tokens or cells; or give one that goes on
        a larger total."""

    def update(self, name: str, done: int, note: str = "") -> None:
        """Move the bar to `done` units, with a note beside it."""

    def end(self, name: str, note: str = "") -> None:
        """Finish the bar."""

    def say(self, line: str) -> None:
        """Show a line of text."""


class Silent:
    """Shows nothing."""

    def begin(self, name: str, total: int, unit: str) -> None: ...

    def update(self, name: str, done: int, note: str = "") -> None: ...

    def end(self, name: str, note: str = "") -> None: ...

    def say(self, line: str) -> None: ...


SILENT = Silent()


@runtime_checkable
class Counting(Protocol):
    """Takes the lines of a build, and shows how far its work is."""

    def __call__(self, line: str) -> None: ...

    def count(self, work: str, done: int, total: int | None) -> None:
        """Show that `done` pieces of the work are done, of `total` if that is known."""


def count(tell: Callable[[str], None], work: str, done: int, total: int | None) -> None:
    """Pass on how far some work is, if the receiver of lines shows it."""
    if isinstance(tell, Counting):
        tell.count(work, done, total)
