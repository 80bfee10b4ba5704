"""Faults of the user's own classes: one line that names the class, the error and the place."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from traceback import walk_tb
from types import FrameType

from pydantic import ValidationError

from ticlm.core import extensions
from ticlm.core.errors import TiclmError
from ticlm.core.reading.settings_errors import one_line
from ticlm.core.settings import Settings

PROGRAMMING = (
    *(ArithmeticError, AssertionError, AttributeError, LookupError, NameError, NotImplementedError, TypeError),
    ValueError,
)
"""Errors that come again if the same code runs again; others may be those of a machine or of another process."""


@contextmanager
def faults_as(kind: type[TiclmError], errors: tuple[type[Exception], ...] = (Exception,)) -> Iterator[None]:
    """Raise an error that comes from code of the user's own as a `kind`, in one line, if it is one of `errors`."""
    try:
        yield
    except TiclmError:
        raise
    except errors as error:
        line = fault_of(error)
        if line is None:
            raise
        raise kind(line) from error


def fault_of(error: BaseException) -> str | None:
    """Return one line for an error that comes from code of the user's own: which class, which error, and where.

    Returns None if there is no such code among what was running, or if the error was raised by another process.
    """
    if isinstance(error, RuntimeError) and isinstance(error.__cause__, StopIteration):  # raised below a generator
        error = error.__cause__
    frames = list(walk_tb(error.__traceback__))
    holders = [type(held) for frame, _ in frames if extensions.is_own(held := frame.f_locals.get("self"))]
    # A worker has its classes from a pickle, and has imported no module by name.
    known = extensions.MODULES | {extensions.top_level(kind.__module__) for kind in holders}
    own = [(frame, line) for frame, line in frames if _module(frame) in known]
    if not own and not holders:
        return None
    what = one_line(error, Settings) if isinstance(error, ValidationError) else " ".join(str(error).split())
    raised = f"{type(error).__name__}{f': {what}' if what else ''}"
    if own:
        frame, line = own[-1]
        return f"{_code_at(frame, holders)} raised {raised} ({_shown(frame.f_code.co_filename)}:{line})"
    file = getattr(sys.modules.get(holders[-1].__module__), "__file__", None)
    return f"{extensions.import_path(holders[-1])}: {raised}{f' ({_shown(file)})' if file else ''}"


def _module(frame: FrameType) -> str:
    return extensions.top_level(frame.f_globals.get("__name__", ""))


def _code_at(frame: FrameType, holders: Sequence[type]) -> str:
    """Return the name of the user's code that runs in a frame: its class's, if it is a method of one."""
    name = frame.f_code.co_qualname
    holder = frame.f_locals.get("self")
    if extensions.is_own(holder):
        return f"{extensions.import_path(type(holder))}.{frame.f_code.co_name}"
    module = frame.f_globals.get("__name__", "")
    return f"{module}:{name}" + (f" of {extensions.import_path(holders[-1])}" if holders else "")


def _shown(file: str) -> str:
    """Return a file's path, from the current folder if it is in there."""
    here = f"{os.getcwd()}{os.sep}"
    return file.removeprefix(here)
