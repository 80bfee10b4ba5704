"""Settings that name a corpus or a set of examples of the root that a command works in."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel

from ticlm.core import paths

NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True)
class InRoot:
    """Annotation of a text: NAME or NAME@VERSION in a `folder` of the root (`paths.CORPORA` or `paths.EXAMPLES`), or a
    path or a URI, which have a slash. A folder of that name beside the command changes nothing. With `versioned`, only
    NAME@VERSION is a name, and the value stays as it is written: it says what its owner makes of it."""

    folder: str
    versioned: bool = False

    def named(self, text: str) -> str | None:
        """Return the `name@version` that a text names, or None if it is a path, a URI, or another name."""
        if not re.fullmatch(f"{NAME}@{NAME}" if self.versioned else f"{NAME}(@{NAME})?", text):
            return None
        return paths.versioned(text)


def names_in(value: Any) -> Iterator[tuple[InRoot, str]]:
    """Yield each `name@version` that some settings name, with what it is the name of."""
    if isinstance(value, tuple):
        for one in value:
            yield from names_in(one)
    elif isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            item = getattr(value, name)
            mark = next((mark for mark in field.metadata if isinstance(mark, InRoot)), None)
            if mark is not None and isinstance(item, str):
                if found := mark.named(item):
                    yield mark, found
            else:
                yield from names_in(item)


def placed(value: M, root: str) -> M:
    """Return settings with the path or URI in a root of everything that they name there."""
    changes: dict[str, Any] = {}
    for name, field in type(value).model_fields.items():
        item = getattr(value, name)
        mark = next((mark for mark in field.metadata if isinstance(mark, InRoot)), None)
        if mark is not None and isinstance(item, str):
            if not mark.versioned and (found := mark.named(item)):
                changes[name] = f"{root}/{mark.folder}/{found}"
        elif isinstance(item, BaseModel) and (new := placed(item, root)) is not item:
            changes[name] = new
        elif isinstance(item, tuple) and any(isinstance(one, BaseModel) for one in item):
            each = tuple(placed(one, root) if isinstance(one, BaseModel) else one for one in item)
            if any(new is not old for new, old in zip(each, item)):
                changes[name] = each
    return value.model_copy(update=changes) if changes else value
