"""Wikitext: the prose of a page as plain paragraphs."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

HIDDEN = ("category", "file", "image")
_KEPT_TAGS = frozenset(
    {
        "abbr",
        "b",
        "bdi",
        "big",
        "blockquote",
        "br",
        "center",
        "cite",
        "code",
        "dd",
        "del",
        "dfn",
        "div",
        "dl",
        "dt",
        "em",
    }
    | {"font", "hr", "i", "ins", "kbd", "li", "mark", "nowiki", "ol", "onlyinclude", "p", "poem", "q", "rb", "rp", "rt"}
    | {"ruby", "s", "samp", "section", "small", "span", "strike", "strong", "sub", "sup", "tt", "u", "ul", "var"}
)
"""Tags whose content is read with the text; of all others (references, tables, galleries, formulas) nothing is."""
_BREAKING_TAGS = frozenset(
    {"blockquote", "br", "center", "dd", "div", "dl", "dt", "hr", "li", "ol", "p", "poem", "section", "ul"}
)
_ITEM = "\x00"  # stands for a mark of a list; no text can hold it, for XML cannot
_INTERWIKI = re.compile(r"[a-z]{2,3}(?:-[a-z-]+)?:")
_MARKS = re.compile(r"'{2,5}|__[A-Z]{3,}__|\[\[|\]\]")
_NO_MARKUP = str.maketrans("{}|!", "\x01\x02\x03\x04")  # what is shown as it stands
_AS_SHOWN = str.maketrans("\x01\x02\x03\x04", "{}|!")
_NEVER = re.compile("[\x00-\x04]")
_RESIDUE = re.compile(r"\{\||\|\}|\{\{|\}\}|^[|}]")
"""Of tables and templates that were never closed, or closed twice."""
_EMPTY_BRACKETS = re.compile(r"\(\s*(?:[,;:/–—-]\s*)*\)|\[\s*\]")
_OPENING = re.compile(r"\(\s*(?:[,;:]\s*)*")
_CLOSING = re.compile(r"(?:\s*[,;:])+\s*\)")
_LOOSE = re.compile(r"^[,;:.)]+(?= |$)| +(?=\))| +(?=[,.](?: |$))")
_SPACE = re.compile(r"[^\S\n]+|[\u200b\u200e\u200f\ufeff]")


class Unparsable(ValueError):
    """Wikitext that its parser does not get through."""


def paragraphs(text: str, hidden: Sequence[str] = HIDDEN, lists: bool = True) -> list[str]:
    """The lines of text that a reader of the page sees, without headings, tables, templates, references, formulas and
    pictures; entities are decoded, links are their text. Links into `hidden` namespaces (names in lower case) show
    nothing. Items of lists are lines, too, unless `lists` is off. Lines with what is left of tables and templates that
    were never closed are left out, whole. Unparsable where the parser fails."""
    import mwparserfromhell

    try:
        code = mwparserfromhell.parse(_NEVER.sub("", text), skip_style_tags=True)
    except Exception as error:  # it has bugs of its own on odd pages, and so fails in several ways
        raise Unparsable(f"{type(error).__name__}: {error}") from error
    seen = "".join(_seen(code, frozenset(hidden)))
    lines = (_line(line, lists) for line in _without_headers(seen.split("\n")))
    return [line for line in lines if line]


def _without_headers(lines: Sequence[str]) -> Iterator[str]:
    """Lines but those that begin with `!` beside a row of a table that was never closed: elsewhere, `!` may begin a
    text."""
    runs = [(kind, list(run)) for kind, run in groupby(lines, _begins)]
    for before, (kind, run), after in zip([("", []), *runs], runs, [*runs[1:], ("", [])]):
        if kind != "!" or "|" not in (before[0], after[0]):
            yield from run


def _begins(line: str) -> str:
    start = line.lstrip()
    return "|" if start.startswith(("|", "{|")) else "!" if start.startswith("!") else ""


def _seen(code: Any, hidden: frozenset[str]) -> Iterator[str]:
    """What is seen of each node."""
    from mwparserfromhell import nodes

    for node in code.nodes:
        match node:
            case nodes.Text():
                yield str(node.value)
            case nodes.HTMLEntity():
                yield _character(node)
            case nodes.Wikilink():
                yield from _link(node, hidden)
            case nodes.ExternalLink():
                if node.title is not None:
                    yield from _seen(node.title, hidden)
                elif not node.brackets:
                    yield str(node.url)
            case nodes.Tag():
                yield from _tag(node, hidden)
            case nodes.Heading():
                yield "\n"


def _character(entity: Any) -> str:
    """What an entity stands for, which is no markup; nothing for halves of surrogate pairs and characters that are not
    seen."""
    found = str(entity.normalize())
    return found.translate(_NO_MARKUP) if found.isprintable() or found.isspace() else ""


def _link(link: Any, hidden: frozenset[str]) -> Iterator[str]:
    target = str(link.title).strip()
    if target.partition(":")[0].strip().lower() in hidden and ":" in target:
        return
    if link.text is not None:
        yield from _seen(link.text, hidden)
    elif not _INTERWIKI.match(target):  # to the same page in another language
        shown = "".join(_seen(link.title, hidden)).strip().removeprefix(":")
        yield shown.partition("#")[0] or shown.removeprefix("#")


def _tag(tag: Any, hidden: frozenset[str]) -> Iterator[str]:
    name = str(tag.tag).strip().lower()
    if tag.wiki_markup is not None and name in ("li", "dd", "dt"):
        yield _ITEM
        return
    if name not in _KEPT_TAGS:
        return
    if name in _BREAKING_TAGS:
        yield "\n"
    if tag.contents is not None:
        seen = _seen(tag.contents, hidden)
        yield from (part.translate(_NO_MARKUP) for part in seen) if name == "nowiki" else seen
    if name in _BREAKING_TAGS:
        yield "\n"


def _line(line: str, lists: bool) -> str:
    """A line without what is left of markup and of what was taken out of its middle; "" for one that is no text."""
    if not lists and line.lstrip().startswith(_ITEM):
        return ""
    line = _MARKS.sub("", line.replace(_ITEM, " ")).strip()
    if _RESIDUE.search(line):
        return ""
    line = _SPACE.sub(" ", line)
    line = _CLOSING.sub(")", _OPENING.sub("(", _EMPTY_BRACKETS.sub("", line)))
    return _SPACE.sub(" ", _LOOSE.sub("", line)).strip().translate(_AS_SHOWN)
