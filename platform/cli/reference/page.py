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
from ticlm.core.reading.kinds import Kinds
from ticlm.core.reading.plain import Plain
from ticlm.core.settings import Settings
from ticlm.platform.cli.reference.files import FILES
from ticlm.platform.cli.reference.meanings import meanings, whole
from ticlm.platform.cli.reference.names import settings_in
from ticlm.platform.cli.reference.resolved import CONFIG, flow, plain
from ticlm.platform.cli.reference.tiers import FIRST, found

INTRODUCTION = """# Reference

Every key of the YAML files that `ticlm` reads, made from the settings' own docstrings (in a clone, by
`python docs/reference.py`). `ticlm schema study --out study.json` writes the same for editors: begin a study with
the line `# yaml-language-server: $schema=study.json`. `ticlm show NAME` prints a study or a recipe as it will run, with
the keys that most people set; `ticlm show NAME --all` prints every key.

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
LABEL = get_args(Label)[1]
LONGEST_DEFAULT, LONGEST_TYPE = 60, 200
UNBOUNDED = 2**62
"""Limits from here on say that a number fits 64 bits, which no reader needs to know."""


def text() -> str:
    """Return the whole page: the keys of the first tier, a table of contents, and every key, folded by kind of file."""
    kinds: dict[str, list[type[Settings]]] = {}
    for name, file in FILES.items():
        known = {kind for earlier in kinds.values() for kind in earlier}
        kinds[name] = [kind for kind in reachable(file.settings) if kind not in known]
    parts = [INTRODUCTION, _first_tier(), _contents(kinds)]
    for name, listed in kinds.items():
        folded = f"All {_keys(listed)} keys, in {len(listed)} sections"
        parts.append(f"## {TITLES[name]}\n\nFor `{FILES[name].command}`.")
        parts.append(f'<details markdown="1">\n<summary>{folded}</summary>')
        parts += [section(kind) for kind in listed]
        parts.append("</details>")
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def _first_tier() -> str:
    """Return the table of the keys that most people set."""
    number = sum(map(len, FIRST.values()))
    lines = [f"## The {number} keys that most people set"]
    for name, paths in FIRST.items():
        lines += ["", f"**{TITLES[name]}**", "", "| key | type | default | meaning |", "|---|---|---|---|"]
        for path in paths:
            kind, last = next(found(FILES[name].settings, path))
            row = _row(kind, last)
            if len(taken := _of_field(kind.model_fields[last])) > LONGEST_TYPE:
                row = row.replace(taken, f"see [{kind.__name__}](#{kind.__name__.lower()})", 1)
            lines.append(f"| `{path}` {row}")
    return "\n".join(lines)


def _contents(kinds: Mapping[str, list[type[Settings]]]) -> str:
    lines = [
        "## All keys",
        "",
        f"{sum(map(_keys, kinds.values()))} keys. A class of settings stands where it is first needed.",
    ]
    for name, listed in kinds.items():
        links = " · ".join(f"[{kind.__name__}](#{kind.__name__.lower()})" for kind in listed)
        lines += ["", f"**[{TITLES[name]}](#{TITLES[name].lower().replace(' ', '-')})**: {links}"]
    return "\n".join(lines)


def _keys(kinds: list[type[Settings]]) -> int:
    return sum(name != "kind" for kind in kinds for name in kind.model_fields)


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
    lines = [f"### {kind.__name__}", "", whole(kind)]
    if "kind" in kind.model_fields:
        lines += ["", f"`kind: {kind.model_fields['kind'].default}`"]
    rows = [f"| `{name}` {_row(kind, name)}" for name in kind.model_fields if name != "kind"]
    if rows:
        lines += ["", "| key | type | default | meaning |", "|---|---|---|---|", *rows]
    return "\n".join(lines)


def _row(kind: type[Settings], name: str) -> str:
    """Return the cells of a key behind its name: type, default and meaning."""
    field = kind.model_fields[name]
    default = plain(field, field.get_default(call_default_factory=True))
    return f"| {_of_field(field)} | {_default(default)} | {_cell(meanings(kind).get(name, ''))} |"


def _of_field(field: FieldInfo) -> str:
    return _cell(_type(field.annotation, field.metadata))


def _type(annotation: Any, metadata: Any = ()) -> str:
    """Return a type in words: `number > 0`, `list of period`, `one of …`."""
    if hasattr(annotation, "__metadata__"):
        return _type(annotation.__origin__, (*annotation.__metadata__, *metadata))
    metadata = tuple(_flat(metadata))
    if kinds := next((one for one in metadata if isinstance(one, Kinds)), None):
        return " or ".join([*(_named(kind, ()) for kind in kinds.classes().values()), "a class of your own"])
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
            case annotated_types.Ge(ge=bound) if bound >= -UNBOUNDED:
                limits.append(f"≥ {bound:g}")
            case annotated_types.Lt(lt=bound) if bound < UNBOUNDED:
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
        names = ("kind", "name", "text", "subset")
        called = [next(getattr(one, name) for name in names if getattr(one, name, None)) for one in value]
        return _cut(", ".join(f"`{one}`" for one in called))
    return _cut(f"`{flow(value)}`")


def _cut(text: str) -> str:
    return _cell(text) if len(text) <= LONGEST_DEFAULT else "see `ticlm show`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
