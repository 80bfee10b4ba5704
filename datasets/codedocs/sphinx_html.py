"""Conversion of HTML pages that Sphinx built to plain text: the content between header, sidebars and footer."""

from __future__ import annotations

import re
from typing import Any

from ticlm.datasets.codedocs.rst import BrokenPage, DocPage

MAIN = (
    "article.bd-article",  # pydata: its <main> holds the navigation as well
    "[itemprop=articleBody]",  # Read the Docs
    "article[role=main]",  # Furo
    "[role=main]",
    "div.body",  # before Sphinx 1.3
    "main",
    "article",
    "body",
)
"""Selectors of the content of a page; the first that matches is used."""
SKIPPED = (
    "a.headerlink",
    ".viewcode-link",
    ".viewcode-back",
    ".linkcode-link",
    "nav",
    "[role=navigation]",
    ".sphinxsidebar",
    ".related",
    ".prev-next-area",
    ".prev-next-footer",
    ".prev-next-bottom",
    ".rst-footer-buttons",
    ".breadcrumb",
    ".copybtn",
    ".eqno",
    ".sd-tab-set > input",
    "footer",
    "script",
    "style",
)


def html_page(name: str, html: str) -> DocPage:
    """Return a page with its main heading as the title and its other text. Raises BrokenPage if there is no content.

    No main-content heuristic is used, because Sphinx marks its content, and a heuristic keeps the link marks of
    headings or loses parameters. Signatures, lists of parameters, tables, formulas and code stay.
    """
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    tree = HTMLTree.parse(html)
    document: Any = tree.document
    main = next((node for selector in MAIN if (node := document.query_selector(selector)) is not None), None)
    if main is None:
        raise BrokenPage("without text")
    _tidied(tree, main)
    heading = main.query_selector("h1")
    title = _line(heading.text) if heading is not None else ""
    if heading is not None:
        heading.decompose()
    text = extract_plain_text(main.html, preserve_formatting=True, alt_texts=False).replace("\xa0", " ")
    page_title = _line(tree.title or "")  # "Title — Project 1.0 documentation"
    return DocPage(
        name, title or re.split(r"\s+[—–|]\s+", page_title)[0], re.sub(r"\s*\n(\s*\n)+", "\n\n", text).strip()
    )


def _tidied(tree: Any, main: Any) -> None:
    """Remove nodes that are not text, and separate words that only the style sheet separates."""
    for node in main.query_selector_all(", ".join(SKIPPED)):
        node.decompose()
    for node in main.query_selector_all("dt > .classifier"):
        if node.first_child is not None:
            node.insert_before(tree.create_text_node(" : "), node.first_child)
    for table in main.query_selector_all("table:not(.field-list):not(.footnote):not(.citation):not(.highlighttable)"):
        if not table.query_selector_all("table"):
            rows = (" | ".join(_line(cell.text) for cell in _cells(row)) for row in table.query_selector_all("tr"))
            lines = tree.create_element("pre")
            lines.append_child(tree.create_text_node("\n".join(rows)))
            table.parent.replace_child(lines, table)


def _cells(row: Any) -> list[Any]:
    return [node for node in row.child_nodes if node.node_name.lower() in ("td", "th")]


def _line(text: str) -> str:
    return " ".join(text.replace("¶", " ").split())
