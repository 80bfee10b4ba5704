"""The documentation pages of one release: which files hold them, and which pages are kept."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Literal

from pydantic import Field

from ticlm.core.accounting import Step
from ticlm.core.settings import Settings
from ticlm.datasets.codedocs.archives import files
from ticlm.datasets.codedocs.docstrings import docstring_pages
from ticlm.datasets.codedocs.rst import BrokenPage, DocPage, rst_page
from ticlm.datasets.codedocs.sphinx_html import html_page
from ticlm.datasets.text.charset import decoded

SUFFIXES = {"html": (".html", ".htm"), "source": (".rst", ".txt", ".py")}
CYTHON = (".pyx", ".pxd", ".pxi")
TEST = re.compile(r"test_.*|conftest")


class DocPages(Settings):
    """Which files of a release are read as pages.

    `form: html` reads HTML that Sphinx built. `form: source` reads sources: reStructuredText, and docstrings of Python
    files. A file is read if it matches one of `include` and none of `exclude`; these are globs that may begin at any
    folder, in which `*` crosses folders. A page shorter than `shortest_chars`, not counting newlines and double spaces,
    is left out.

    Docstrings of private modules (the name of the module or of a folder begins with `_`) and of tests (`tests/`,
    `test_….py`, `conftest.py`) are no documentation; `private` and `tests` read them all the same. A project
    that defines in private modules what it shows in public ones needs `private: true`.
    """

    form: Literal["html", "source"] = "source"
    """Whether pages are HTML that Sphinx built, or sources (reStructuredText, and docstrings of Python files)."""
    include: tuple[str, ...] = ("*.html", "*.htm", "*.rst", "doc/*.txt", "docs/*.txt", "*.py")
    """Globs of the files to read; they may begin at any folder, and `*` crosses folders."""
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
    """Globs of files to leave out, although `include` matches them."""
    shortest_chars: int = Field(25, ge=1)
    """Leave out pages of fewer characters, not counting newlines and double spaces."""
    private: bool = False
    """Read private modules and folders too, whose names begin with an underscore."""
    tests: bool = False
    """Read tests too: folders `tests`, files `test_*.py` and `conftest.py`."""

    def without_meaning(self) -> frozenset[str]:
        # sets were built with both before these settings came
        return frozenset(name for name in ("private", "tests") if getattr(self, name))

    @property
    def identity(self) -> DocPages:
        """The rules reduced to what determines the pages: HTML has no modules."""
        return self.model_copy(update={"private": True, "tests": True}) if self.form == "html" else self

    def of(self, tree: str, version: str, sha256: str = "") -> tuple[tuple[Step, ...], list[DocPage]]:
        """Read a release; return what was read and left out of its files and pages, and the pages kept, sorted by file.

        The name of a page is its path within the release, for docstrings followed by `#` and the dotted name. The pages
        do not depend on the order of the files. Raises InputError if the folder or archive cannot be read completely.
        """
        dropped: Counter[str] = Counter()
        by_path: dict[str, list[DocPage]] = {}
        read = 0
        for path, data in files(tree, partial(_refused, self), sha256):
            read += 1
            pages = data if isinstance(data, str) else _pages(path, data, version)
            if isinstance(pages, str):
                dropped[pages] += 1
            elif path in by_path:
                dropped["a name that another file has"] += 1
            else:
                by_path[path] = pages
        ordered = [page for path in sorted(by_path) for page in by_path[path]]
        kept, left = _worth_reading(ordered, self.shortest_chars)
        steps = (
            Step(name="files", read=read, dropped=dict(sorted(dropped.items()))),
            Step(name="pages", read=len(ordered), dropped=dict(sorted(left.items()))),
        )
        return steps, kept


def _refused(rules: DocPages, path: str) -> str:
    """Return the reason why a file with this path is not opened, or ""."""
    if rules.form == "source" and path.endswith(CYTHON):
        return "Cython, which is not parsed"
    if not path.endswith(SUFFIXES[rules.form]):
        return "of another format"
    whole = f"/{path}"
    if not any(fnmatchcase(whole, f"*/{glob}") for glob in rules.include):
        return "not in include"
    if any(fnmatchcase(whole, f"*/{glob}") for glob in rules.exclude):
        return "in exclude"
    return _undocumented(rules, path) if path.endswith(".py") else ""


def _undocumented(rules: DocPages, path: str) -> str:
    """Return the reason why the docstrings of a Python file are no documentation, or ""."""
    *folders, module = path.removesuffix(".py").split("/")
    if not rules.tests and ("tests" in folders or TEST.fullmatch(module)):
        return "a test"
    private = any(name.startswith("_") for name in folders) or (module.startswith("_") and module != "__init__")
    return "a private module" if private and not rules.private else ""


def _pages(path: str, data: bytes, version: str) -> list[DocPage] | str:
    """Return the pages in a file, or the reason why it has none."""
    try:
        if path.endswith(".py"):
            return docstring_pages(path, data) or "without docstrings"
        if path.endswith(SUFFIXES["html"]):
            return [html_page(path, decoded(data, None, html=True))]
        return [rst_page(path, decoded(data, None, html=False), version)]
    except BrokenPage as broken:
        return str(broken)


def _worth_reading(pages: Sequence[DocPage], shortest: int) -> tuple[list[DocPage], Mapping[str, int]]:
    """Return the pages without those that are almost empty or repeat another, and the counts of these by reason."""
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
    """Return False for a text with half a surrogate pair, which comes from escapes in docstrings or odd file names."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
