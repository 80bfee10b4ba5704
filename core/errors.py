"""Errors that a user may see. Each is one line: what is wrong, where, and what is allowed."""

from __future__ import annotations

import errno
import re
from urllib.parse import unquote

from ticlm.core.remote.credentials import without_credentials

LINKS = re.compile(r"[^\s'\"]*/ticlm/(?:model|code|tokenizer|encoder)/([\w.-]+%2F[\w.-]+@[0-9a-f]{40}(?:%3A[\w.%-]+)?)")
"""Folders that `core.hub` made of a model's name on the hub."""
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Numbers of errors of a storage that has no room."""
CLOSED = (errno.EACCES, errno.EROFS, errno.EPERM)
"""Numbers of errors of a storage that this user may not write."""
FAILING = (
    errno.EIO,
    errno.ESTALE,
    errno.ETIMEDOUT,
    errno.ENOTCONN,
    errno.ENOTDIR,  # where a root stood, there is something else
    getattr(errno, "EREMOTEIO", errno.EIO),  # a number of Linux alone
)
"""Numbers of errors of a storage that does not work as it should."""


def of_storage(error: BaseException, where: str = "") -> OSError | None:
    """Return the error of a full or failing storage that an error follows from, or None if there is none.

    Libraries hide it: torch says `unexpected pos` of an archive that it could not write to its end. An error without a
    path gets `where`.
    """
    seen = set[int]()  # causes may form a circle
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        seen.add(id(found))
        if isinstance(found, OSError) and found.errno in (*FULL, *FAILING):
            return OSError(found.errno, found.strerror, found.filename or where or None)
        found = found.__cause__ or found.__context__
    return None


def in_one_line(error: BaseException) -> str:
    """Return the first 300 characters of what an error of some library says, or its name if it says nothing; without
    credentials of URLs."""
    # Credentials go before the cut: half of a URL is not recognised as one, and would keep half of a password.
    return without_credentials(" ".join(str(error).split()))[:300] or type(error).__name__


class TiclmError(Exception):
    """An error whose message is for the user; `exit_code` is what the command ends with. The message holds no
    credentials of URLs, wherever it is printed or recorded, and calls models on the hub by their names."""

    exit_code = 1

    def __init__(self, message: str = "") -> None:
        super().__init__(LINKS.sub(lambda found: unquote(found[1]), without_credentials(message)))


class InputError(TiclmError):
    """Something the user wrote or pointed to is wrong: a file, a key, a value, a path. `required` is the key that is
    not there, if this is what is wrong."""

    exit_code = 2

    def __init__(self, message: str = "", required: str = "") -> None:
        super().__init__(message)
        self.required = required


class NotBuilt(InputError):
    """Rows have to be counted of a period that no corpus has yet."""


class RunError(TiclmError):
    """Work that was correctly requested could not be finished."""


class TakenOver(RunError):
    """Another writer has taken the root over, so this one may write to it no more."""


class Diverged(RunError):
    """A loss or a gradient is not a number any more; repeating the same work would end in the same way."""


class Stopped(RunError):
    """Work was told to stop before its end; the same command continues from there."""

    def __init__(self) -> None:
        super().__init__("stopped; the same command goes on from here")


class FutureMonthError(InputError):
    """Something at one period would read a later period, which breaks causality."""

    def __init__(self, what: str, at: str, reads: str) -> None:
        super().__init__(f"{what} at period {at} would read period {reads}, which lies in its future")


class TiclmWarning(UserWarning):
    """Something that the user should know and that stops nothing, in one line without credentials of URLs."""

    def __init__(self, message: str = "") -> None:
        super().__init__(without_credentials(message))
