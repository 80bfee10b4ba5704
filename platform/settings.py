"""Settings: frozen values with behaviour, read from YAML, overridden by `--set a.b=c`, hashed strictly."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from datetime import date
from enum import Enum
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from ticlm.platform.errors import InputError


class Settings(BaseModel):
    """Base of everything a user can set: immutable, typo-proof, hashable by `fingerprint`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)


S = TypeVar("S", bound=Settings)


def parse(kind: type[S], data: Any, where: str) -> S:
    """`data` as a `kind`; raises InputError with one line that names the field and what is allowed there."""
    if not isinstance(data, Mapping):
        raise InputError(f"{where}: expected a mapping of settings, got {type(data).__name__}")
    try:
        return kind.model_validate(dict(data))
    except ValidationError as error:
        raise InputError(f"{where}: {_one_line(error, kind)}") from None


def load(kind: type[S], name: str, folder: str, sets: Sequence[str] = ()) -> S:
    """The settings file `name`: a path or URI, or the name of a YAML packaged in `folder` (e.g. "platform/studies")."""
    text, where = _read_named(name, folder)
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise InputError(f"{where}: expected a mapping of settings, got {type(data).__name__}")
    for assignment in sets:
        _assign(data, assignment)
    return parse(kind, data, where)


def packaged(folder: str) -> list[str]:
    """Names of the YAML files that come with the package in `folder`."""
    return sorted(Path(f.name).stem for f in files("ticlm").joinpath(folder).iterdir() if f.name.endswith(".yaml"))


def fingerprint(value: object) -> str:
    """SHA-256 (hex) of a value by its run-time type and all its fields, recursively.

    Raises TypeError on anything whose identity is not certain: functions, plain dicts, objects with a default repr.
    """
    return hashlib.sha256(json.dumps(_canonical(value), separators=(",", ":")).encode()).hexdigest()


def _canonical(value: object) -> object:
    match value:
        case None | bool() | int() | str() if not isinstance(value, Enum):
            return value
        case float():
            return ["float", value.hex()]
        case Enum():
            return [_qualified(value), value.name]
        case date():
            return ["date", value.isoformat()]
        case bytes():
            return ["bytes", value.hex()]
        case tuple() | list():
            return ["sequence", [_canonical(item) for item in value]]
        case frozenset():
            return ["set", sorted(json.dumps(_canonical(item)) for item in value)]
        case Settings():
            fields = {name: _canonical(getattr(value, name)) for name in sorted(type(value).model_fields)}
            return [_qualified(value), fields]
    raise TypeError(f"cannot fingerprint a {_qualified(value)}: use Settings, tuples and scalars")


def _qualified(value: object) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _read_named(name: str, folder: str) -> tuple[str, str]:
    if "://" in name:
        import fsspec

        try:
            with fsspec.open(name, "rt") as file:
                return file.read(), name
        except (OSError, ValueError, ImportError) as error:  # ValueError: a protocol nobody knows, or no text
            raise InputError(f"{name}: cannot be read: {error}") from None
    path = Path(name)
    try:
        if path.is_file():
            return path.read_text(), name
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name}: cannot be read: {error}") from None
    resource = files("ticlm").joinpath(folder, f"{name}.yaml")
    if "/" not in name and resource.is_file():
        return resource.read_text(), f"{name} (packaged)"
    raise InputError(
        f"{name}: no such file, and no packaged name; packaged are: {', '.join(packaged(folder)) or 'none'}"
    )


def _assign(data: dict[str, Any], assignment: str) -> None:
    path, equals, text = assignment.partition("=")
    if not equals or not path:
        raise InputError(f"--set {assignment}: expected KEY.KEY=VALUE")
    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        raise InputError(f"--set {assignment}: {text!r} is not a YAML value") from None
    *parents, last = path.split(".")
    node: Any = data
    for key in parents:
        node = _child(node, key, assignment)
    if isinstance(node, list):
        node[_position(node, last, assignment)] = value
    else:
        node[last] = value


def _child(node: Any, key: str, assignment: str) -> Any:
    if isinstance(node, list):
        return node[_position(node, key, assignment)]
    child = node.setdefault(key, {})
    if not isinstance(child, dict | list):
        raise InputError(f"--set {assignment}: {key} is {child!r}, it has no keys to set")
    return child


def _position(node: list[Any], key: str, assignment: str) -> int:
    if not key.isdigit() or int(key) >= len(node):
        raise InputError(f"--set {assignment}: {key} is not a position in a list of {len(node)} (0 to {len(node) - 1})")
    return int(key)


def _one_line(error: ValidationError, kind: type[Settings]) -> str:
    first = error.errors()[0]
    where = ".".join(str(part) for part in first["loc"]) or "(top)"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    if first["type"] == "extra_forbidden":
        allowed = sorted(_fields_at(kind, first["loc"]))
        hint = f"; allowed: {', '.join(allowed)}" if allowed else ""
        return f"{where}: unknown key{hint}{more}"
    if first["type"] == "missing":
        return f"{where}: is required{more}"
    if first["type"] == "union_tag_not_found":
        return f"{where}: kind is required{more}"
    message = first["msg"].removeprefix("Value error, ")
    got = first.get("input")
    told = "got " in message or (isinstance(got, str) and repr(got) in message)
    shown = f", got {got!r}" if isinstance(got, str | int | float | bool | None) and not told else ""
    return f"{where}: {message}{shown}{more}"


def _fields_at(kind: type[Settings], loc: tuple[int | str, ...]) -> list[str]:
    """Fields of the settings that hold `loc`, walking annotations where that is unambiguous."""
    current: Any = kind
    for part in loc[:-1]:
        found = _member(current, part)
        if found is None:
            return []
        current = found
    return list(current.model_fields) if isinstance(current, type) and issubclass(current, Settings) else []


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


def _settings_in(annotation: Any) -> list[type[Settings]]:
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return [annotation]
    found: list[type[Settings]] = []
    for argument in getattr(annotation, "__args__", ()):
        found += _settings_in(argument)
    return found
