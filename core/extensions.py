"""Classes of a user's own in settings, found by import path (`kind: my_package.recent:RecentReplay`) or by entry point.

A union of settings that has an `Own` among its annotations also takes such a class, if it derives from the seam's base.
The class is a setting like any other: strict, hashed by its name and the version it states, and written back to YAML by
its import path.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema
from pydantic_core import PydanticCustomError, PydanticOmit, core_schema

from ticlm.core.errors import InputError
from ticlm.core.reading.settings_errors import first_error
from ticlm.core.settings import Settings

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler

METHODS, TASKS, SOURCES, TABLES = "ticlm.methods", "ticlm.tasks", "ticlm.sources", "ticlm.tables"
"""Groups of entry points; an entry point's name is a `kind` that settings may give."""

IMPORT_PATH = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
PACKAGE = "ticlm"
_USED = set[str]()
"""Current folders in which this process has found a module of the user's own."""
MODULES = set[str]()
"""Top-level names of the modules of the user's own that this process has imported."""
S = TypeVar("S")


@dataclass(frozen=True)
class Own:
    """Annotation of a union of settings: it also takes values of any class that derives from `base`.

    In YAML the class is named by its import path, `kind: package.module:Class`, or by the name of an entry point of
    `group`. Values of such a class are written with their import path.
    """

    base: type[Settings]
    group: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        inner = handler(source)
        dump = core_schema.wrap_serializer_function_ser_schema(_dump, info_arg=True, schema=inner)
        return core_schema.no_info_wrap_validator_function(self._validate, inner, serialization=dump)

    def __get_pydantic_json_schema__(self, source: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the JSON schema of what is built in, or of an object of any class of the user's own."""
        own = own_schema(self.base.__name__, self.group)
        try:
            return {"anyOf": [handler(source), own]}
        except (PydanticOmit, PydanticInvalidForJsonSchema):  # nothing is built in
            return own

    def _validate(self, value: Any, built_in: core_schema.ValidatorFunctionWrapHandler) -> Any:
        if isinstance(value, self.base) and not is_built_in(type(value)):
            return value
        kind = value.get("kind") if isinstance(value, Mapping) else None
        if not isinstance(kind, str):
            return built_in(value)
        if ":" in kind:
            return made(kind, self.base, without_kind(value))
        try:
            return built_in(value)
        except ValidationError:  # only now, as looking through what is installed takes a while
            path = entry_point(self.group, kind)
            if path is None:
                raise
            return made(path, self.base, without_kind(value))


def own_schema(base: str, group: str) -> dict[str, Any]:
    """Return the JSON schema of an object of any class of the user's own, told by its kind."""
    kinds = [{"pattern": IMPORT_PATH}, *({"const": name} for name in entry_points(group))]
    told = f"A class of your own that derives from {base}, with its settings."
    kind = {"type": "string", "anyOf": kinds}
    return {"type": "object", "properties": {"kind": kind}, "required": ["kind"], "description": told}


def made(path: str, base: type[Settings], data: Mapping[str, Any]) -> Settings:
    """Return settings of the class at an import path. Raises PydanticCustomError in one line."""
    try:
        found = class_at(path, base)
    except InputError as error:
        raise PydanticCustomError("own_class", "{line}", {"line": str(error), "field": "kind"}) from None
    try:
        return found.model_validate(dict(data))
    except ValidationError as error:
        field, line = first_error(error, found)
        raise PydanticCustomError("own_class", "{line}", {"line": line, "field": field}) from None


def without_kind(data: Mapping[str, Any]) -> dict[str, Any]:
    return {key: item for key, item in data.items() if key != "kind"}


def class_at(path: str, base: type[Settings]) -> type[Settings]:
    """Return the class at an import path `package.module:Class`.

    Raises InputError in one line if it cannot be imported, does not derive from `base`, or has the name of a class that
    ids know already.
    """
    found = object_at(path)
    if not isinstance(found, type) or not issubclass(found, base):
        raise InputError(f"{path} is no {base.__name__}: derive it from {base.__module__}.{base.__name__}")
    lacks = sorted(getattr(found, "__abstractmethods__", ()))
    if lacks:
        raise InputError(
            f"{path} has no method {' and no '.join(lacks)}, which every {base.__name__} needs; "
            f"{base.__module__}.{base.__name__} says what it does"
        )
    for other in subclasses(Settings):
        if other.identity_name == found.identity_name and other is not found and is_built_in(other):
            raise InputError(
                f"{path} has no name of its own: ids know {found.identity_name} as {import_path(other)}; "
                f"rename it, or say class {found.__name__}(…, identity=…)"
            )
    return found


def check_names(value: Settings) -> None:
    """Raise ValueError if two classes among some settings' values have one name in ids, which would take them for
    one."""
    known: dict[str, type[Settings]] = {}
    for kind in sorted({type(one) for one in _values(value)}, key=import_path):
        other = known.setdefault(kind.identity_name, kind)
        if other is not kind:
            raise ValueError(
                f"{import_path(kind)} and {import_path(other)} are both {kind.identity_name} in ids; "
                f"rename one, or say class {kind.__name__}(…, identity=…)"
            )


def object_at(path: str) -> Any:
    """Return the object at an import path `package.module:NAME`. Raises InputError in one line if that fails.

    The current folder is searched after everything that is installed.
    """
    name, _, attribute = path.partition(":")
    module = _module(name, path)
    if not hasattr(module, attribute):
        own = (key for key, item in vars(module).items() if getattr(item, "__module__", name) == name and key[0] != "_")
        names = ", ".join(own) or "nothing"
        raise InputError(
            f"{path}: {module.__file__ or name} has no {attribute or 'name after the colon'}; it has {names}"
        )
    return getattr(module, attribute)


def module_at(name: str) -> ModuleType:
    """Import a module of the user's own. Raises InputError in one line if it cannot be imported."""
    return _module(name, name)


def own_modules(value: Settings) -> dict[str, Path]:
    """Return the modules (top-level name: file or folder) of all classes of a user's own among some settings' values.

    Modules that are installed, as packages are by pip, are left out.
    """
    found: dict[str, Path] = {}
    for kind in own_classes(value):
        top = top_level(kind.__module__)
        file = getattr(sys.modules.get(top), "__file__", None)
        folders = list(getattr(sys.modules.get(top), "__path__", ()))
        path = Path(folders[0]) if folders else Path(file) if file else None
        if path is not None and not {"site-packages", "dist-packages"} & set(path.parts):
            found[top] = path
    return found


def own_classes(value: Settings) -> tuple[type[Settings], ...]:
    """Return the classes of the user's own among some settings' values, in the order of their import paths."""
    return tuple(sorted({type(one) for one in _values(value) if not is_built_in(type(one))}, key=import_path))


def load_entry_points(group: str) -> None:
    """Import the entry points of a group that installed packages offer; pass over those that cannot be imported."""
    from importlib import metadata

    for entry in metadata.entry_points(group=group):
        with suppress(ImportError, AttributeError):
            entry.load()


def is_own(value: Any) -> bool:
    return isinstance(value, Settings) and not is_built_in(type(value))


def top_level(module: str) -> str:
    return module.partition(".")[0]


def own_folders() -> tuple[str, ...]:
    """Return the current folders in which this process has found a module of the user's own."""
    return tuple(sorted(_USED))


def _dump(value: Any, built_in: core_schema.SerializerFunctionWrapHandler, info: core_schema.SerializationInfo) -> Any:
    if not isinstance(value, Settings) or is_built_in(type(value)):
        return built_in(value)
    return {**value.model_dump(mode=info.mode), "kind": import_path(type(value))}


def import_path(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def is_built_in(kind: type) -> bool:
    return top_level(kind.__module__) == PACKAGE


@cache
def entry_point(group: str, name: str) -> str | None:
    """Return the import path of the entry point of this name, if there is one."""
    from importlib import metadata

    return next((entry.value for entry in metadata.entry_points(group=group, name=name)), None)


def entry_points(group: str) -> list[str]:
    from importlib import metadata

    return sorted({entry.name for entry in metadata.entry_points(group=group)})


def _module(name: str, path: str) -> ModuleType:
    here = os.getcwd()
    if here not in sys.path:
        sys.path.append(here)  # last, so that no folder here hides what is installed
    try:
        module = import_module(name)
        if top_level(name) != PACKAGE:
            MODULES.add(top_level(name))
        if (module.__file__ or "").startswith(f"{here}{os.sep}"):
            _USED.add(here)
        return module
    except ModuleNotFoundError as error:
        missing = error.name or name
        if name == missing or name.startswith(f"{missing}."):
            raise InputError(f"{path}: no module {missing}; looked in {here} and among what is installed") from None
        raise InputError(f"{path}: the module {name} needs {missing}, which is not installed") from None
    except (Exception, SystemExit) as error:  # a module of the user's may fail as it likes
        text = " ".join(str(error).split())
        raise InputError(f"{path}: importing {name} raised {type(error).__name__}: {text}") from None


def subclasses(kind: type[S]) -> Iterator[type[S]]:
    """Yield every class that derives from `kind`, as far as their modules have been imported."""
    for sub in kind.__subclasses__():
        yield sub
        yield from subclasses(sub)


def _values(value: Any) -> Iterator[Settings]:
    if isinstance(value, Settings):
        yield value
        for item in value.__dict__.values():
            yield from _values(item)
    elif isinstance(value, tuple | list):
        for item in value:
            yield from _values(item)
