"""YAML as users write it: read strictly, because a key that is given twice would win in silence."""

from __future__ import annotations

from typing import Any

import yaml

from ticlm.core.reading.characters import unpaired

MERGE, INTEGER = "tag:yaml.org,2002:merge", "tag:yaml.org,2002:int"
LONGEST_INTEGER = 1000
"""Characters of a whole number. Python refuses to write one of more than 4,300 digits, also into an error."""
MOST_REPEATED = 100_000
"""Values that the aliases of one text may repeat. A whole study has hundreds; 16 lines of aliases stand for 4**16."""


class RepeatedKey(yaml.YAMLError):
    """A mapping gives a key twice; the message names it and both lines."""


FAST: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""Four times as fast, where PyYAML was built with libyaml. It words errors otherwise, and nests on the stack of C."""


def read(text: str, is_packaged: bool = False) -> Any:
    """Return the value of a YAML text, fast if it is a file of this package.

    Raises RepeatedKey if a mapping repeats a key; yaml.YAMLError if the text is no YAML, is nested too deeply, has
    aliases that stand for too much, a whole number that is too long, or half of a surrogate pair, which no file takes.
    """
    loader = (FAST if is_packaged else yaml.SafeLoader)(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        _check(node)
        return loader.construct_document(node)
    except RecursionError:
        raise yaml.YAMLError("it is nested too deeply") from None
    except (ValueError, KeyError, AttributeError) as error:  # values that look like a date or a number, and are none
        raise yaml.YAMLError(f"a value cannot be read: {error}") from None
    finally:
        loader.dispose()


def _check(whole: yaml.Node) -> None:
    """Raise yaml.YAMLError for a node that is wrong, for aliases that repeat more than MOST_REPEATED values, and for an
    alias inside the value that it repeats."""
    # Over the graph of nodes, before any value is made: a value would hold everything that its aliases repeat.
    sizes: dict[int, int] = {}  # id of a node -> values below it with all aliases written out
    open_: set[int] = set()
    waiting = [whole]
    while waiting:
        node = waiting[-1]
        if id(node) in sizes:  # an alias
            waiting.pop()
        elif id(node) in open_:
            waiting.pop()
            open_.remove(id(node))
            sizes[id(node)] = 1 + sum(sizes[id(part)] for part in _parts(node))
        else:
            _check_node(node)
            open_.add(id(node))
            inner = _parts(node)
            if any(id(part) in open_ for part in inner):
                raise yaml.YAMLError(f"an alias stands inside of what it repeats{_at(node)}")
            waiting += inner
    if sizes[id(whole)] - len(sizes) > MOST_REPEATED:
        raise yaml.YAMLError(f"its aliases repeat more than {MOST_REPEATED:,} values; write out what is meant")


def _parts(node: yaml.Node) -> list[yaml.Node]:
    if isinstance(node, yaml.MappingNode):
        return [part for pair in node.value for part in pair]
    return list(node.value) if isinstance(node, yaml.SequenceNode) else []


def _check_node(node: yaml.Node) -> None:
    if isinstance(node, yaml.MappingNode):
        _check_keys(node)
    elif node.tag == INTEGER and len(node.value) > LONGEST_INTEGER:
        raise yaml.YAMLError(f"a whole number of {len(node.value):,} characters{_at(node)}")
    elif isinstance(node, yaml.ScalarNode) and (half := unpaired(node.value)):
        raise yaml.YAMLError(f"{half} is half of a surrogate pair, which is no character{_at(node)}")


def _check_keys(node: yaml.MappingNode) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode) or key.tag == MERGE:
            continue
        name, line = (key.tag, key.value), key.start_mark.line + 1
        if name in lines:
            where = f"on line {line}" if lines[name] == line else f"on lines {lines[name]} and {line}"
            raise RepeatedKey(f"{key.value} is given twice, {where}; keep one of them")
        lines[name] = line


def _at(node: yaml.Node) -> str:
    return f", on line {node.start_mark.line + 1}"
