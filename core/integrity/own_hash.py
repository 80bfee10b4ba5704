"""JSON files that carry a hash of themselves, so that a damaged one is found before anything in it is used.

Files that were written by earlier releases have no such hash; they are read as they are.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from ticlm.core.errors import InputError
from ticlm.core.reading import json_texts
from ticlm.core.settings import Settings, parse

S = TypeVar("S", bound=Settings)
KEY = "sha256"
DIFFERS = "its own hash differs"


def content_hash(content: Mapping[str, Any]) -> str:
    """Return the SHA-256 (hex) of the content of a file without its own hash."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def with_hash(content: Mapping[str, Any]) -> bytes:
    """Return the bytes of a JSON file with this content and its hash under KEY."""
    plain = json.loads(json.dumps(content))  # as a reader sees it, who computes the hash again
    return json.dumps(plain | {KEY: content_hash(plain)}, indent=1).encode()


def read(data: bytes, where: str, remedy: str) -> dict[str, Any]:
    """Return the content of the JSON file `where`, without its own hash. Raises InputError, which ends with the
    `remedy`, if it is damaged."""
    return _content(data, where, remedy)[0]


def read_as(kind: type[S], data: bytes, where: str, remedy: str) -> S:
    """Return the JSON file `where` as a `kind` of settings. Raises InputError, which ends with the `remedy`, if it is
    damaged; one of another release, whose hash is right, is refused without it."""
    content, is_hashed = _content(data, where, remedy)
    try:
        return parse(kind, content, where)
    except InputError as error:
        if is_hashed:
            raise
        raise _damaged(where, str(error).removeprefix(f"{where}: "), remedy) from None


def _content(data: bytes, where: str, remedy: str) -> tuple[dict[str, Any], bool]:
    """Return the content of a file, and whether it has a hash of its own, which is right."""
    try:
        content = json_texts.read(data)
    except ValueError as error:  # of JSON, or of UTF-8
        raise _damaged(where, str(error), remedy) from None
    if not isinstance(content, dict):
        raise _damaged(where, f"expected a mapping, got {type(content).__name__}", remedy)
    # `with_hash` writes the hash last: a hash there under another name means that the name is damaged.
    if KEY not in content and _is_hash(next(reversed(content.values()), None)):
        raise _damaged(where, f"its own hash is not called {KEY}", remedy)
    stated = content.pop(KEY, None)
    if stated not in (None, content_hash(content)):
        raise _damaged(where, DIFFERS, remedy)
    return content, stated is not None


def _is_hash(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _damaged(where: str, what: str, remedy: str) -> InputError:
    return InputError(f"{where} is damaged ({what}); {remedy}")
