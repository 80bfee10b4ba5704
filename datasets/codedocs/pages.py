"""The pages of one release of a documentation: which files of a tree they are in, and which are worth reading."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Literal

from pydantic import Field

from ticlm.datasets.codedocs.archives import files
from ticlm.datasets.codedocs.docstrings import docstring_pages
from ticlm.datasets.codedocs.rst import BrokenPage, DocPage, rst_page
from ticlm.datasets.codedocs.sphinx_html import html_page
from ticlm.datasets.text.charset import decoded
from ticlm.platform.core.accounting import Step
from ticlm.platform.core.settings import Settings

SUFFIXES = {"html": (".html", ".htm"), "source": (".rst", ".txt", ".py")}
CYTHON = (".pyx", ".pxd", ".pxi")


class DocPages(Settings):
    """Pages of the HTML that Sphinx built (`form: html`), or of the sources as they are (`form: source`):
    reStructuredText, and the docstrings of Python files.

    Files count that match one of `include` and none of `exclude`: globs that begin at any folder, in which `*` crosses
    folders. A page shorter than `shortest_chars`, not counting ends of lines and double spaces, is left out.
    """

    form: Literal["html", "source"] = "source"
    include: tuple[str, ...] = ("*.html", "*.htm", "*.rst", "doc/*.txt", "docs/*.txt", "*.py")
    exclude: tuple[str, ...] = (
        "genindex*",
        "py-modindex*",
        "search.html",
        "_modules/*",
        "_sources/*",
        "_static/*",
        "_templates/*",
        "benchmarks/*",
        "examples/*",
        "tools/*",
        "tests/*",
        "test_*.py",
        "setup.py",
        "conf.py",
        "conftest.py",
        "requirements*.txt",
    )
    shortest_chars: int = Field(25, ge=1)

    def of(self, tree: str, version: str, sha256: str = "") -> tuple[tuple[Step, ...], list[DocPage]]:
        """What became of the files of a release and of the pages in them, and the pages that are kept, by name.

        Names are paths within the release; those of docstrings end in `#` and the dotted name. Whatever order the files
        lie in, the pages are the same. InputError for a folder or archive that cannot be read whole.
        """
        dropped: Counter[str] = Counter()
        found: dict[str, list[DocPage]] = {}
        read = 0
        for path, data in files(tree, partial(_refused, self), sha256):
            read += 1
            pages = data if isinstance(data, str) else _pages(path, data, version)
            if isinstance(pages, str):
                dropped[pages] += 1
            elif path in found:
                dropped["a name that another file has"] += 1
            else:
                found[path] = pages
        ordered = [page for path in sorted(found) for page in found[path]]
        kept, left = _worth_reading(ordered, self.shortest_chars)
        steps = (
            Step(name="files", read=read, dropped=dict(sorted(dropped.items()))),
            Step(name="pages", read=len(ordered), dropped=dict(sorted(left.items()))),
        )
        return steps, kept


def _refused(rules: DocPages, path: str) -> str:
    """Why a file is not opened, by its path; "" for one that is."""
    if rules.form == "source" and path.endswith(CYTHON):
        return "Cython, which is not parsed"
    if not path.endswith(SUFFIXES[rules.form]):
        return "of another format"
    whole = f"/{path}"
    if not any(fnmatchcase(whole, f"*/{glob}") for glob in rules.include):
        return "not in include"
    return "in exclude" if any(fnmatchcase(whole, f"*/{glob}") for glob in rules.exclude) else ""


def _pages(path: str, data: bytes, version: str) -> list[DocPage] | str:
    """The pages in a file, or why it has none."""
    try:
        if path.endswith(".py"):
            return docstring_pages(path, data) or "without docstrings"
        if path.endswith(SUFFIXES["html"]):
            return [html_page(path, decoded(data, None, html=True))]
        return [rst_page(path, decoded(data, None, html=False), version)]
    except BrokenPage as broken:
        return str(broken)


def _worth_reading(pages: Sequence[DocPage], shortest: int) -> tuple[list[DocPage], Mapping[str, int]]:
    """The pages without those that are next to empty or repeat another; counts of these."""
    left: Counter[str] = Counter()
    kept: list[DocPage] = []
    seen: set[tuple[str, str]] = set()
    for page in pages:
        if not page.text:
            left["without text"] += 1
        elif not _is_unicode(page.name + page.title + page.text):
            left["unreadable text"] += 1
        elif len(re.sub(r"\n|  ", "", page.text)) < shortest:
            left["too short"] += 1
        elif (page.title, page.text) in seen:
            left["same as another page"] += 1
        else:
            seen.add((page.title, page.text))
            kept.append(page)
    return kept, left


def _is_unicode(text: str) -> bool:
    """No for half of a surrogate pair, which an escape in a docstring can be, and a byte of a file's name."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
