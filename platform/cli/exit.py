"""The end of a command: one line for every user's error; exit code 2 for bad input, 1 for a failed run."""

from __future__ import annotations

import errno
import signal
import sys
import warnings
from collections.abc import Callable
from typing import NoReturn

import typer

from ticlm.platform.core.errors import TiclmError, TiclmWarning
from ticlm.platform.core.signals import RUNNING, TERMINATED, heed_sigterm, set_sigterm

DISK = (errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EROFS, errno.EPERM)
INTERRUPTED = 130


def ended(command: Callable[[], object]) -> NoReturn:
    """Run the command and leave the process with its exit code. Raises unchanged what is not a user's error."""
    warnings.formatwarning = _warning
    before = signal.getsignal(signal.SIGTERM)
    RUNNING.set()
    try:
        heed_sigterm()
        code = command() or 0
        if code == INTERRUPTED:  # typer turns KeyboardInterrupt into this code
            raise KeyboardInterrupt
        sys.exit(code)  # type: ignore[arg-type]
    except typer.Exit as error:
        sys.exit(error.exit_code)
    except TiclmError as error:
        _fail(str(error), error.exit_code)
    except (KeyboardInterrupt, typer.Abort):
        _fail("stopped; the same command goes on from here", 143 if TERMINATED.is_set() else INTERRUPTED)
    except OSError as error:
        if error.errno not in DISK:
            raise
        full = error.errno in (errno.ENOSPC, errno.EDQUOT)
        where = error.filename or "the root"
        hint = "free some space, then run the same command again" if full else "use another --root"
        _fail(f"{where}: {error.strerror}; {hint}", 1 if full else 2)
    except Exception as error:
        if type(error).__module__.partition(".")[0] in ("botocore", "gcsfs", "google"):
            _fail(f"{type(error).__name__}: {error}; check the credentials and the endpoint of the bucket", 2)
        if hasattr(error, "format_message"):  # a ClickException, of click or of the one inside typer
            _fail(error.format_message(), 2)
        raise
    finally:
        RUNNING.clear()
        TERMINATED.clear()
        set_sigterm(before)


def _warning(
    message: Warning | str, category: type[Warning], filename: str, lineno: int, line: str | None = None
) -> str:
    own = issubclass(category, TiclmWarning)
    return f"ticlm: {message}\n" if own else f"{filename}:{lineno}: {category.__name__}: {message}\n"


def _fail(message: str, code: int) -> NoReturn:
    print(f"ticlm: {' '.join(message.split())}", file=sys.stderr)
    sys.exit(code)
