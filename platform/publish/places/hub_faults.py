"""What a hub answers to a request that writes, in one line that says what to do."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ticlm.core.errors import InputError, RunError, TiclmError, in_one_line, of_storage
from ticlm.core.hub import HubUnreachable
from ticlm.platform.publish.places.place import Rivalled

LOG_IN = "log in by `hf auth login`, or set HF_TOKEN, with a token that may write"
RIVALS = (409, 412)
"""Statuses by which a hub says that something is there already, or that a branch is at another commit than was read."""


@contextmanager
def heard(repository: str) -> Iterator[None]:
    """Raise Rivalled, InputError or RunError, in one line, for what goes wrong between this machine and the hub."""
    try:
        yield
    except TiclmError:
        raise
    except Exception as error:
        if of_storage(error) is not None:
            raise
        raise _fault(repository, error) from None


def _fault(repository: str, error: Exception) -> TiclmError:
    from huggingface_hub import constants, errors

    hub, cause = constants.ENDPOINT, error.__cause__
    if isinstance(error, RuntimeError) and isinstance(cause, Exception) and not isinstance(error, OSError):
        return _fault(repository, cause)  # the library hides what happened to a large file
    if isinstance(error, errors.OfflineModeIsEnabled):
        return InputError(f"{repository}: HF_HUB_OFFLINE is set, and publishing needs the hub")
    if isinstance(error, errors.GatedRepoError):
        return InputError(f"{repository}: gated; accept its terms at {hub}/{repository}, and {LOG_IN}")
    if isinstance(error, errors.RevisionNotFoundError):
        return _rivalled(repository)  # a branch was there when it was read
    if isinstance(error, errors.HfHubHTTPError):
        return _refused(repository, hub, error.response.status_code, _said(error), error)
    if isinstance(error, OSError) and error.filename:
        return InputError(f"{repository}: {error.filename}: {error.strerror}")
    if isinstance(error, errors.HTTPError | OSError):
        why = "no answer in time" if isinstance(error, TimeoutError) else in_one_line(error)
        return HubUnreachable(f"{repository}: {hub} cannot be reached ({why}); {_again()}")
    if isinstance(error, ValueError):  # of a card or a path, before anything is sent
        return InputError(f"{repository}: {in_one_line(error)}")
    return RunError(f"{repository}: {hub} does not take it: {in_one_line(error)}")


def _refused(repository: str, hub: str, status: int, said: str, error: Exception) -> TiclmError:
    from huggingface_hub import errors

    owner = repository.partition("/")[0]
    if status in RIVALS:
        return _rivalled(repository)
    if status == 401 and not isinstance(error, errors.RepositoryNotFoundError):
        return InputError(f"{repository}: {hub} does not know who you are (401); {LOG_IN}")
    if status == 403:
        return InputError(f"{repository}: your token may not write for {owner} there (403: {said}); {LOG_IN}")
    if status in (401, 404):
        return InputError(f"{repository}: {hub} has no {owner} that may have it, or your token does not; {LOG_IN}")
    if status >= 500 or status == 429:
        return HubUnreachable(f"{repository}: {hub} answers {status} ({said}); {_again()}")
    return InputError(f"{repository}: {hub} refuses it ({status}: {said})")


def _said(error: Exception) -> str:
    """Return what a hub says by itself, without the library's words around it."""
    return in_one_line(RuntimeError(getattr(error, "server_message", None) or str(error)))


def _again() -> str:
    return "the same command goes on from where it stopped"


def _rivalled(repository: str) -> Rivalled:
    return Rivalled(f"{repository}: somebody else publishes there at this moment; {_again()}")
