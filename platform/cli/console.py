"""Output while work goes on: progress bars on a terminal, a line per finished piece of work elsewhere."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.text import Text

from ticlm.core import quantities
from ticlm.core.quantities import printable
from ticlm.core.remote.credentials import without_credentials

_CONSOLE: list[Console] = []


class PlainConsole(Console):
    """A console on which text is only text: names from data hold no markup, no emoji codes, and nothing that steers a
    terminal; URLs hold no credentials."""

    def __init__(self, width: int | None = None) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, width=width)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterator[Segment]:
        """Yield the segments of anything that is printed; each text in it passes here."""
        if isinstance(renderable, Text):
            renderable = _printable(renderable)
        yield from super().render(renderable, options)

    def render_str(self, text: str, **options: Any) -> Text:
        """Return a string as Text; cells and titles of tables pass here, before their widths are measured."""
        return super().render_str(printable(without_credentials(text)), **options)


def _printable(text: Text) -> Text:
    if text.plain == (plain := printable(without_credentials(text.plain))):
        return text
    return Text(plain, text.style, justify=text.justify, overflow=text.overflow, no_wrap=text.no_wrap)


def console() -> Console:
    """Return the console of this process; it is wide if it is no terminal, so that lines in a log are not broken."""
    if not _CONSOLE:
        probe = PlainConsole()
        _CONSOLE.append(probe if probe.is_terminal else PlainConsole(width=160))
    return _CONSOLE[0]


def say(line: str) -> None:
    """Print a line without breaking it."""
    console().print(line, soft_wrap=True)


class Bars:
    """A progress bar per piece of work, with its rate and the time left. Any thread may update it."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self.live = console().is_terminal
        self._tasks: dict[str, TaskID] = {}
        self._state: dict[str, tuple[float, int, int, str]] = {}
        self._lock = threading.Lock()

    def begin(self, name: str, total: int, unit: str) -> None:
        with self._lock:
            if name in self._tasks and (state := self._state[name])[2] < total:  # there is more of it than was known
                self.progress.update(self._tasks[name], total=total)
                self._state[name] = (*state[:2], total, unit)
                return
            self._tasks[name] = self.progress.add_task(name, total=total, rate="", note="")
            self._state[name] = (time.monotonic(), 0, total, unit)

    def say(self, line: str) -> None:
        say(line)

    def update(self, name: str, done: int, note: str = "") -> None:
        with self._lock:
            began, _, total, unit = self._state[name]
            self._state[name] = (began, _, total, unit)
            rate = quantities.rate(done, time.monotonic() - began, unit)
            self.progress.update(self._tasks[name], completed=done, rate=rate, note=note)
            if note and not done and not self.live:  # what is waited for before the first unit
                say(f"{name}: {note}")

    def end(self, name: str, note: str = "") -> None:
        with self._lock:
            began, _, total, unit = self._state[name]
            self.progress.update(self._tasks[name], completed=total, note=note or "done")
            if not self.live:
                seconds = time.monotonic() - began
                rate = quantities.rate(total, seconds, unit)
                say(f"{name}: {total:,} {unit} in {quantities.duration(seconds)}{f' ({rate})' if rate else ''}")


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show what is waited for while the block runs: with the time on a terminal, as one line elsewhere."""
    if not console().is_terminal:
        say(f"{what} …")
        yield
        return
    columns = (SpinnerColumn(), TextColumn("{task.description} …", markup=False), TimeElapsedColumn())
    with Progress(*columns, console=console(), transient=True) as progress:
        progress.add_task(what, total=None)
        yield


class BuildBars:
    """Prints the lines of a build, and shows a bar for the work that it is at. Anything but a terminal gets the lines
    alone."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress
        self._tasks: dict[str, TaskID] = {}

    def __call__(self, line: str) -> None:
        say(line)

    def count(self, work: str, done: int, total: int | None) -> None:
        for other, task in self._tasks.items():
            self.progress.update(task, visible=other == work)
        if work not in self._tasks:
            self._tasks[work] = self.progress.add_task(work, total=total)
        self.progress.update(self._tasks[work], completed=done, total=total)


@contextmanager
def build_bars() -> Iterator[BuildBars]:
    """Show the progress of a build for the time of the block."""
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console(), transient=True, disable=not console().is_terminal) as progress:
        yield BuildBars(progress)


@contextmanager
def bars() -> Iterator[Bars]:
    """Show progress bars for the time of the block."""
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.percentage:>3.0f}%"),
        TextColumn("{task.fields[rate]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=console(), disable=not console().is_terminal) as progress:
        yield Bars(progress)
