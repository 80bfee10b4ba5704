"""Settings that may be written as a plain text, which stands for a mapping with one key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from pydantic import BaseModel
from pydantic_core import core_schema

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler


@dataclass(frozen=True)
class Plain:
    """Annotation of settings: a text `x` in their place is read as `{key: x}`."""

    key: str
    values: Any = None
    """The type of such a text, for schemas and the reference; None if they describe it in their own way."""

    def mapping(self, value: Any) -> Any:
        """Return a text as the mapping that it stands for, and anything else as it is."""
        return {self.key: value} if isinstance(value, str) else value

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        taken = None if self.values is None else handler.generate_schema(self.values | source)
        return core_schema.no_info_before_validator_function(
            self.mapping, handler(source), json_schema_input_schema=taken
        )


def plain_at(kind: type[BaseModel], path: Sequence[str]) -> Plain | None:
    """Return how a plain text at a path of settings (keys, and positions in lists) is read, or None if it has no
    mapping that it stands for."""
    places: list[Any] = [kind]
    for part in path:
        places = [below for place in places for below in _below(place, part)]
    return next((found for place in places for found in _marks(place)), None)


def _below(annotation: Any, part: str) -> Iterator[Any]:
    """Yield the annotations of what `part` names in a value of this annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if part in annotation.model_fields:
            field = annotation.model_fields[part]
            yield Annotated[field.annotation, *field.metadata] if field.metadata else field.annotation
        return
    arguments = [argument for argument in get_args(annotation) if argument is not Ellipsis]
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _below(arguments[0], part)
    elif isinstance(origin, type) and issubclass(origin, Mapping):
        yield arguments[1]
    elif isinstance(origin, type) and issubclass(origin, Sequence):
        if part.isdecimal():
            yield arguments[0]
    else:
        for argument in arguments:
            yield from _below(argument, part)


def _marks(annotation: Any) -> Iterator[Plain]:
    """Yield the marks of an annotation, its own first, then those of the types it may be."""
    arguments = get_args(annotation)
    if get_origin(annotation) is Annotated:
        yield from (mark for mark in arguments[1:] if isinstance(mark, Plain))
        yield from _marks(arguments[0])
    elif get_origin(annotation) not in (tuple, list, dict):
        for argument in arguments:
            yield from _marks(argument)
