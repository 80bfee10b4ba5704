"""Conversion of reStructuredText written for Sphinx to plain text, without building the documentation.

docutils parses the text. Unknown markup is read as what it most likely is: a role shows its text, a directive shows its
argument and contains more of the document. Nothing is included, expanded or run.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

from ticlm.datasets.codedocs.doctree import DocBlock, blocks_of, text_of
from ticlm.datasets.codedocs.rst_cost import MOST_STEPS, TooManySubstitutions, bounded_reader, parse_steps

MOST_CHARS = 4 << 20
T = TypeVar("T")
COSTLY = "markup that would take its parser too long"


class BrokenPage(Exception):
    """The parser cannot read a page; the message is the reason."""


@dataclass(frozen=True, slots=True)
class DocPage:
    """A page of documentation: `name` is unique within its release, and `text` does not contain the title."""

    name: str
    title: str
    text: str


def rst_page(name: str, source: str, version: str = "") -> DocPage:
    """Return the page of a file; its title is the first title in it, else the file's name.

    `|version|` and `|release|` are replaced by `version`, unless the page defines them. Markup with errors stays as it
    is written. Raises BrokenPage if docutils fails, or would take too long.
    """
    title, text = _read(name, source, version, text_of)
    return DocPage(name, title or name.rsplit("/", 1)[-1].split(".")[0], text)


def rst_blocks(name: str, source: str, version: str = "") -> list[DocBlock]:
    """Return the paragraphs, items, tables and the like of a file, each below its titles. Raises BrokenPage as
    `rst_page` does."""
    return _read(name, source, version, lambda tree: list(blocks_of(tree)))


def _read(name: str, source: str, version: str, use: Callable[[Any], T]) -> T:
    """Parse a file and return what `use` makes of its tree."""
    from docutils.core import publish_doctree

    if len(source) > MOST_CHARS:
        raise BrokenPage("too large")
    if parse_steps(source) > MOST_STEPS:
        raise BrokenPage(COSTLY)
    try:
        with _sphinx_markup():
            # at the top no block is open, and a definition by the page itself comes later and replaces this one
            release = _RELEASE.format(version) if version else ""
            reader = bounded_reader()()
            return use(publish_doctree(release + source, source_path=name, reader=reader, settings_overrides=_QUIET))
    except TooManySubstitutions:
        raise BrokenPage(COSTLY) from None
    except Exception:  # docutils has bugs of every kind, endless recursion among them; one page is not worth a release
        raise BrokenPage("broken markup") from None


_QUIET = {
    "report_level": 5,
    "halt_level": 6,
    "traceback": True,  # otherwise docutils ends the process on an error
    "warning_stream": False,
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "syntax_highlight": "none",
    "smart_quotes": False,
    "_disable_config": True,
    "line_length_limit": MOST_CHARS,
}
_RELEASE = ".. |version| replace:: {0}\n.. |release| replace:: {0}\n..\n\n"
"""It ends with an empty comment, which takes in no lines, as a page may begin with indented lines."""
_SILENT = {
    "toctree", "contents", "sectnum", "currentmodule", "module", "py:module", "py:currentmodule", "index", "highlight",
    "default-domain", "tabularcolumns", "raw", "include", "literalinclude", "meta", "graphviz", "digraph", "graph",
    "inheritance-diagram", "mermaid", "default-role", "role", "title", "image", "testsetup", "testcleanup",
}  # fmt: skip
_CODE = {
    "code", "code-block", "sourcecode", "ipython", "ipython3", "testcode", "testoutput", "doctest", "plot", "math",
    "productionlist", "parsed-literal", "prompt", "click:example", "click:run",
}  # fmt: skip
_DOCUTILS = {
    "admonition", "attention", "caution", "danger", "error", "hint", "important", "note", "tip", "warning", "table",
    "list-table", "csv-table", "epigraph", "highlights", "pull-quote", "compound", "container", "line-block", "rubric",
    "topic", "sidebar", "replace", "unicode", "date", "class", "figure", "footer", "header",
}  # fmt: skip
_VERSIONS = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "versionremoved": "Removed in version",
}
_HEADS = {"seealso": "See also:", "centered": ""}
_BARE = {"only", "ifconfig", "htmlonly", "glossary", "hlist", "grid", "tab-set", "panels", "div"}


@contextmanager
def _sphinx_markup() -> Iterator[None]:
    """Replace docutils' look-ups of directives and roles while a page is parsed, as Sphinx does; there is no other
    way."""
    from docutils.parsers.rst import directives, roles

    directive, role = directives.directive, roles.role

    def directive_of(name: str, language: Any, document: Any) -> Any:
        known = name.lower() in _DOCUTILS
        return directive(name, language, document) if known else (_directive(name.lower()), [])

    def role_of(name: str, language: Any, lineno: int, reporter: Any) -> Any:
        return (_math if name.lower() == "math" else _role), []

    directives.directive, roles.role = directive_of, role_of
    try:
        yield
    finally:
        directives.directive, roles.role = directive, role


def _role(name: str, raw: str, text: str, lineno: int, inliner: Any, *_: Any) -> tuple[list[Any], list[Any]]:
    """Return what a role shows: the title of `title <target>`, the last name of `~a.b.c`, else its text."""
    from docutils import nodes, utils

    shown = utils.unescape(text)
    if titled := re.fullmatch(r"(.+?)\s*<[^<>]+>", shown, re.DOTALL):
        shown = titled[1]
    elif shown.startswith("~"):
        shown = shown[1:].rsplit(".", 1)[-1]
    elif name.lower() in ("pep", "rfc"):
        shown = f"{name.upper()} {shown}"
    return [nodes.inline(raw, shown.removeprefix("!"))], []


def _math(name: str, raw: str, *_: Any) -> tuple[list[Any], list[Any]]:
    """Return a formula as it is written, with backslashes."""
    from docutils import nodes

    formula = raw.split("`")[1] if raw.count("`") >= 2 else raw
    return [nodes.math(raw, formula)], []


@cache
def _directive(name: str) -> Any:
    """Return a class for a directive that docutils does not have, or that has options of Sphinx."""
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class Lenient(Directive):  # type: ignore[misc]
        optional_arguments = 1
        final_argument_whitespace = True
        has_content = True
        option_spec = _Anything()

        def run(self) -> list[Any]:
            if name in _SILENT:
                return []
            if name in _CODE:
                return _as_code(name, self.arguments, list(self.content))
            argument = self.arguments[0] if self.arguments else ""
            head = [] if name in _BARE else _head(name, argument, bool(self.content), self._inline)
            if name == "autosummary":
                return [nodes.literal_block(text="\n".join(self.content))]
            body = nodes.container()
            self.state.nested_parse(self.content, self.content_offset, body)
            return [*head, *body.children]

        def _inline(self, text: str) -> Any:
            children, messages = self.state.inline_text(text, self.lineno)
            return nodes.paragraph(text, "", *children, *messages)

    return Lenient


class _Anything(dict[str, Callable[[str | None], str]]):
    """A specification that accepts options of any name with any value; none of them is shown."""

    def __missing__(self, name: str) -> Callable[[str | None], str]:
        return lambda value: value or ""

    def __bool__(self) -> bool:
        return True


def _as_code(name: str, arguments: Sequence[str], lines: Sequence[str]) -> list[Any]:
    """Return a literal block, without the language or number in the argument; a formula may stand in the argument."""
    from docutils import nodes

    first = [line for line in arguments if name in ("math", "productionlist", "prompt")]
    shown = "\n".join([*first, *lines]).strip("\n")
    return [nodes.literal_block(text=shown)] if shown else []


def _head(name: str, argument: str, more: bool, inline: Callable[[str], Any]) -> list[Any]:
    """Return the text above a directive's content: a signature as it is, or a note such as "New in version 1.2:"."""
    from docutils import nodes

    if name in _VERSIONS:
        version, rest = (*argument.split(None, 1), "", "")[:2]
        return [inline(f"{_VERSIONS[name]} {version}{': ' if rest else ':' if more else '.'}{rest}")]
    if name in _HEADS:
        return [inline(f"{_HEADS[name]} {argument}".strip())]
    signature = "\n".join(line.strip() for line in re.sub(r"\\\n\s*", "", argument).splitlines())
    return [nodes.literal_block(text=signature)] if signature else []
