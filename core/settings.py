"""Settings: frozen values with behaviour. They are read from YAML, changed by `--set a.b=c`, and hashed strictly."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from ticlm.core.errors import InputError
from ticlm.core.extras import Extra
from ticlm.core.reading import mappings
from ticlm.core.reading.near import hint
from ticlm.core.reading.packaged import KEY as VARIANTS
from ticlm.core.reading.packaged import RECIPES as RECIPES
from ticlm.core.reading.packaged import holders
from ticlm.core.reading.plain import plain_at
from ticlm.core.reading.settings_errors import one_line, required


class Settings(BaseModel):
    """Base of everything a user can set: immutable, typo-proof, hashable by `fingerprint`.

    Identities name a class by its bare name, so that moving it changes none. Where two classes would share a name, one
    is given another (`class Recipe(Settings, identity="CorpusRecipe")`). A class whose meaning changes raises its
    version (`class Flat(Schedule, version=2)`), which gives its values new identities.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)
    identity_name: ClassVar[str] = "Settings"
    other_files: ClassVar[Mapping[str, str]] = {}
    """Keys that name another YAML file, or a list of them -> the folder where such files are packaged. A path counts
    from the folder of the file that says so."""

    def __init_subclass__(cls, *, identity: str = "", version: int = 1, **config: Any) -> None:
        super().__init_subclass__(**config)
        name = identity or cls.__name__
        cls.identity_name = name if version == 1 else f"{name}@{version}"

    def without_meaning(self) -> frozenset[str]:
        """Return the fields that identities leave out.

        A class to which a field is added later returns that field while its value means the behaviour from before. So
        finished work keeps its id.
        """
        return frozenset()

    def extras(self) -> tuple[Extra, ...]:
        """Return the packages beyond the base that this value needs; not those of the settings within it."""
        return ()


S = TypeVar("S", bound=Settings)


def parse(kind: type[S], data: Any, where: str) -> S:
    """Return `data` as a `kind`. Raises InputError with one line that names the field and what is allowed there."""
    if not isinstance(data, Mapping):
        raise InputError(f"{where}: expected a mapping of settings, got {type(data).__name__}")
    try:
        return kind.model_validate(dict(data))
    except ValidationError as error:
        raise InputError(f"{where}: {one_line(error, kind)}", required(error, kind)) from None


def load(kind: type[S], name: str, folder: str, sets: Sequence[str] = ()) -> S:
    """Return the settings in the file `name`: a path or URI, or a YAML packaged in `folder` (as "platform/studies").

    A file that says `extends: OTHER` is merged into that one, named in the same way (a path counts from the folder of
    the file that says so; see `merged`). `sets` are applied to the result.
    """
    data, where = resolved(kind, name, folder, sets)
    return parse(kind, data, where)


def resolved(kind: type[S], name: str, folder: str, sets: Sequence[str] = ()) -> tuple[dict[str, Any], str]:
    """Return a file with the settings of a `kind` as one mapping, merged into all that it extends and with `sets`
    applied, and its name for errors."""
    data, where = _read(kind, name, folder, ())
    return changed(kind, data, sets), where


def changed(kind: type[S], data: dict[str, Any], sets: Sequence[str]) -> dict[str, Any]:
    """Apply changes such as `a.b=c` to the settings of a `kind`, and return them."""
    for assignment in sets:
        _assign(kind, data, assignment)
    return data


def names(name: str, folder: str, key: str) -> bool:
    """Return whether the settings file `name`, or one that it extends, gives the setting `key`."""
    return key in _read(Settings, name, folder, ())[0]


def merged(whole: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return `whole` with `changes`: mappings are merged; anything else, and a mapping of another `kind`, replaces."""
    out = {**whole, **changes}
    for key in whole.keys() & changes.keys():
        old, new = whole[key], changes[key]
        if isinstance(old, dict) and isinstance(new, dict) and new.get("kind", old.get("kind")) == old.get("kind"):
            out[key] = merged(old, new)
    return out


def packaged(folder: str) -> list[str]:
    """Return the names of the YAML files that come with the package in `folder`, and of their variants."""
    return list(holders(folder))


NAMED = 12
"""Packaged names that an error lists one by one."""
PACKAGED = " (packaged)"
"""What follows the name of a packaged file in an error, where another file has its path."""


def build_command(name: str) -> str:
    """Return the command that builds a corpus or set of examples, given as a name (with or without a version) or a
    place."""
    own = posixpath.basename(name.rstrip("/")).partition("@")[0]
    return f"ticlm data build {own if own in packaged(RECIPES) else 'RECIPE'}"


def _read(kind: type[S], name: str, folder: str, above: Sequence[str]) -> tuple[dict[str, Any], str]:
    """Return a file's settings, merged into those of the file it extends, and its name. `above` are the files that led
    here."""
    text, where = _read_named(name, folder)
    if where in above:
        raise InputError(f"{where}: extends itself")
    try:
        data = mappings.read(text, is_packaged=where != name)
    except mappings.RepeatedKey as error:
        raise InputError(f"{where}: {error}") from None
    except yaml.YAMLError as error:
        raise InputError(f"{where}: not valid YAML: {' '.join(str(error).split())}") from None
    if not isinstance(data, dict):
        raise InputError(f"{where}: expected a mapping of settings, got {type(data).__name__}")
    if folder == RECIPES and where == f"{name}{PACKAGED}" and VARIANTS in data:
        own = data.pop(VARIANTS)[name]
        data = merged({"name": name, **data}, own)
    for key, packages in kind.other_files.items():
        named = data.get(key)
        if isinstance(named, str):
            data[key] = _resolved_name(name, named, packages)
        elif isinstance(named, list):
            data[key] = [_resolved_name(name, one, packages) if isinstance(one, str) else one for one in named]
    if "extends" not in data:
        return data, where
    other = data.pop("extends")
    if not isinstance(other, str):
        raise InputError(f"{where}: extends: expected the name of one settings file, got {other!r}")
    try:
        whole, _ = _read(kind, _resolved_name(name, other, folder), folder, (*above, where))
    except InputError as error:
        raise InputError(f"{where}: extends: {error}") from None
    return merged(whole, data), where


def _resolved_name(file: str, other: str, folder: str) -> str:
    """Return the name of the file that `file` calls `other`."""
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
    if name in (held := holders(folder)):
        return files("ticlm").joinpath(folder, f"{held[name]}.yaml").read_text(), f"{name}{PACKAGED}"
    if variants := [one for one, file in held.items() if file == name]:
        raise InputError(f"{name}: give one of its variants: {', '.join(variants)}")
    raise InputError(f"{name}: no such file, and no packaged name{_meant(name, folder)}")


def _meant(name: str, folder: str) -> str:
    """Return which packaged name was probably meant; else all names of the folder, or how to list them."""
    known = packaged(folder)
    if found := hint(name, known):
        return found
    if len(known) <= NAMED:
        return f"; packaged are: {', '.join(known) or 'none'}"
    return f"; ticlm list {posixpath.basename(folder)} names the {len(known)} that are packaged"


def _assign(kind: type[S], data: dict[str, Any], assignment: str) -> None:
    path, equals, text = assignment.partition("=")
    if not equals or not all(path.split(".")):
        raise InputError(f"--set {assignment}: expected KEY.KEY=VALUE")
    try:
        value = mappings.read(text)
    except mappings.RepeatedKey as error:
        raise InputError(f"--set {assignment[:200]}: {error}") from None
    except yaml.YAMLError:
        raise InputError(f"--set {assignment[:200]}: {text[:200]!r} is not a YAML value") from None
    *parents, last = path.split(".")
    node: Any = data
    for depth in range(1, len(parents) + 1):
        node = _child(kind, node, parents[:depth], assignment)
    if isinstance(node, list):
        node[_position(node, last, assignment)] = value
    else:
        node[last] = value


def _child(kind: type[S], node: Any, path: Sequence[str], assignment: str) -> Any:
    """Return the mapping or list at the end of a path, which `node` holds. A plain text there becomes the mapping that
    it stands for."""
    key: Any = _position(node, path[-1], assignment) if isinstance(node, list) else path[-1]
    child = node[key] if isinstance(node, list) else node.setdefault(key, {})
    if isinstance(child, str) and (plain := plain_at(kind, path)) is not None:
        child = node[key] = plain.mapping(child)
    if not isinstance(child, dict | list):
        raise InputError(f"--set {assignment}: {'.'.join(path)} is {child!r}, it has no keys to set")
    return child


def _position(node: list[Any], key: str, assignment: str) -> int:
    if not re.fullmatch("[0-9]{1,9}", key) or int(key) >= len(node):
        raise InputError(f"--set {assignment}: {key} is not a position in a list of {len(node)} (0 to {len(node) - 1})")
    return int(key)
