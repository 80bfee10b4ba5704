"""YAML as users write it: read strictly, because a key that is given twice would win in silence."""

from __future__ import annotations

from typing import Any

import yaml

MERGE = "tag:yaml.org,2002:merge"


class RepeatedKey(yaml.YAMLError):
    """A mapping gives a key twice; the message names it and both lines."""


def read(text: str) -> Any:
    """Return the value of a YAML text. Raises yaml.YAMLError if it is none, RepeatedKey if a mapping repeats a key."""
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check_keys(node)
        return loader.construct_document(node)
    except (ValueError, KeyError, AttributeError) as error:  # values that look like a date or a number, and are none
        raise yaml.YAMLError(f"a value cannot be read: {error}") from None
    finally:
        loader.dispose()


def _check_keys(whole: yaml.Node) -> None:
    waiting, seen = [whole], set[int]()
    while waiting:
        node = waiting.pop()
        if id(node) in seen:  # an alias
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            waiting += node.value
        elif isinstance(node, yaml.MappingNode):
            _check_mapping(node)
            waiting += [value for _, value in node.value]


def _check_mapping(node: yaml.MappingNode) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
            continue
        name, line = (key.tag, key.value), key.start_mark.line + 1
        if name in lines:
            where = f"on line {line}" if lines[name] == line else f"on lines {lines[name]} and {line}"
            raise RepeatedKey(f"{key.value} is given twice, {where}; keep one of them")
        lines[name] = line
