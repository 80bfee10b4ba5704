"""Conversion of wikitext to plain paragraphs of prose."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from ticlm.datasets.wiki.parse_cost import is_costly
from ticlm.datasets.wiki.templates import TemplateCounts, expanded

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
"""Tags whose content is part of the text; all others (references, tables, galleries, formulas) are left out."""
_BREAKING_TAGS = frozenset(
    {"blockquote", "br", "center", "dd", "div", "dl", "dt", "hr", "li", "ol", "p", "poem", "section", "ul"}
)
_ITEM = "\x00"  # stands for the mark of a list item; no text contains it, because XML cannot
_INTERWIKI = re.compile(r"[a-z]{2,3}(?:-[a-z-]+)?:")
_MARKS = re.compile(r"'{2,5}|__[A-Z]{3,}__|\[\[|\]\]")
_NO_MARKUP = str.maketrans("{}|!", "\x01\x02\x03\x04")  # protects characters that are text and not markup
_AS_SHOWN = str.maketrans("\x01\x02\x03\x04", "{}|!")
_NEVER = re.compile("[\x00-\x04]")
_RESIDUE = re.compile(r"\{\||\|\}|\{\{|\}\}|^[|}]")
"""Remains of tables and templates that were never closed, or closed twice."""
_EMPTY_BRACKETS = re.compile(r"\(\s*(?:[,;:/–—-]\s*)*\)|\[\s*\]")
_OPENING = re.compile(r"\(\s*(?:[,;:]\s*)*")
# each of these begins at the start of a run, or its time would grow with the square of the run
_CLOSING = re.compile(r"(?<![\s,;:])\s*[,;:][\s,;:]*\)")
_LOOSE = re.compile(r"^[,;:.)]+(?= |$)|(?<! ) +(?=\)|[,.](?: |$))")
_SPACE = re.compile(r"[^\S\n]+|[\u200b\u200e\u200f\ufeff]")


COSTLY = "wikitext that would take its parser too long"
FAILED = "wikitext that its parser does not get through"


class Unparsable(ValueError):
    """A wikitext that cannot be parsed; the message is the reason."""


@dataclass(frozen=True)
class _Page:
    """What decides how the markup of a page is shown."""

    hidden: frozenset[str]
    templates: TemplateCounts | None
    """Where templates are counted; None: none is expanded."""


def paragraphs(
    text: str, hidden: Sequence[str] = HIDDEN, lists: bool = True, templates: TemplateCounts | None = None
) -> list[str]:
    """Return the lines of prose that a reader of the page sees.

    Headings, tables, references, formulas and pictures are left out, entities are decoded, and links are replaced by
    their text. With `templates`, the templates of the table `templates.yaml` are expanded, and the others counted
    there; without it, all are left out. Links into `hidden` namespaces (names in lower case) show nothing. List items
    are lines too, unless `lists` is off. A line that contains remains of a table or template that was never closed is
    left out. Raises Unparsable if the parser fails, or would take too long.
    """
    import mwparserfromhell

    if is_costly(text):
        raise Unparsable(COSTLY)
    try:
        code = mwparserfromhell.parse(_NEVER.sub("", text), skip_style_tags=True)
    except Exception as error:  # the parser has bugs on unusual pages and raises several types of errors
        raise Unparsable(FAILED) from error
    try:
        text = "".join(_visible(code, _Page(frozenset(hidden), templates)))
    except RecursionError as error:  # the parser's own bound is 100 levels, of which a template takes some frames each
        raise Unparsable(FAILED) from error
    lines = (_line(line, lists) for line in _without_headers(text.split("\n")))
    return [line for line in lines if line]


def _without_headers(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines without headers of unclosed tables: lines that begin with `!` and adjoin a row of a table.
    Elsewhere, text may begin with `!`."""
    runs = [(kind, list(run)) for kind, run in groupby(lines, _begins)]
    for before, (kind, run), after in zip([("", []), *runs], runs, [*runs[1:], ("", [])]):
        if kind != "!" or "|" not in (before[0], after[0]):
            yield from run


def _begins(line: str) -> str:
    start = line.lstrip()
    return "|" if start.startswith(("|", "{|")) else "!" if start.startswith("!") else ""


def _visible(code: Any, page: _Page) -> Iterator[str]:
    """Yield the visible text of each node."""
    from mwparserfromhell import nodes

    for node in code.nodes:
        match node:
            case nodes.Text():
                yield str(node.value)
            case nodes.HTMLEntity():
                yield _character(node)
            case nodes.Wikilink():
                yield from _link(node, page)
            case nodes.ExternalLink():
                if node.title is not None:
                    yield from _visible(node.title, page)
                elif not node.brackets:
                    yield str(node.url)
            case nodes.Tag():
                yield from _tag(node, page)
            case nodes.Heading():
                yield "\n"
            case nodes.Template() if page.templates is not None:
                yield expanded(node, lambda value: "".join(_visible(value, page)), page.templates)


def _character(entity: Any) -> str:
    """Return the character of an entity, protected from being read as markup; "" for halves of surrogate pairs and
    invisible characters."""
    character = str(entity.normalize())
    return character.translate(_NO_MARKUP) if character.isprintable() or character.isspace() else ""


def _link(link: Any, page: _Page) -> Iterator[str]:
    target = str(link.title).strip()
    if target.partition(":")[0].strip().lower() in page.hidden and ":" in target:
        return
    if link.text is not None:
        yield from _visible(link.text, page)
    elif not _INTERWIKI.match(target):  # a link to the same page in another language
        shown = "".join(_visible(link.title, page)).strip().removeprefix(":")
        yield shown.partition("#")[0] or shown.removeprefix("#")


def _tag(tag: Any, page: _Page) -> Iterator[str]:
    name = str(tag.tag).strip().lower()
    if tag.wiki_markup is not None and name in ("li", "dd", "dt"):
        yield _ITEM
        return
    if name not in _KEPT_TAGS:
        return
    if name in _BREAKING_TAGS:
        yield "\n"
    if tag.contents is not None:
        parts = _visible(tag.contents, page)
        yield from (part.translate(_NO_MARKUP) for part in parts) if name == "nowiki" else parts
    if name in _BREAKING_TAGS:
        yield "\n"


def _line(line: str, lists: bool) -> str:
    """Return a line without remains of markup and of removed elements; "" if it is not text."""
    if not lists and line.lstrip().startswith(_ITEM):
        return ""
    line = _MARKS.sub("", line.replace(_ITEM, " ")).strip()
    if _RESIDUE.search(line):
        return ""
    line = _SPACE.sub(" ", line)
    line = _CLOSING.sub(")", _OPENING.sub("(", _EMPTY_BRACKETS.sub("", line)))
    return _SPACE.sub(" ", _LOOSE.sub("", line)).strip().translate(_AS_SHOWN)
