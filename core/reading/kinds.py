"""Unions of settings whose classes are found by name, so that the union stands on a lower floor than its classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pydantic_core import PydanticCustomError, core_schema

from ticlm.core.extensions import (
    class_at,
    entry_point,
    import_path,
    is_built_in,
    made,
    object_at,
    own_schema,
    without_kind,
)
from ticlm.core.reading.near import hint
from ticlm.core.settings import Settings

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler


@dataclass(frozen=True)
class Kinds:
    """Annotation of a setting whose classes are all found by name, those of this package too: `kinds` has their import
    paths. The union so stands on a lower floor than its classes. A class of the user's own is named as for `Own`.

    `base`: the import path of the class from which all of them derive; the annotated type is a base of that one.
    """

    base: str
    group: str
    kinds: Mapping[str, str]

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        dump = core_schema.plain_serializer_function_ser_schema(_dump_any, info_arg=True)
        return core_schema.no_info_plain_validator_function(self._validate, serialization=dump)

    def __get_pydantic_json_schema__(self, source: Any, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Return the JSON schema of any of the classes, each with its kind, or of a class of the user's own."""
        known = [handler(found.__pydantic_core_schema__) for found in self.classes().values()]
        own = own_schema(self.base.partition(":")[2], self.group)
        return {"anyOf": [*({"allOf": [one], "required": ["kind"]} for one in known), own]}

    def classes(self) -> dict[str, type[Settings]]:
        """Return the classes of this package by their kinds."""
        base: type[Settings] = object_at(self.base)
        return {kind: class_at(path, base) for kind, path in self.kinds.items()}

    def _validate(self, value: Any) -> Settings:
        if isinstance(value, Settings) and isinstance(value, object_at(self.base)):
            return value
        if not isinstance(value, Mapping):
            raise PydanticCustomError("model_type", "must be a mapping of settings")
        kind = value.get("kind")
        if isinstance(kind, str) and kind in self.kinds:
            return made(self.kinds[kind], object_at(self.base), value)
        path = kind if isinstance(kind, str) and ":" in kind else entry_point(self.group, str(kind))
        if path is None:
            wrong = "kind is required" if kind is None else f"no kind {kind!r}{hint(str(kind), self.kinds)}"
            line = f"{wrong}; there are {', '.join(self.kinds)}, and module:Class for a class of your own"
            raise PydanticCustomError("own_class", "{line}", {"line": line, "field": ""})
        return made(path, object_at(self.base), without_kind(value))


def _dump_any(value: Any, info: core_schema.SerializationInfo) -> Any:
    """Return any settings as a mapping; of a class of the user's own, the kind is its import path."""
    return value.model_dump(mode=info.mode) | ({} if is_built_in(type(value)) else {"kind": import_path(type(value))})
