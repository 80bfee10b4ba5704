"""The reference of every key as Markdown: docs/reference.md, which `python docs/reference.py` writes."""

from __future__ import annotations

import datetime
import types
from collections.abc import Iterator, Mapping
from typing import Any, Literal, Union, get_args, get_origin

import annotated_types
from pydantic import BeforeValidator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ticlm.core.extensions import Own
from ticlm.core.periods import Label
from ticlm.core.reading.plain import Plain
from ticlm.core.settings import Settings
from ticlm.platform.cli.reference.files import FILES
from ticlm.platform.cli.reference.meanings import meanings, whole
from ticlm.platform.cli.reference.names import settings_in
from ticlm.platform.cli.reference.resolved import flow
from ticlm.platform.models.settings import ConfigText

INTRODUCTION = """# Reference

Every key of the YAML files that `ticlm` reads, made from the settings' own docstrings by `python docs/reference.py`.
`ticlm schema study --out study.json` writes the same for editors: begin a study with the line
`# yaml-language-server: $schema=study.json`. `ticlm show NAME` prints a study or a recipe with every key filled in.

A file may say `extends: OTHER` (a path, a URI or a packaged name): it is then merged into that one. Numbers may be
written as `1_000` and `1e-3`. `kind` chooses among several classes of settings; where the type says so, it may also be
`module:Class`, a class of your own.
"""
TITLES = {
    "study": "Study",
    "recipe": "Recipe of a corpus",
    "examples": "Recipe of a set of examples",
    "tasks": "List of tasks",
    "preset": "Preset of a report",
}
PLAIN = {str: "text", bool: "true or false", datetime.date: "date", Any: "anything", types.NoneType: "null"}
LABEL, CONFIG = (get_args(kind)[1] for kind in (Label, ConfigText))
LONGEST_DEFAULT = 60


def text() -> str:
    """Return the whole page."""
    parts = [INTRODUCTION]
    known: set[type[Settings]] = set()
    for name, file in FILES.items():
        parts.append(f"## {TITLES[name]}\n\nFor `{file.command}`.")
        for kind in reachable(file.settings):
            if kind not in known:
                known.add(kind)
                parts.append(section(kind))
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def reachable(kind: type[Settings]) -> list[type[Settings]]:
    """Return a class of settings and all classes among the types of its keys, in the order in which they first stand.
    Places for classes of the user's own are left out."""
    found: dict[type[Settings], None] = {}

    def visit(one: type[Settings]) -> None:
        if one in found:
            return
        found[one] = None
        for field in one.model_fields.values():
            for inner in settings_in(field.annotation):
                if not _is_seam(inner):
                    visit(inner)

    visit(kind)
    return list(found)


def section(kind: type[Settings]) -> str:
    """Return the section of a class of settings: what it is, and a table of its keys."""
    said = meanings(kind)
    lines = [f"### {kind.__name__}", "", whole(kind)]
    rows = []
    for name, field in kind.model_fields.items():
        default = field.get_default(call_default_factory=True)
        if name == "kind":
            lines += ["", f"`kind: {default}`"]
        else:
            rows.append(f"| `{name}` | {_of_field(field)} | {_default(default)} | {_cell(said.get(name, ''))} |")
    if rows:
        lines += ["", "| key | type | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join(lines)


def _of_field(field: FieldInfo) -> str:
    return _cell(_type(field.annotation, field.metadata))


def _type(annotation: Any, metadata: Any = ()) -> str:
    """Return a type in words: `number > 0`, `list of period`, `one of …`."""
    if hasattr(annotation, "__metadata__"):
        return _type(annotation.__origin__, (*annotation.__metadata__, *metadata))
    metadata = tuple(_flat(metadata))
    own = " or a class of your own" if any(isinstance(one, Own) for one in metadata) else ""
    if LABEL in metadata:
        return "label"
    if CONFIG in metadata:
        return "mapping"
    plain = next((one.values for one in metadata if isinstance(one, Plain) and one.values is not None), None)
    if plain is not None:
        rest = tuple(one for one in metadata if not isinstance(one, Plain))
        return f"{_type(plain)} or {_named(annotation, rest)}{own}"
    taken = next((one.json_schema_input_type for one in metadata if isinstance(one, BeforeValidator)), None)
    if taken is not None and taken is not PydanticUndefined:
        return _type(taken)
    return f"{_named(annotation, metadata)}{own}".removeprefix(" or ")


def _named(annotation: Any, metadata: tuple[Any, ...]) -> str:
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        choices = [f"`{flow(choice)}`" for choice in parts]
        return choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"
    if origin in (Union, types.UnionType):
        limits = [one for one in metadata if isinstance(one, annotated_types.BaseMetadata)]
        return " or ".join(dict.fromkeys(name for part in parts if (name := _type(part, limits))))
    if origin is tuple and parts[-1] is Ellipsis:
        return f"{_bounded('list', metadata)} of {_type(parts[0])}"
    if origin is tuple:
        return f"list of {len(parts)}: {', '.join(map(_type, parts))}"
    if origin in (dict, Mapping):
        return f"mapping to {_type(parts[1])}"
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return "" if _is_seam(annotation) else f"[{annotation.__name__}](#{annotation.__name__.lower()})"
    if annotation in (int, float):
        return _bounded("whole number" if annotation is int else "number", metadata)
    return PLAIN.get(annotation, str(annotation))


def _bounded(name: str, metadata: tuple[Any, ...]) -> str:
    """Return a type's name with its limits."""
    limits = []
    for one in metadata:
        match one:
            case annotated_types.Gt(gt=bound):
                limits.append(f"> {bound:g}")
            case annotated_types.Ge(ge=bound):
                limits.append(f"≥ {bound:g}")
            case annotated_types.Lt(lt=bound):
                limits.append(f"< {bound:g}")
            case annotated_types.Le(le=bound):
                limits.append(f"≤ {bound:g}")
            case annotated_types.MinLen(min_length=least) if name == "list" and least:
                return "list, not empty,"
    return f"{name} {', '.join(limits)}" if limits else name


def _flat(metadata: Any) -> Iterator[Any]:
    for one in metadata:
        yield from _flat(one.metadata) if isinstance(one, FieldInfo) else (one,)


def _is_seam(kind: type[Settings]) -> bool:
    """Whether a class only marks the place of classes of the user's own, such as Penalty: it has no settings."""
    return not kind.model_fields and kind.__name__ in ("Penalty", "Adapter", "Objective", "Documents")


def _default(value: Any) -> str:
    if value is PydanticUndefined:
        return "required"
    if isinstance(value, Settings):
        kind = getattr(value, "kind", None)
        whole = flow(value.model_dump(exclude_defaults=True) | ({"kind": kind} if kind else {}))
        return f"`{whole}`" if len(whole) <= LONGEST_DEFAULT else f"`kind: {kind}` with settings"
    if isinstance(value, tuple) and any(isinstance(one, Settings) for one in value):
        kinds = [getattr(one, "kind", None) or getattr(one, "name", None) or one.text for one in value]
        return _cut(", ".join(f"`{kind}`" for kind in kinds))
    return _cut(f"`{flow(value)}`")


def _cut(text: str) -> str:
    return _cell(text) if len(text) <= LONGEST_DEFAULT else "see `ticlm show`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
