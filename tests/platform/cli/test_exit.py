"""How commands end: one line for what a user can mend, a traceback and a line for what is our fault."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest

from ticlm.platform.cli import options
from ticlm.platform.cli.exit import ended


def raises(error: BaseException) -> Callable[[], None]:
    def command() -> None:
        raise error

    return command


def hidden() -> None:
    """What torch does on a full disk."""
    try:
        raise OSError(errno.ENOSPC, "No space left on device")
    except OSError:
        raise RuntimeError("[enforce fail at inline_container.cc:672] . unexpected pos 704 vs 598")  # noqa: B904


@pytest.fixture
def last_words(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Callable[[Callable[[], Any]], tuple[int, str]]:
    monkeypatch.setattr(options, "ROOTS", ["/there/root"])
    monkeypatch.setattr("ticlm.platform.cli.exit.ROOTS", ["/there/root"])

    def run(command: Callable[[], Any]) -> tuple[int, str]:
        with pytest.raises(SystemExit) as end:
            ended(command)
        return int(end.value.code or 0), capsys.readouterr().err

    return run


@pytest.mark.parametrize(
    ("number", "code", "remedy"),
    [
        (errno.ENOSPC, 1, "free some space"),
        (errno.EDQUOT, 1, "free some space"),
        (errno.EFBIG, 1, "free some space"),
        (errno.EACCES, 2, "use another --root"),
        (errno.EROFS, 2, "use another --root"),
        (errno.EIO, 1, "run the same command again"),
        (errno.ESTALE, 1, "run the same command again"),
        (errno.ENOTDIR, 1, "run the same command again"),
        (errno.ETIMEDOUT, 1, "run the same command again"),
        (errno.EREMOTEIO, 1, "run the same command again"),
    ],
)
@pytest.mark.parametrize("path", ["/there/file", None])
def test_errors_of_a_storage_are_one_line_with_a_path(
    last_words: Callable[..., tuple[int, str]], number: int, code: int, remedy: str, path: str | None
) -> None:
    ending, said = last_words(raises(OSError(number, os.strerror(number), path)))
    assert ending == code and said.count("\n") == 1
    assert said.startswith(f"ticlm: {path or '/there/root'}: {os.strerror(number)}; ") and remedy in said


def test_a_full_disk_below_an_error_of_a_library_is_found(last_words: Callable[..., tuple[int, str]]) -> None:
    assert last_words(hidden) == (
        1,
        "ticlm: /there/root: No space left on device; free some space, then run the same command again\n",
    )


def test_a_fault_of_ours_keeps_its_traceback_and_ends_in_a_line(last_words: Callable[..., tuple[int, str]]) -> None:
    code, said = last_words(lambda: 1 // 0)
    assert code == 1 and "ZeroDivisionError" in said and said.startswith("Traceback")
    assert said.splitlines()[-1] == (
        "ticlm: this is a fault of ticlm, please report it; what is finished in /there/root is kept"
    )


def test_what_an_error_says_cannot_steer_the_terminal(last_words: Callable[..., tuple[int, str]]) -> None:
    from ticlm.core.errors import InputError

    assert last_words(raises(InputError("a \x1b]0;b\x07 \u202ec"))) == (2, "ticlm: a \\x1b]0;b\\x07 \\u202ec\n")


@pytest.mark.parametrize("how", ["print('line', flush=True)", "say('line')", "console().print(Text('line'))"])
def test_a_reader_that_goes_away_stops_no_work(how: str) -> None:
    code = (
        "import sys, time\n"
        "from rich.text import Text\n"
        "from ticlm.platform.cli.console import console, say\n"
        "from ticlm.platform.cli.exit import ended\n"
        "def work():\n"
        f"    for _ in range(3000): {how}\n"
        "    print('worked', file=sys.stderr)\n"
        "ended(work)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    assert process.stdout.readline() == "line\n"
    process.stdout.close()
    assert process.wait(60) == 0 and process.stderr.read() == "worked\n"
    process.stderr.close()
