"""The text of a recipe with a later `periods.last` and further `documents.paths`; comments and layout stay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import yaml

from ticlm.core.reading import mappings


def with_last(text: str, label: str) -> str:
    """Return the text of a recipe whose calendar ends with a period. Raises ValueError if it is no mapping, or if
    `periods` is not one."""
    root = _root(text)
    periods = _value(root, "periods")
    if periods is None:
        return _with_key(text, root, "periods", f"{{last: {label}}}")
    if _is_empty(periods):
        return _replaced(text, periods, f"{{last: {label}}}")
    last = _value(_mapping(periods, "periods"), "last")
    if last is None:
        return _with_key(text, _mapping(periods, "periods"), "last", label)
    quote = last.style if isinstance(last, yaml.ScalarNode) and last.style in ("'", '"') else ""
    return _replaced(text, last, f"{quote}{label}{quote}")


def with_paths(text: str, every: Sequence[str], new: Sequence[str]) -> str:
    """Return the text of a recipe that also reads the paths `new`; `every` are those that it reads so far, which may
    stand in a file that it extends. Raises ValueError if `documents` is no mapping."""
    root = _root(text)
    documents = _value(root, "documents")
    whole = f"[{', '.join(map(_quoted, (*every, *new)))}]"
    if documents is None:
        return _with_key(text, root, "documents", f"{{paths: {whole}}}")
    if _is_empty(documents):
        return _replaced(text, documents, f"{{paths: {whole}}}")
    paths = _value(_mapping(documents, "documents"), "paths")
    if paths is None:
        return _with_key(text, _mapping(documents, "documents"), "paths", whole)
    if not isinstance(paths, yaml.SequenceNode) or not paths.value:
        return _replaced(text, paths, whole)
    end = _end(text, paths.value[-1])
    if paths.flow_style:
        return f"{text[:end]}{''.join(f', {_quoted(path)}' for path in new)}{text[end:]}"
    line_start = text.rfind("\n", 0, paths.value[0].start_mark.index) + 1
    bullet = text[line_start : paths.value[0].start_mark.index]  # its dash, with the spaces before and after it
    line_end = text.find("\n", end)
    line_end = len(text) if line_end < 0 else line_end - (text[line_end - 1] == "\r")
    return f"{text[:line_end]}{''.join(f'{_newline(text)}{bullet}{_quoted(path)}' for path in new)}{text[line_end:]}"


def check(before: str, after: str) -> None:
    """Raise ValueError if two texts of a recipe differ in more than `periods.last` and `documents.paths`: an anchor or
    a merge key may give one place of the text to several keys."""
    try:
        is_same = _rest(before) == _rest(after)
    except yaml.YAMLError:
        is_same = False
    if not is_same:
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
    and at the end of the document if it is the whole."""
    start, line = node.start_mark.index, _newline(text)
    if not node.flow_style and node.start_mark.column == 0:
        end = node.end_mark.index  # a line `...` may follow
        return f"{text[:end].rstrip()}{line}{key}: {value}{line}{text[end:]}"
    if not node.flow_style:
        return f"{text[:start]}{key}: {value}{line}{' ' * node.start_mark.column}{text[start:]}"
    end = _end(text, node.value[-1][1]) if node.value else start + 1
    return f"{text[:end]}{', ' if node.value else ''}{key}: {value}{text[end:]}"


def _replaced(text: str, node: yaml.Node, value: str) -> str:
    """Return the text with another value in place of a node; one that is empty begins right behind its colon."""
    start = node.start_mark.index
    space = " " if _is_empty(node) and not text[:start].endswith(" ") else ""
    return f"{text[:start]}{space}{value}{text[_end(text, node) :]}"


def _end(text: str, node: yaml.Node) -> int:
    """Return where the text of a node ends; that of `>` and `|` has the breaks behind it in YAML's own marks."""
    start = node.start_mark.index
    return start + len(text[start : node.end_mark.index].rstrip())


def _is_empty(node: yaml.Node) -> bool:
    return bool(node.start_mark.index == node.end_mark.index)


def _newline(text: str) -> str:
    return "\r\n" if "\r\n" in text else "\n"


def _root(text: str) -> yaml.MappingNode:
    try:
        return _mapping(yaml.compose(text), "the recipe")
    except yaml.YAMLError as error:
        raise ValueError(f"not valid YAML: {' '.join(str(error).split())}") from None


def _mapping(node: yaml.Node | None, what: str) -> yaml.MappingNode:
    if not isinstance(node, yaml.MappingNode):
        raise ValueError(f"{what} is no mapping")
    return node


def _value(node: yaml.MappingNode, key: str) -> yaml.Node | None:
    return next((value for name, value in node.value if getattr(name, "value", None) == key), None)


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"
