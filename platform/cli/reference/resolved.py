"""A file of settings with everything filled in, as YAML in which a comment explains each key."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import yaml
from pydantic_core import PydanticUndefined

from ticlm.core.remote.credentials import without_credentials
from ticlm.core.settings import Settings
from ticlm.platform.cli.reference.meanings import meanings, summary
from ticlm.platform.models.settings import ConfigModel, PresetModel

WIDTH = 110


def as_yaml(value: Settings, title: str) -> str:
    """Return settings as YAML that loads back to the same value. The comment above a key says what it means, where the
    key first stands. Keys that may hold a password are left out, and so are credentials in URLs."""
    return without_credentials("\n".join([f"# {title}", *_mapping(value, value.model_dump(), 0, set())]) + "\n")


def skeleton(kind: type[Settings], title: str) -> str:
    """Return the keys of a class of settings with their meanings and defaults; a required key stands in a comment."""
    lines = [f"# {title}"]
    said = meanings(kind)
    for name, field in kind.model_fields.items():
        lines += _comment(said.get(name, summary(kind) if name == "kind" else ""), 0)
        default = field.get_default(call_default_factory=True)
        if default is PydanticUndefined:
            lines.append(f"# {name}: …   (required)")
        elif isinstance(default, Settings):
            lines += [f"{name}:", *_mapping(default, default.model_dump(), 2, set())]
        else:
            lines.append(f"{name}: {flow(default)}")
    return "\n".join(lines) + "\n"


def flow(value: Any) -> str:
    """Return a plain value, or settings, as YAML in one line."""
    if isinstance(value, Settings):
        value = value.model_dump()
    return (
        yaml.safe_dump(_plain(value), default_flow_style=True, width=1e9, allow_unicode=True, sort_keys=False)
        .split("\n...", 1)[0]
        .rstrip("\n")
    )


def _mapping(value: Settings, dumped: Mapping[str, Any], indent: int, explained: set[tuple[str, str]]) -> list[str]:
    """Return the lines of settings. `dumped` is what pydantic writes of them, which has the import path of a user's own
    class as its kind."""
    lines: list[str] = []
    said = meanings(type(value))
    names = [name for name in ("kind", *type(value).model_fields) if name in dumped]
    for name in dict.fromkeys(names):
        mark = (type(value).__name__, name)
        if mark not in explained:
            explained.add(mark)
            lines += _comment(said.get(name, summary(type(value)) if name == "kind" else ""), indent)
        lines += _entry(name, getattr(value, name, None), dumped[name], value, indent, explained)
    return lines


def _entry(
    name: str, item: Any, dumped: Any, of: Settings, indent: int, explained: set[tuple[str, str]]
) -> Iterator[str]:
    pad = " " * indent
    if isinstance(item, Settings):
        yield f"{pad}{name}:" if dumped else f"{pad}{name}: {{}}"
        yield from _mapping(item, dumped, indent + 2, explained)
    elif isinstance(item, tuple | list) and any(isinstance(one, Settings) for one in item):
        yield f"{pad}{name}:"
        for one, written in zip(item, dumped):
            yield from _bullet(_mapping(one, written, indent + 4, explained), indent + 2)
    elif isinstance(item, Mapping) and any(isinstance(one, Settings) for one in item.values()):
        yield f"{pad}{name}:"
        for key, one in item.items():
            yield f"{pad}  {flow(key)}:"
            yield from _mapping(one, dumped[key], indent + 4, explained)
    else:
        if isinstance(of, PresetModel | ConfigModel) and name in ("changes", "config"):
            dumped = json.loads(item)
        yield f"{pad}{name}: {flow(dumped)}"


def _bullet(lines: list[str], indent: int) -> list[str]:
    """Put the mark of a list's entry before its first key; comments above that key stay above the mark."""
    first = next(at for at, line in enumerate(lines) if not line.lstrip().startswith("#"))
    return [*lines[:first], f"{' ' * indent}- {lines[first].lstrip()}", *lines[first + 1 :]]


def _comment(text: str, indent: int) -> list[str]:
    pad = " " * indent
    return textwrap.wrap(text, WIDTH, initial_indent=f"{pad}# ", subsequent_indent=f"{pad}# ", break_on_hyphens=False)


def _plain(value: Any) -> Any:
    """Return a dumped value with lists for tuples, and mappings for settings, as YAML has only these."""
    if isinstance(value, Settings):
        value = value.model_dump()
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, tuple | list) else value
