"""Settings: frozen values with behaviour, read from YAML, overridden by `--set a.b=c`, hashed strictly."""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from enum import Enum
from functools import cache
from importlib.resources import files
from json.encoder import encode_basestring_ascii as _quoted
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from ticlm.platform.errors import InputError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails


class Settings(BaseModel):
    """Base of everything a user can set: immutable, typo-proof, hashable by `fingerprint`.

    Identities name a class by its bare name, so that moving it changes none. Where two classes would share a name, one
    is given another (`class Recipe(Settings, identity="CorpusRecipe")`). A class whose meaning changes raises its
    version (`class Recent(Replay, version=2)`), which gives its values new identities.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    identity_name: ClassVar[str] = "Settings"

    def __init_subclass__(cls, *, identity: str = "", version: int = 1, **config: Any) -> None:
        super().__init_subclass__(**config)
        name = identity or cls.__name__
        cls.identity_name = name if version == 1 else f"{name}@{version}"


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
    """The settings file `name`: a path or URI, or the name of a YAML packaged in `folder` (e.g. "platform/studies").

    A file that says `extends: OTHER` is merged into that one, named in the same way (a path counts from the folder of
    the file that says so; see `merged`). `sets` are applied to what comes of it.
    """
    data, where = resolved(name, folder, sets)
    return parse(kind, data, where)


def resolved(name: str, folder: str, sets: Sequence[str] = ()) -> tuple[dict[str, Any], str]:
    """The settings file as one mapping, with all that it extends and `sets` applied, and what to call it in errors."""
    data, where = _read(name, folder, ())
    for assignment in sets:
        _assign(data, assignment)
    return data, where


def names(name: str, folder: str, key: str) -> bool:
    """Whether the settings file `name`, with all that it extends, gives a setting of this name."""
    return key in _read(name, folder, ())[0]


def merged(whole: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """`changes` over `whole`: mappings merge, anything else replaces; so does a mapping of another `kind`."""
    out = {**whole, **changes}
    for key in whole.keys() & changes.keys():
        old, new = whole[key], changes[key]
        if isinstance(old, dict) and isinstance(new, dict) and new.get("kind", old.get("kind")) == old.get("kind"):
            out[key] = merged(old, new)
    return out


def packaged(folder: str) -> list[str]:
    """Names of the YAML files that come with the package in `folder`."""
    return sorted(Path(f.name).stem for f in files("ticlm").joinpath(folder).iterdir() if f.name.endswith(".yaml"))


def fingerprint(value: object) -> str:
    """SHA-256 (hex) of a value by the name of its run-time type and all its fields, recursively.

    Raises TypeError on anything whose identity is not certain: functions, plain dicts, objects with a default repr.
    """
    return hashlib.sha256(_canonical(value).encode()).hexdigest()


def _canonical(value: object) -> str:
    """JSON without spaces, written by hand: the plan of one of the papers' tables holds a million values."""
    plain = _PLAIN.get(type(value))
    if plain is not None:
        return plain(value)
    match value:
        case Settings():
            begin, fields = _layout(type(value))
            held, written = value.__dict__, []
            for name, key in fields:
                item = held[name]
                plain = _PLAIN.get(type(item))
                written.append(key + (_canonical(item) if plain is None else plain(item)))
            return begin + ",".join(written) + "}]"
        case tuple() | list():
            return '["sequence",[' + ",".join([_canonical(item) for item in value]) + "]]"
        case Enum():
            return f"[{_quoted(type(value).__name__)},{_quoted(value.name)}]"
        case date():
            return f'["date",{_quoted(value.isoformat())}]'
        case frozenset():
            items = sorted(json.dumps(json.loads(_canonical(item))) for item in value)
            return f'["set",[{",".join(map(_quoted, items))}]]'
    for kind, plain in _PLAIN.items():  # subclasses of these
        if isinstance(value, kind):
            return plain(value)
    raise TypeError(f"cannot fingerprint a {type(value).__module__}.{type(value).__qualname__}: use Settings, tuples and scalars")


_PLAIN: dict[type, Callable[[Any], str]] = {
    str: _quoted,
    int: int.__repr__,
    type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false",
    float: lambda value: f'["float",{_quoted(value.hex())}]',
    bytes: lambda value: f'["bytes",{_quoted(value.hex())}]',
}


@cache
def _layout(kind: type[Settings]) -> tuple[str, list[tuple[str, str]]]:
    """How the canonical form of its values begins, and for each field its name and how it is written."""
    return f"[{_quoted(kind.identity_name)},{{", [(name, f"{_quoted(name)}:") for name in sorted(kind.model_fields)]


def _read(name: str, folder: str, above: Sequence[str]) -> tuple[dict[str, Any], str]:
    """A file's settings over those of the file it extends, and what to call it. `above`: the files that led here."""
    text, where = _read_named(name, folder)
    if where in above:
        raise InputError(f"{where}: extends itself")
    try:
        data = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise InputError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise InputError(f"{where}: expected a mapping of settings, got {type(data).__name__}")
    if "extends" not in data:
        return data, where
    other = data.pop("extends")
    if not isinstance(other, str):
        raise InputError(f"{where}: extends: expected the name of one settings file, got {other!r}")
    try:
        whole, _ = _read(_beside(name, other, folder), folder, (*above, where))
    except InputError as error:
        raise InputError(f"{where}: extends: {error}") from None
    return merged(whole, data), where


def _beside(file: str, other: str, folder: str) -> str:
    """What `file` means by `other`."""
    if "://" in other or other in packaged(folder):
        return other
    scheme, colon, path = file.rpartition("://")
    return scheme + colon + posixpath.normpath(posixpath.join(posixpath.dirname(path), other))


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
    """The first field that is wrong, under the alternative of its type that comes closest, and how many more are."""
    found = error.errors()
    wrong: dict[tuple[int | str, ...], list[ErrorDetails]] = {}
    for one in found:
        at = one["loc"]
        if one["type"] == "too_short" and any(e["loc"][: len(at)] == at for e in found if e is not one):
            continue  # a list is said to be short of what is wrong in it
        field = next((at[:i] for i, part in enumerate(at) if _is_type(part)), at)
        wrong.setdefault(field, []).append(one)
    same = next(iter(wrong.values()))
    first = max(same, key=lambda one: (len(one["loc"]), one["type"] == "extra_forbidden"))
    where = [str(part) for part in first["loc"] if not _is_type(part)]
    more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
    return (f"{'.'.join(where)}: " if where else "") + _said(first, same, kind) + more


def _said(error: ErrorDetails, same: Sequence[ErrorDetails], kind: type[Settings]) -> str:
    match error["type"]:
        case "extra_forbidden":
            alike = (e["loc"] for e in same if e["type"] == "extra_forbidden" and e["loc"][-1] == error["loc"][-1])
            allowed = sorted({name for loc in alike for name in _fields_at(kind, loc)})
            return f"unknown key; allowed: {', '.join(allowed)}" if allowed else "unknown key"
        case "missing":
            return "is required"
        case "union_tag_not_found":
            return "kind is required"
    message = error["msg"].removeprefix("Value error, ")
    got = error.get("input")
    told = "got " in message or (isinstance(got, str) and repr(got) in message)
    return f"{message}, got {got!r}" if isinstance(got, str | int | float | bool | None) and not told else message


def _is_type(part: int | str) -> bool:
    """Whether a step of an error's path is no key of any file, but one of several types that were tried."""
    return isinstance(part, str) and re.match(r"[A-Z]|constrained-|(int|str|float)$|.*\[", part) is not None


def _fields_at(kind: type[Settings], loc: tuple[int | str, ...]) -> list[str]:
    """Fields of the settings that hold `loc`, walking annotations where that is unambiguous."""
    current: Any = kind
    for part in loc[:-1]:
        if isinstance(part, str) and "[" in part:
            continue
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
