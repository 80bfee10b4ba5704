"""Changes of a method: a point of a search, which maps paths of settings to values, applied to the method."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from ticlm.core.errors import InputError
from ticlm.core.settings import Settings, parse

S = TypeVar("S", bound=Settings)

NOT_SEARCHED = ("name", "kind")
"""Settings that name a method and say how it runs; a search changes neither."""


def check_paths(point: Mapping[str, Any], where: str) -> None:
    """Check the paths of a point. Raises InputError if one is malformed, not searched, or lies within another one."""
    if not isinstance(point, Mapping):
        raise InputError(f"{where}: expected a mapping from paths of settings to values, got {point!r}")
    for path in point:
        if not isinstance(path, str) or not all(path.split(".")):
            raise InputError(f"{where}: {path!r} is no path of a setting; give one like schedule.max_rate")
        if path in NOT_SEARCHED:
            raise InputError(f"{where}: {path} is not searched; give settings such as schedule.max_rate")
        within = next((other for other in point if isinstance(other, str) and other.startswith(f"{path}.")), None)
        if within is not None:
            raise InputError(f"{where}: {within} lies within {path}; give one of them")


def nested(point: Mapping[str, Any]) -> dict[str, Any]:
    """Return a point as nested mappings: `{"schedule.max_rate": 1e-4}` as `{"schedule": {"max_rate": 1e-4}}`."""
    out: dict[str, Any] = {}
    for path, value in point.items():
        *parents, last = path.split(".")
        node = out
        for key in parents:
            node = node.setdefault(key, {})
        node[last] = value
    return out


def applied(old: S, changes: Mapping[str, Any], where: str, path: str = "") -> S:
    """Return `old` with `changes`: mappings are merged, other values replace, and so do mappings of another `kind`.

    Values that do not change stay the same objects, whatever their type. `path`: the path of `old`, for errors. Raises
    InputError for a setting that `old` lacks, or a value that is refused.
    """
    fields = {name: getattr(old, name) for name in type(old).model_fields}
    for key, value in changes.items():
        if key not in fields:
            kind = getattr(old, "kind", type(old).__name__)
            what = f"{path.rstrip('.')} (kind {kind})" if path else getattr(old, "name", kind)
            allowed = ", ".join(name for name in fields if path or name not in NOT_SEARCHED)
            raise InputError(f"{where}: {path}{key} is no setting of the method; {what} has {allowed}")
        fields[key] = _value(fields[key], value, where, f"{path}{key}")
    return parse(type(old), fields, f"{where}: {path.rstrip('.')}" if path else where)


def _value(old: Any, new: Any, where: str, path: str) -> Any:
    match old, new:
        case Settings(), Mapping():
            kind = getattr(old, "kind", None)
            return dict(new) if new.get("kind", kind) != kind else applied(old, new, where, f"{path}.")
        case tuple() | list(), Mapping():
            items = list(old)
            for key, value in new.items():
                if not str(key).isdigit() or int(key) >= len(items):
                    held = f"holds 0 to {len(items) - 1}" if items else "is empty"
                    raise InputError(f"{where}: {path}.{key} is no setting of the method; {path} {held}")
                items[int(key)] = _value(items[int(key)], value, where, f"{path}.{key}")
            return tuple(items)
        case str() | int() | float(), Mapping():
            raise InputError(f"{where}: {path} is {old!r} in the method, which has no settings of its own")
    return new


def canonical(value: Any, where: str = "the space") -> Any:
    """Return a value of JSON's types in a form that can be hashed strictly. Raises InputError for any other value."""
    match value:
        case Mapping():
            if not all(isinstance(key, str) for key in value):
                raise InputError(f"{where}: the keys of {dict(value)!r} must be text")
            return ("mapping", tuple((key, canonical(value[key], where)) for key in sorted(value)))
        case list() | tuple():
            return ("list", tuple(canonical(item, where) for item in value))
        case None | bool() | str() | int():
            return value
        case float() if math.isfinite(value):
            return float(value)
        case float():
            raise InputError(f"{where}: {value} is no value of a setting")
    raise InputError(
        f"{where}: a {type(value).__name__} is no value of a setting; "
        "allowed: text, numbers, true, false, null, and lists or mappings of them"
    )
