"""The name that was meant by one that is not known."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that comes closest to `name`, or None if none is close."""
    return next(iter(get_close_matches(name, list(known), n=1, cutoff=0.6)), None)


def hint(name: str, known: Iterable[str]) -> str:
    """Return the words ` (did you mean NAME?)`, or an empty text if no known name is close."""
    found = nearest(name, known)
    return f" (did you mean {found}?)" if found is not None else ""
