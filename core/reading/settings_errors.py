"""Errors of pydantic as one line that names the field and what is allowed there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from ticlm.core.reading.near import hint

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


REQUIRED = "is required"


def one_line(error: ValidationError, kind: type[BaseModel]) -> str:
    """Return the first error as `field: what is wrong with it`, and how many more fields are wrong."""
    field, line = first_error(error, kind)
    return f"{field}: {line}" if field else line


def required(error: ValidationError, kind: type[BaseModel]) -> str:
    """Return the path of the first field that is wrong, if what is wrong is that it is not there; else nothing."""
    field, line = first_error(error, kind)
    return field if line.startswith(REQUIRED) else ""


def first_error(error: ValidationError, kind: type[BaseModel]) -> tuple[str, str]:
    """Return the path of the first field that is wrong, and what is wrong with it.

    A key that is not known comes before all others, because the key that is missing is often the one that was meant.
    Among several alternatives of a field's type, the error is that of the one that comes closest.
    """
    found = error.errors()
    wrong: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    for one in found:
        at = one["loc"]
        if one["type"] == "too_short" and any(e["loc"][: len(at)] == at for e in found if e is not one):
            continue  # a list is said to be short of what is wrong in it
        field = next((at[:i] for i, part in enumerate(at) if _is_type(part)), at)
        wrong.setdefault(field, []).append(one)
    same = min(wrong.values(), key=lambda alike: any(one["type"] != "extra_forbidden" for one in alike))
    # a key that one of the alternatives knows is not unknown: what is wrong with its value comes before that
    keys = [{_keys(e) for e in same if (e["type"] == "extra_forbidden") is extra} for extra in (True, False)]
    known = keys[0] & keys[1]
    first = max(same, key=lambda e: (len(e["loc"]), *_closeness(e, known)))
    where = _written(kind, first["loc"])
    others = len(wrong) - 1
    more = f" ({others} more {'keys are' if others > 1 else 'key is'} wrong)" if others else ""
    if first["type"] == "own_class":
        where += [part for part in [first["ctx"]["field"]] if part]
    return ".".join(where), _said(first, same, kind) + more


def _closeness(error: ErrorDetails, known: set[tuple[str, ...]]) -> tuple[bool, bool]:
    """Return how close an alternative comes by its error: keys that are `known` are not unknown, and a value of the
    right type (a list that is too short) is closer than one of another type (a list, and a number is wanted)."""
    return (error["type"] == "extra_forbidden") is not (_keys(error) in known), not error["type"].endswith("_type")


def _written(kind: type[BaseModel], loc: Sequence[int | str]) -> list[str]:
    """Return the keys of a path as they stand in the file: without the kinds of alternatives that were tried."""
    current: Any = kind
    found = []
    for part in loc:
        if _is_type(part):
            continue
        candidates = _settings_in(current)
        tags = [one for one in candidates if (tag := one.model_fields.get("kind")) is not None and tag.default == part]
        if tags and not any(part in one.model_fields for one in candidates):
            current = tags[0]
            continue
        found.append(str(part))
        current = _member(current, part)
    return found


def _keys(error: ErrorDetails) -> tuple[str, ...]:
    """Return the path of an error in the file."""
    return tuple(str(part) for part in error["loc"] if not _is_type(part))


def _said(error: ErrorDetails, same: Sequence[ErrorDetails], kind: type[BaseModel]) -> str:
    match error["type"]:
        case "own_class":
            return str(error["ctx"]["line"])
        case "extra_forbidden":
            alike = (e["loc"] for e in same if e["type"] == "extra_forbidden" and e["loc"][-1] == error["loc"][-1])
            allowed = sorted({name for loc in alike for name in _fields_at(kind, loc)})
            meant = hint(str(error["loc"][-1]), allowed)
            return f"unknown key{meant}; allowed: {', '.join(allowed)}" if allowed else "unknown key"
        case "missing":
            return REQUIRED
        case "union_tag_not_found":
            return "kind is required"
        case "too_short" | "too_long" as which:
            few, limits = which == "too_short", error["ctx"]
            limit = limits["min_length"] if few else limits["max_length"]
            return f"needs at {'least' if few else 'most'} {limit}, has {limits['actual_length']}"
    message = _plain(error)
    got = error.get("input")
    told = "got " in message or (isinstance(got, str) and repr(got) in message)
    return f"{message}, got {got!r}" if isinstance(got, str | int | float | bool | None) and not told else message


PLAIN = {
    "int_type": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_from_float": "must be a whole number",
    "float_type": "must be a number",
    "float_parsing": "must be a number",
    "bool_type": "must be true or false",
    "bool_parsing": "must be true or false",
    "string_type": "must be a text",
    "string_too_short": "must not be empty",
    "tuple_type": "must be a list",
    "list_type": "must be a list",
    "dict_type": "must be a mapping",
    "model_type": "must be a mapping of settings",
    "model_attributes_type": "must be a mapping of settings",
    "none_required": "must be null",
}
"""Errors of pydantic whose own words name types of Python."""


def _plain(error: ErrorDetails) -> str:
    """Return what pydantic says, in words that fit a settings file."""
    kind, limits = error["type"], error.get("ctx", {})
    if kind in PLAIN:
        return PLAIN[kind]
    if kind == "union_tag_invalid":
        return f"kind must be one of {limits['expected_tags']}, got {limits['tag']!r}"
    message = error["msg"].removeprefix("Value error, ")
    for words in ("Input should ", "String should ", "Value should "):
        if message.startswith(words):
            return f"must {message.removeprefix(words)}"
    return message


def _is_type(part: int | str) -> bool:
    """Return whether a step of an error's path is one of several types that were tried, and no key of a file."""
    return isinstance(part, str) and re.match(r"[A-Z]|constrained-|(int|str|float)$|.*\[", part) is not None


def _fields_at(kind: type[BaseModel], loc: tuple[int | str, ...]) -> list[str]:
    """Return the fields of the settings that hold `loc`; none where annotations leave more than one possibility."""
    current: Any = kind
    for part in loc[:-1]:
        if isinstance(part, str) and "[" in part:
            continue
        found = _member(current, part)
        if found is None:
            return []
        current = found
    return list(current.model_fields) if isinstance(current, type) and issubclass(current, BaseModel) else []


def _member(annotation: Any, part: int | str) -> Any:
    candidates = [c for c in _settings_in(annotation)]
    for candidate in candidates:
        if part in candidate.model_fields:
            return candidate.model_fields[part].annotation
        tag = candidate.model_fields.get("kind")
        if tag is not None and tag.default == part:
            return candidate
        if candidate.__name__ == part:
            return candidate
    return annotation if isinstance(part, int) else None


def _settings_in(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    found: list[type[BaseModel]] = []
    for argument in getattr(annotation, "__args__", ()):
        found += _settings_in(argument)
    return found
