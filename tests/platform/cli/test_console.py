"""What is shown while work goes on: bars on a terminal, lines elsewhere."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from ticlm.platform.cli import console
from ticlm.platform.cli.console import PlainConsole, bars, build_bars, waiting


class Screen:
    """A console that writes to a text, as a terminal or as a log."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
        self.file = io.StringIO()
        made = PlainConsole(width=100)
        Console.__init__(
            made, file=self.file, force_terminal=terminal, width=100, highlight=False, markup=False, emoji=False
        )
        monkeypatch.setattr(console, "_CONSOLE", [made])

    @property
    def text(self) -> str:
        return self.file.getvalue()


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> Screen:
    return Screen(monkeypatch, terminal=False)


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Screen:
    return Screen(monkeypatch, terminal=True)


def test_a_log_has_a_line_per_phase_and_per_work(log: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 15.0, 30.0, 30.0])
    monkeypatch.setattr("ticlm.platform.cli.console.time.monotonic", lambda: next(clock))
    with waiting("starting Ray"):
        assert log.text == "starting Ray …\n", "it is said before it is done"
    show = console.Bars(Progress(disable=True))
    show.begin("evaluation", 7, "cells")
    show.update("evaluation", 0, "starting 2 evaluators")
    show.update("evaluation", 1, "202301")
    show.end("evaluation")
    assert log.text.splitlines() == [
        "starting Ray …",
        "evaluation: starting 2 evaluators",
        "evaluation: 7 cells in 30 s (14 cells/min)",
    ]


def test_a_terminal_shows_what_is_waited_for_and_for_how_long(terminal: Screen) -> None:
    with waiting("starting Ray"):
        pass
    assert "starting Ray …" in terminal.text and "0:00:0" in terminal.text
    with bars() as show:
        show.begin("chain", 10, "tokens")
        show.update("chain", 0, "starting 2 workers")
    assert "starting 2 workers" in terminal.text and "0:00:0" in terminal.text


@pytest.mark.parametrize("live", [True, False])
def test_a_build_shows_a_bar_on_a_terminal_and_lines_everywhere(monkeypatch: pytest.MonkeyPatch, live: bool) -> None:
    screen = Screen(monkeypatch, terminal=live)
    with build_bars() as shown:
        shown("reading 12 inputs")
        shown.count("read", 3, 12)
        shown.count("periods", 1, None)
        shown.progress.refresh()
    assert "reading 12 inputs" in screen.text
    assert ("3/12" in screen.text or "1/?" in screen.text) == live
