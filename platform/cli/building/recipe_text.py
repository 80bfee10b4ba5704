"""The text of a recipe with a later `periods.last` and further `documents.paths`; comments and layout stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from ticlm.core.reading import mappings


def with_last(text: str, label: str) -> str:
    """Return the text of a recipe whose calendar ends with a period. Raises ValueError if it is no mapping, or if
    `periods` is not one."""
    root = _mapping(yaml.compose(text), "the recipe")
    periods = _value(root, "periods")
    if periods is None:
        return _with_key(text, root, "periods", f"{{last: {label}}}")
    last = _value(_mapping(periods, "periods"), "last")
    if last is None:
        return _with_key(text, _mapping(periods, "periods"), "last", label)
    start, end = last.start_mark.index, last.end_mark.index
    quote = text[start] if text[start] in "'\"" else ""
    return f"{text[:start]}{quote}{label}{quote}{text[end:]}"


def with_paths(text: str, every: Sequence[str], new: Sequence[str]) -> str:
    """Return the text of a recipe that also reads the paths `new`; `every` are those that it reads so far, which may
    stand in a file that it extends. Raises ValueError if `documents` is no mapping."""
    root = _mapping(yaml.compose(text), "the recipe")
    documents = _value(root, "documents")
    whole = f"[{', '.join(map(_quoted, (*every, *new)))}]"
    if documents is None:
        return _with_key(text, root, "documents", f"{{paths: {whole}}}")
    paths = _value(_mapping(documents, "documents"), "paths")
    if paths is None:
        return _with_key(text, _mapping(documents, "documents"), "paths", whole)
    if not isinstance(paths, yaml.SequenceNode) or not paths.value:
        return f"{text[: paths.start_mark.index]}{whole}{text[paths.end_mark.index :]}"
    end = paths.value[-1].end_mark.index
    if paths.flow_style:
        return f"{text[:end]}{''.join(f', {_quoted(path)}' for path in new)}{text[end:]}"
    line_start = text.rfind("\n", 0, paths.value[0].start_mark.index) + 1
    bullet = text[line_start : paths.value[0].start_mark.index]  # its dash, with the spaces before and after it
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end
    return f"{text[:line_end]}{''.join(f'{chr(10)}{bullet}{_quoted(path)}' for path in new)}{text[line_end:]}"


def check(before: str, after: str) -> None:
    """Raise ValueError if two texts of a recipe differ in more than `periods.last` and `documents.paths`: an anchor or
    a merge key may give one place of the text to several keys."""
    if _rest(before) != _rest(after):
        raise ValueError("its YAML cannot be changed in these two keys alone")


def _rest(text: str) -> dict[str, Any]:
    """Return the settings of a text without the two keys, and without the mappings that hold nothing else."""
    data = mappings.read(text)
    for part, key in (("periods", "last"), ("documents", "paths")):
        kept = {name: value for name, value in (data.get(part) or {}).items() if name != key}
        data = {**{name: value for name, value in data.items() if name != part}, **({part: kept} if kept else {})}
    return dict(data)


def _with_key(text: str, node: yaml.MappingNode, key: str, value: str) -> str:
    """Return the text with one more key in a mapping: before its first one in a block, after its last one in braces,
    and at the end of the text if it is the whole."""
    start = node.start_mark.index
    if not node.flow_style and node.start_mark.column == 0:
        return f"{text.rstrip(chr(10))}\n{key}: {value}\n"
    if not node.flow_style:
        return f"{text[:start]}{key}: {value}\n{' ' * node.start_mark.column}{text[start:]}"
    end = node.value[-1][1].end_mark.index if node.value else start + 1
    return f"{text[:end]}{', ' if node.value else ''}{key}: {value}{text[end:]}"


def _mapping(node: yaml.Node | None, what: str) -> yaml.MappingNode:
    if not isinstance(node, yaml.MappingNode):
        raise ValueError(f"{what} is no mapping")
    return node


def _value(node: yaml.MappingNode, key: str) -> yaml.Node | None:
    return next((value for name, value in node.value if getattr(name, "value", None) == key), None)


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"
