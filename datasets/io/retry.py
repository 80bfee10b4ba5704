"""Faults: errors of servers and networks, those that pass and those that stay."""

from __future__ import annotations

AGAIN = (408, 425, 429)
"""Statuses below 500 after which a server asks to be asked again (RFC 9110, 8470, 6585)."""


def passing(error: BaseException) -> bool:
    """Whether the same request may succeed later: no for what the server refuses, and for what is no network error."""
    error = _deepest(error)
    if (status := _status(error)) is not None:
        return status in AGAIN or status >= 500
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError | ValueError):
        return False
    return isinstance(error, OSError) or type(error).__module__.startswith("aiohttp")


def in_one_line(error: BaseException) -> str:
    """What the error says, or the HTTP status behind it."""
    error = _deepest(error)
    status = _status(error)
    told = " ".join(str(error).split()) or type(error).__name__
    return f"HTTP status {status}" if status is not None else told[:300]


def _deepest(error: BaseException) -> BaseException:
    """What lies behind an error: fsspec says `not found` of whatever it could not ask for, and keeps the cause."""
    while isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _status(error: BaseException) -> int | None:
    for name in ("status", "status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int) and 100 <= value < 600:
            return value
    return None
