"""Errors of servers and networks: which ones are worth another try, and how to say them in one line."""

from __future__ import annotations

import errno
import re
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from email.utils import parsedate_to_datetime

from ticlm.core import errors
from ticlm.core.errors import CLOSED, FULL

AGAIN = (408, 409, 425, 429)
"""HTTP statuses below 500 after which a request may be repeated (RFC 9110, 8470, 6585; 409 is what S3 answers to a
conditional write that met another one)."""
LASTING = (
    *(*FULL, *CLOSED, errno.EINVAL, errno.ENOSYS),
    *(errno.ENAMETOOLONG, errno.ENOTEMPTY, errno.EMSGSIZE, errno.ENOTSUP),
)
"""Errors of an operating system, or of a library that borrows their numbers, that no waiting mends."""
REFUSED = (FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError, NotADirectoryError, ValueError)
# By name, so that none of these libraries is loaded to look at an error.
NETWORK = ("HTTPClientError", "EndpointConnectionError", "IncompleteReadError", "ClientError", "TransportError")
"""Errors of botocore, aiohttp and google.auth for which no answer came, or half of one."""


def passing(error: BaseException) -> bool:
    """Return whether the same request may succeed later: not if the server refuses it, or if the network works."""
    error = _deepest(error)
    if (status := _status(error)) is not None:
        return status in AGAIN or status >= 500
    if isinstance(error, REFUSED):
        return False
    if isinstance(error, OSError):
        return error.errno not in LASTING
    names = {kind.__name__ for kind in type(error).__mro__}
    return not names.isdisjoint(NETWORK) and "SSLError" not in names


def http_status(error: BaseException) -> int | None:
    """Return the HTTP status that caused an error, if there was an answer."""
    return _status(_deepest(error))


def asked_wait_s(error: BaseException) -> float | None:
    """Return the seconds after which a server that is asked too often (429, 503) will answer again, as it says: by
    Retry-After (RFC 9110), or by RateLimit, whose `t` is the rest of the window. None if it does not say."""
    error = _deepest(error)
    if _status(error) not in (429, 503):
        return None
    of_answers = (getattr(one, "headers", None) for one in (error, *_responses(error)))
    headers: Mapping[str, str] = next((one for one in of_answers if one), {})
    after = str(headers.get("Retry-After") or "").strip()
    if re.fullmatch(r"\d{1,9}", after):
        return float(after)
    with suppress(ValueError, TypeError):
        return max(0.0, parsedate_to_datetime(after).timestamp() - time.time())
    left = re.search(r"\bt=(\d{1,9})", str(headers.get("RateLimit") or ""))
    return float(left[1]) if left is not None else None


def in_one_line(error: BaseException) -> str:
    """Return the message of the error in one line and without credentials of URLs, or the HTTP status that caused
    it."""
    error = _deepest(error)
    status = _status(error)
    return f"HTTP status {status}" if status is not None else errors.in_one_line(error)


def _deepest(error: BaseException) -> BaseException:
    """Return the cause of an error."""
    # fsspec's HTTP filesystem says "not found" of every request that failed, and keeps what went wrong as the cause.
    while isinstance(error, FileNotFoundError) and error.__cause__ is not None:
        error = error.__cause__
    return error


def _status(error: BaseException) -> int | None:
    """Return the HTTP status of an error, or of its cause: s3fs raises errors of the operating system instead."""
    for value in (*(getattr(error, name, None) for name in ("status", "status_code", "code")), *_answers(error)):
        if isinstance(value, int) and 100 <= value < 600:
            return value
    return None


def _answers(error: BaseException) -> Iterator[object]:
    for response in _responses(error):
        if isinstance(response, dict):
            yield response.get("ResponseMetadata", {}).get("HTTPStatusCode")
        else:  # of huggingface_hub
            yield getattr(response, "status_code", None)


def _responses(error: BaseException) -> tuple[object, object]:
    return getattr(error, "response", None), getattr(error.__cause__, "response", None)
