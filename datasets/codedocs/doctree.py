"""Document trees of docutils as plain text: one line per paragraph, code unchanged, tables row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple


def text_of(tree: Any) -> tuple[str, str]:
    """Return (first title, all other text). Blocks are separated by an empty line, and nested blocks are indented where
    a reader needs it."""
    from docutils import nodes

    _tidy(tree)
    title = next(iter(tree.findall(nodes.title)), None)
    blocks = [text for node in tree.children if (text := _block(node, title))]
    return ("" if title is None else _line(title)), re.sub(r"\n{3,}", "\n\n", "\n\n".join(blocks)).strip()


class DocBlock(NamedTuple):
    """A paragraph, item of a list, table or block of code, and the titles of the sections that it stands in, from the
    outermost on."""

    titles: tuple[str, ...]
    text: str
    code: bool = False


def blocks_of(tree: Any) -> Iterator[DocBlock]:
    """Yield the blocks of a page in their order."""
    _tidy(tree)
    yield from _blocks_below(tree, ())


def _blocks_below(node: Any, titles: tuple[str, ...]) -> Iterator[DocBlock]:
    from docutils import nodes

    heads = [child for child in node.children if isinstance(child, nodes.title | nodes.subtitle)]
    within = (*titles, *map(_line, heads))
    for child in node.children:
        if isinstance(child, nodes.section):
            yield from _blocks_below(child, within)
        elif child not in heads and (text := _block(child, None)):
            lists = isinstance(child, nodes.bullet_list | nodes.enumerated_list)
            code = isinstance(child, nodes.literal_block | nodes.doctest_block | nodes.math_block)
            for item in re.split(r"\n(?=\S)", text) if lists else (text,):  # what belongs to an item is indented
                yield DocBlock(within, re.sub(r"\n{3,}", "\n\n", item).strip(), code)


def _tidy(tree: Any) -> None:
    """Put brackets around references to notes, and show the text of what docutils could not resolve."""
    from docutils import nodes

    for mark in [*tree.findall(nodes.footnote_reference), *tree.findall(nodes.citation_reference)]:
        mark.children = [nodes.Text(f"[{mark.astext()}]")]
    for broken in tree.findall(nodes.problematic):  # mostly links whose targets are in other files
        broken.children = [nodes.Text(re.sub(r"^`([^`]+)`_+$|^(\w+)_+$", r"\1\2", broken.astext()))]


def _block(node: Any, title: Any) -> str:
    """Return a node's lines without a final newline; "" for nodes that are never shown."""
    from docutils import nodes

    match node:
        case nodes.literal_block() | nodes.doctest_block() | nodes.math_block():
            return str(node.astext()).strip("\n")
        case nodes.bullet_list() | nodes.enumerated_list():
            return _list(node, title)
        case nodes.definition_list_item():
            *heads, body = node.children
            return f"{' : '.join(_line(head) for head in heads)}\n{_indented(_blocks(body.children, title))}"
        case nodes.field() | nodes.option_list_item():
            name, body = _line(node.children[0]), _blocks(node.children[1].children, title)
            return f"{name}: {body}" if "\n" not in body else f"{name}:\n{_indented(body)}"
        case nodes.field_list() | nodes.option_list() | nodes.line_block() | nodes.definition_list():
            between = "\n\n" if isinstance(node, nodes.definition_list) else "\n"
            return between.join(text for child in node.children if (text := _block(child, title)))
        case nodes.table():
            return _table(node, title)
        case nodes.footnote() | nodes.citation():
            label, *rest = node.children
            return f"[{_line(label)}] {_blocks(rest, title)}" if isinstance(label, nodes.label) else ""
        case nodes.block_quote() | nodes.attribution():
            return _indented(_blocks(node.children, title))
        case nodes.Admonition() if not isinstance(node, nodes.admonition | nodes.system_message):
            return f"{node.tagname.capitalize()}: {_blocks(node.children, title)}"
        case nodes.system_message():  # markup that docutils could not read, unchanged
            return "\n\n".join(
                _block(child, title) for child in node.children if isinstance(child, nodes.literal_block)
            )
        case nodes.Invisible() | nodes.Text() | nodes.image() | nodes.transition() | nodes.docinfo():
            return ""
        case nodes.TextElement() if node is not title:
            return _line(node)
        case nodes.Element() if node is not title:
            return _blocks(node.children, title)
    return ""


def _blocks(children: Sequence[Any], title: Any) -> str:
    return "\n\n".join(text for child in children if (text := _block(child, title)))


def _line(node: Any) -> str:
    """Return the text of a node in one line."""
    from docutils import nodes

    if isinstance(node, nodes.comment | nodes.substitution_definition | nodes.target):
        return ""
    return " ".join(str(node.astext()).split())


def _list(node: Any, title: Any) -> str:
    from docutils import nodes

    first = int(node.get("start", 1))
    marks = ("- " if isinstance(node, nodes.bullet_list) else f"{first + at}. " for at in range(len(node.children)))
    items = [
        mark + _indented(_blocks(item.children, title), " " * len(mark)).lstrip()
        for mark, item in zip(marks, node.children)
    ]
    return "\n".join(items)


def _table(node: Any, title: Any) -> str:
    """Return the caption and a line per row, with cells separated by bars."""
    from docutils import nodes

    rows = [" | ".join(_line(entry) for entry in row.children) for row in node.findall(nodes.row)]
    captions = [_line(child) for child in node.children if isinstance(child, nodes.title) and child is not title]
    return "\n".join([*captions, *rows])


def _indented(text: str, by: str = "    ") -> str:
    return re.sub(r"(?m)^(?=.)", by, text)
