"""Errors of servers and networks: which ones are worth another try, and how to say them in one line."""

from __future__ import annotations

AGAIN = (408, 425, 429)
"""HTTP statuses below 500 after which a request may be repeated (RFC 9110, 8470, 6585)."""


def passing(error: BaseException) -> bool:
    """Return whether the same request may succeed later: not if the server refuses it, or if the network works."""
    error = _deepest(error)
    if (status := _status(error)) is not None:
        return status in AGAIN or status >= 500
    if isinstance(error, FileNotFoundError | PermissionError | IsADirectoryError | ValueError):
        return False
    return isinstance(error, OSError) or type(error).__module__.startswith("aiohttp")


def in_one_line(error: BaseException) -> str:
    """Return the message of the error in one line, or the HTTP status that caused it."""
    error = _deepest(error)
    status = _status(error)
    text = " ".join(str(error).split()) or type(error).__name__
    return f"HTTP status {status}" if status is not None else text[:300]


def _deepest(error: BaseException) -> BaseException:
    """Return the cause of an error: fsspec says `not found` for every failed request, and keeps the cause."""
    while isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _status(error: BaseException) -> int | None:
    for name in ("status", "status_code", "code"):
        value = getattr(error, name, None)
        if isinstance(value, int) and 100 <= value < 600:
            return value
    return None
