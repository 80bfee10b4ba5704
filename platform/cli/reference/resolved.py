"""A file of settings with everything filled in, as YAML in which a comment explains each key."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import yaml
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from ticlm.core.remote.credentials import without_credentials
from ticlm.core.settings import Settings
from ticlm.platform.cli.reference.meanings import meanings, summary
from ticlm.platform.cli.reference.tiers import first_fields
from ticlm.platform.models.settings import ConfigText

WIDTH = 110
CONFIG = get_args(ConfigText)[1]
"""The mark of a field that holds a configuration of transformers."""


def as_yaml(value: Settings, title: str, written: Mapping[str, Any] | None = None) -> str:
    """Return settings as YAML that loads back to the same value. The comment above a key says what it means, where the
    key first stands. Keys that may hold a password are left out, and so are credentials in URLs.

    With `written`, what the file itself says, a key is left out if it has its default, is not written there, and is
    none of the first tier.
    """
    writer = _YamlWriter(every=written is None)
    lines = writer.mapping(value, value.model_dump(), written or {}, 0)
    return without_credentials("\n".join([f"# {title}", *lines]) + "\n")


def keys(text: str) -> int:
    """Return how many keys a text of `as_yaml` has."""
    return sum(not line.lstrip().startswith("#") for line in text.splitlines())


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
            lines += [f"{name}:", *_YamlWriter(every=True).mapping(default, default.model_dump(), None, 2)]
        else:
            lines.append(f"{name}: {flow(plain(field, default))}")
    return "\n".join(lines) + "\n"


def plain(field: FieldInfo, value: Any) -> Any:
    """Return a field's value as YAML writes it: a configuration, which is kept as a text of JSON, as the mapping."""
    return json.loads(value) if CONFIG in field.metadata and isinstance(value, str) else value


def flow(value: Any) -> str:
    """Return a plain value, or settings, as YAML in one line."""
    if isinstance(value, Settings):
        value = value.model_dump()
    return (
        yaml.safe_dump(_plain(value), default_flow_style=True, width=1e9, allow_unicode=True, sort_keys=False)
        .split("\n...", 1)[0]
        .rstrip("\n")
    )


class _YamlWriter:
    """Writes settings line by line, and knows which keys were explained already."""

    def __init__(self, every: bool) -> None:
        self.every = every
        self.explained: set[tuple[str, str]] = set()

    def mapping(self, value: Settings, dumped: Mapping[str, Any], written: Any, indent: int) -> list[str]:
        """Return the lines of settings. `dumped` is what pydantic writes of them, which has the import path of a user's
        own class as its kind; `written` is what the file says in this place."""
        lines: list[str] = []
        said = meanings(type(value))
        given = written if isinstance(written, Mapping) else {}
        for name in dict.fromkeys(name for name in ("kind", *type(value).model_fields) if name in dumped):
            if not (self.every or name in given or _is_first(value, name)):
                continue
            mark = (type(value).__name__, name)
            if mark not in self.explained:
                self.explained.add(mark)
                lines += _comment(said.get(name, summary(type(value)) if name == "kind" else ""), indent)
            lines += self.entry(name, value, dumped[name], given.get(name), indent)
        return lines

    def entry(self, name: str, of: Settings, dumped: Any, written: Any, indent: int) -> Iterator[str]:
        """Yield the lines of one key."""
        pad = " " * indent
        item = getattr(of, name, None)
        if isinstance(item, Settings):
            lines = self.mapping(item, dumped, written, indent + 2)
            yield f"{pad}{name}:" if lines else f"{pad}{name}: {{}}"
            yield from lines
        elif isinstance(item, tuple | list) and any(isinstance(one, Settings) for one in item):
            yield f"{pad}{name}:"
            each = written if isinstance(written, list) and len(written) == len(item) else [None] * len(item)
            for one, flat, said in zip(item, dumped, each):
                yield from _bullet(self.mapping(one, flat, said, indent + 4), indent + 2)
        elif isinstance(item, Mapping) and any(isinstance(one, Settings) for one in item.values()):
            yield f"{pad}{name}:"
            for key, one in item.items():
                yield f"{pad}  {flow(key)}:"
                yield from self.mapping(one, dumped[key], _at(written, key), indent + 4)
        else:
            field = type(of).model_fields.get(name)
            yield f"{pad}{name}: {flow(dumped if field is None else plain(field, dumped))}"


def _is_first(value: Settings, name: str) -> bool:
    """Return whether a key is shown without being asked for: it is of the first tier, or it has no default, or another
    value than its default."""
    field = type(value).model_fields.get(name)
    if name == "kind" or field is None or (type(value), name) in first_fields():
        return True
    return bool(field.get_default(call_default_factory=True) != getattr(value, name))


def _at(written: Any, key: Any) -> Any:
    return written.get(key) if isinstance(written, Mapping) else None


def _bullet(lines: list[str], indent: int) -> list[str]:
    """Put the mark of a list's entry before its first key; comments above that key stay above the mark."""
    if not lines:
        return [f"{' ' * indent}- {{}}"]
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
