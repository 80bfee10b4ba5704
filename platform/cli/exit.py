"""The end of a command: one line for every user's error; exit code 2 for bad input, 1 for a failed run."""

from __future__ import annotations

import io
import os
import signal
import sys
import traceback
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NoReturn

import typer

from ticlm.core.errors import CLOSED, FULL, TiclmError, TiclmWarning, of_storage
from ticlm.core.quantities import printable
from ticlm.core.remote.credentials import without_credentials
from ticlm.core.signals import ENDING, RUNNING, TERMINATED, handle, heed_sigterm, ignore_interrupts
from ticlm.platform.cli.options import ROOTS

INTERRUPTED = 130
TRACEBACK = "TICLM_TRACEBACK"
"""A variable: if it is set, the whole traceback is printed before the line of an error."""


def ended(command: Callable[[], object]) -> NoReturn:
    """Run the command and leave the process with its exit code.

    What is not a user's error is a fault of ours: its traceback is printed, and a line that says where the work stands.
    """
    warnings.formatwarning = _warning
    warnings.simplefilter("always", TiclmWarning)  # a second loss of the same node is news, too
    before = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    RUNNING.set()
    _outlive_readers()
    whole = bool(os.environ.get(TRACEBACK))
    try:
        heed_sigterm()
        code = command() or 0
        if code == INTERRUPTED:  # typer turns KeyboardInterrupt into this code
            raise KeyboardInterrupt
        sys.exit(code)  # type: ignore[arg-type]
    except typer.Exit as error:
        sys.exit(error.exit_code)
    except TiclmError as error:
        if whole:
            _print_traceback()
        _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        ignore_interrupts()  # a second one would put a traceback in place of the line
        _fail("stopped; the same command goes on from here", 143 if TERMINATED.is_set() else INTERRUPTED)
    except Exception as error:
        if whole:
            _print_traceback()
        _fail_with(error, traced=whole)
    finally:
        RUNNING.clear()
        TERMINATED.clear()
        ENDING.clear()
        for number, handler in before.items():
            handle(number, handler)


def _fail_with(error: Exception, traced: bool) -> NoReturn:
    """End after an error that is not of our own making, if it is one of the storage, or after one that is."""
    root = ", ".join(ROOTS[-1:]) or "the root"
    if isinstance(error, OSError) and error.errno in CLOSED:
        _fail(f"{error.filename or root}: {error.strerror}; use another --root", 2)
    storage = of_storage(error, root)
    if storage is not None:
        full = "free some space, then run the same command again"
        fails = "the storage does not work as it should; when it does, run the same command again"
        _fail(f"{storage.filename}: {storage.strerror}; {full if storage.errno in FULL else fails}", 1)
    if type(error).__module__.partition(".")[0] in ("botocore", "gcsfs", "google"):
        _fail(f"{type(error).__name__}: {error}; check the credentials and the endpoint of the bucket", 2)
    from ticlm.core.reading import own_faults

    line = own_faults.fault_of(error)
    if line is not None:
        _fail(line, 1)
    if hasattr(error, "format_message"):  # a ClickException, of click or of the one inside typer
        said = error.format_message()
        if not said:  # no arguments: the help has been printed
            sys.exit(0)
        _fail(said, 2)
    if not traced:
        _print_traceback()
    _fail(f"this is a fault of ticlm, please report it; what is finished in {root} is kept", 1)


def _warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    own = issubclass(category, TiclmWarning)
    return f"ticlm: {printable(str(message))}\n" if own else f"{filename}:{lineno}: {category.__name__}: {message}\n"


def _print_traceback() -> None:
    print(without_credentials(traceback.format_exc()), end="", file=sys.stderr)


def _fail(message: str, code: int) -> NoReturn:
    print(f"ticlm: {printable(without_credentials(' '.join(message.split())))}", file=sys.stderr)
    sys.exit(code)


def _outlive_readers() -> None:
    """Make standard output drop what is written once nobody reads it, as in `ticlm run … | head -1`.

    What its encoding lacks is spelled as Python does. Does nothing where standard output is no file of the system.
    """
    with suppress(AttributeError, OSError, ValueError):
        sys.stdout.flush()
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(_Outlives(sys.stdout.fileno(), "wb", closefd=False)),
            encoding=sys.stdout.encoding,
            errors="backslashreplace",
            line_buffering=sys.stdout.isatty(),
        )


class _Outlives(io.FileIO):
    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except BrokenPipeError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(data)
