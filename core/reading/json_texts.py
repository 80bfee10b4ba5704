"""JSON from outside: what is wrong with it is one kind of error."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any


def read(text: str | bytes, of_pairs: Callable[[list[tuple[str, Any]]], Any] | None = None) -> Any:
    """Return the value of a JSON text; `of_pairs` makes what an object becomes of its pairs, by default a dict.

    Raises ValueError if it is no JSON, or is nested too deeply to be read.
    """
    try:
        return json.loads(text, object_pairs_hook=of_pairs)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def read_object(text: str | bytes) -> dict[str, Any]:
    """Return the object that a JSON text holds. Raises ValueError if it holds none."""
    found = read(text)
    if not isinstance(found, dict):
        raise ValueError(f"it must be an object, got {type(found).__name__}")
    return found
