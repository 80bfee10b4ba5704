"""TODO"""

from __future__ import annotations

from typing import Protocol


class Show(Protocol):
    """How progress is shown: a bar per piece of work, in tokens or cells, and lines about what goes on beside it."""

    def begin(self, name: str, total: int, unit: str) -> None: ...

    def update(self, name: str, done: int, note: str = "") -> None: ...

    def end(self, name: str, note: str = "") -> None: ...

    def say(self, line: str) -> None: ...


class Silent:
    """Shows nothing."""

    def begin(self, name: str, total: int, unit: str) -> None: ...

    def update(self, name: str, done: int, note: str = "") -> None: ...

    def end(self, name: str, note: str = "") -> None: ...

    def say(self, line: str) -> None: ...


SILENT = Silent()
