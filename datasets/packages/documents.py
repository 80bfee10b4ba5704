"""Documentation and changelogs of packages as dated documents: of each release, what no earlier one had."""

from __future__ import annotations

import hashlib
import json
import os
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from ticlm.core import paths
from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.extras import Extra
from ticlm.core.periods import Calendar, Timeline
from ticlm.core.settings import Settings
from ticlm.core.signals import Threads
from ticlm.core.store import Store
from ticlm.datasets.codedocs.docstrings import docstring_pages
from ticlm.datasets.codedocs.doctree import DocBlock
from ticlm.datasets.codedocs.releases import Index
from ticlm.datasets.codedocs.rst import BrokenPage, rst_blocks
from ticlm.datasets.io.documents import Bad, Document, Documents, Input, Piece
from ticlm.datasets.io.fetching import Unreachable
from ticlm.datasets.packages import licences
from ticlm.datasets.packages.markdown import markdown_blocks
from ticlm.datasets.packages.new_text import KnownText
from ticlm.datasets.packages.releases import ReleaseChain, ReleaseFile, chain
from ticlm.datasets.packages.sdists import SdistPages, sdist_pages
from ticlm.datasets.text.charset import decoded

ASKED_AT_ONCE = 8
FOLDER = "packages"
UNKNOWN = "unknown"
LONGEST_TITLE = 200
SHORTEST_DOCSTRING = 8
"""Words of a paragraph of a docstring."""
_FENCED = re.compile(r"(^ *```.*?^ *```[^\n]*$)", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(
    rb'"{3}.*?"{3}|\'{3}.*?\'{3}'  # or alone on the rest of a line, between two quotation marks
    rb'|(?:^|:)[ \t]*[rRuU]?(?:"(?:[^"\\\n]|\\.)+"|\'(?:[^\'\\\n]|\\.)+\')[ \t]*(?:#[^\n]*)?\r?$',
    re.DOTALL | re.MULTILINE,
)
_ITEM = re.compile(r"- |\d+\. ")


def _canonical(names: tuple[str, ...]) -> tuple[str, ...]:
    from packaging.utils import canonicalize_name

    canonical = [str(canonicalize_name(name)) for name in names]
    if twice := [name for name, count in Counter(canonical).items() if count > 1]:
        raise ValueError(f"each package once, got {', '.join(twice)} more than once")
    return tuple(canonical)


class PackageDocuments(Documents):
    """Documentation and changelogs of packages, by release, from the source distributions of a package index.

    Of each period the last release is read, from version to version upwards. Its date is the upload of the file. A
    document is a page of a release. Of the first release in the calendar it has the whole text, of later ones what no
    earlier release of the package had, below its titles.
    """

    kind: Literal["packages"] = "packages"
    packages: Annotated[tuple[str, ...], AfterValidator(_canonical)] = Field(min_length=1)
    """Names of the packages."""
    text: Literal["new", "pages", "all"] = "new"
    """What of a release is read: the `new` paragraphs of each page, whole `pages` with new paragraphs, or `all` pages,
    changed or not."""
    least_new: float = Field(0.5, gt=0, le=1)
    """Share of a paragraph's sequences of five words that no earlier release had, from which on it is new."""
    shortest_words: int = Field(20, ge=1)
    """Leave out pages of a release with fewer new words, not counting code."""
    include: tuple[str, ...] = (
        *("doc/*", "docs/*", "documentation/*", "changelog*", "CHANGELOG*", "CHANGES*", "Changes*", "HISTORY*"),
        *("History*", "NEWS*", "README*", "RELEASE*", "release*notes*", "whats*new*"),
    )
    """Globs of the files to read: `.rst`, `.md`, `.mdx`, `.txt`, no ending, and `.py` for docstrings. They may begin at
    any folder, and `*` crosses folders."""
    exclude: tuple[str, ...] = (
        *("test/*", "tests/*", "testing/*", "test_*.py", "conftest.py", "conf.py", "setup.py", "_static/*"),
        *("_templates/*", "locale/*", "locales/*", "i18n/*", "translations/*", "de/*", "es/*", "fr/*", "ja/*", "ko/*"),
        *("pt*/*", "ru/*", "zh*/*", "vendor/*", "_vendor/*", "vendored/*", "third_party/*", "node_modules/*"),
        *("*.egg-info/*", "*LICEN[CS]E*", "*AUTHORS*", "*CODE_OF_CONDUCT*", "*requirements*.txt", "CMakeLists.txt"),
        *("objects.txt", "Makefile"),
    )
    """Globs of files to leave out, although `include` matches them."""
    licences: Literal["permissive", "any"] = "permissive"
    """Whether releases whose metadata state no permissive licence are left out, and counted, or read too."""
    prereleases: bool = False
    """Whether to read pre-releases too."""
    index: str = Field("", exclude=True)  # it may contain a password, so it is never written
    """URL of the package index; by default the one that pip is configured with. It is never written down."""
    cache: str = ""
    """Folder in which downloads are kept; by default `ticlm/packages` in the user's folder of caches."""

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("codedocs", ("docutils", "lxml", "packaging")),)

    @property
    def dating(self) -> str:
        return "the day on which the index says that the file of a release was uploaded"

    @property
    def identity(self) -> Settings:
        # packages are inputs: one more changes no document of the others
        return self.model_copy(update={"packages": ("any",), "index": "", "cache": ""})

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return an input per package; its stamp lists the releases to read, with their hashes.

        Raises InputError if the index does not have a package, has no sources of it, or states no dates.
        """
        return [
            Input(
                path=f"{FOLDER}/{package}",
                size=sum(release.bytes for release in found.releases),
                stamp=found.model_dump_json(),
            )
            for package, found in self._chains(calendar)
        ]

    def read(self, piece: Piece) -> Iterator[Document | Bad | Step]:
        """Yield the documents of a package, from release to release."""
        package = piece.input.path.rpartition("/")[2]
        found = ReleaseChain.model_validate_json(piece.input.stamp)
        reading = _PackageReading(self, package)
        dropped = Counter(found.left)
        for release in found.releases:
            try:
                sdist = sdist_pages(release, self._cache, self.index, self.include, self.exclude)
            except InputError as error:
                yield Bad("a damaged archive", f"{package} {release.version}: {error}", release.when)
                continue
            if self.licences == "permissive" and not licences.is_permissive(sdist.licence):
                dropped[f"under another licence: {sdist.licence}" if sdist.licence else "without a known licence"] += 1
                continue
            yield from reading.documents(release, sdist)
        read = len(found.releases) + sum(found.left.values())
        yield Step(name="releases", read=read, dropped=dict(sorted(dropped.items())))
        yield from reading.steps()

    def beside(self, store: Store, timeline: Timeline) -> None:
        """Write `packages.json`: of each package the licence of its last release, `unknown` if its file cannot be read,
        and the files with their hashes, as the records of the builds name them."""
        builds = sorted(store.files(paths.BUILDS))
        records = [json.loads(store.read(f"{paths.BUILDS}/{name}")) for name in builds]
        stamps = {entry["path"]: entry["stamp"] for record in records for entry in record["inputs"]}
        ends = timeline.periods[-1].end
        listed = {}
        for path, stamp in sorted(stamps.items()):
            releases = [one for one in ReleaseChain.model_validate_json(stamp).releases if one.when.date() < ends]
            if releases:
                try:
                    licence = sdist_pages(releases[-1], self._cache, self.index, (), ()).licence
                except (InputError, Unreachable):  # all periods stand by now, so nothing would ever write the list
                    licence = UNKNOWN
                files = [release.model_dump(mode="json") for release in releases]
                listed[path.removeprefix(f"{FOLDER}/")] = {"licence": licence, "releases": files}
        store.write("packages.json", json.dumps(listed, indent=1).encode())

    @property
    def _cache(self) -> str:
        default = os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "ticlm", FOLDER)
        return os.path.expanduser(self.cache or default)

    def _chains(self, calendar: Calendar) -> Iterator[tuple[str, ReleaseChain]]:
        def period_of(when: datetime) -> str | None:
            period = calendar.place(when)
            return None if period is None else period.label

        with Threads(ASKED_AT_ONCE) as pool:
            for index in pool.map(lambda package: Index(self.index, package), self.packages):
                sdists = index.sdists()
                if not sdists:
                    raise InputError(f"{index.project}: {index.url} has no sources of it, only what is built")
                if all(sdist.when is None for _, sdist in sdists):
                    raise InputError(f"{index.project}: {index.url} does not say when files were uploaded (PEP 700)")
                yield index.project, chain(sdists, period_of, self.prereleases)


class _PackageReading:
    """The state of reading a package: what its earlier releases had, and counts of files, pages and paragraphs."""

    def __init__(self, rules: PackageDocuments, package: str) -> None:
        self.rules, self.package = rules, package
        self._known = KnownText()
        self._contents: set[bytes] = set()
        self._files, self._pages, self._paragraphs = (Step(name=name) for name in ("files", "pages", "paragraphs"))

    def documents(self, release: ReleaseFile, sdist: SdistPages) -> Iterator[Document]:
        """Yield the documents of the next release."""
        left: Counter[str] = Counter()
        kept = 0
        for path, data in sdist.pages.items():
            if self._is_known(path, data) and self.rules.text != "all":
                left["as a page before it"] += 1
                continue
            try:
                blocks = page_blocks(path, data, release.version)
            except BrokenPage as broken:
                left[str(broken)] += 1
                continue
            shown = self._shown(blocks)
            if sum(len(block.text.split()) for block in shown if not block.code) < self.rules.shortest_words:
                left["too little new text"] += 1
                continue
            kept += 1
            yield self._document(release, sdist.licence, path, shown)
        self._files = _added(self._files, sdist.read, sdist.left)
        self._pages = _added(self._pages, kept + sum(left.values()), left)

    def _is_known(self, path: str, data: bytes) -> bool:
        """Return whether a page before, of this release or an earlier one, had the same bytes: of a Python file, the
        strings that may be docstrings, as code changes with every release, and to parse it is most of the work."""
        parts = [found[0] for found in _QUOTED.finditer(data)] if path.endswith(".py") else []
        hashes = {hashlib.blake2b(part, digest_size=16).digest() for part in parts or [data]}
        known = hashes <= self._contents
        self._contents |= hashes
        return known

    def _shown(self, blocks: Sequence[DocBlock]) -> Sequence[DocBlock]:
        """Return the paragraphs of a page that its document has. Code comes with the paragraph before it."""
        new: list[DocBlock] = []
        goes_on = False
        for block in blocks:
            goes_on = self._known.learn(block.text) >= self.rules.least_new and (goes_on or not block.code)
            new += [block] if goes_on else []
        chosen = new if self.rules.text == "new" else blocks if new or self.rules.text == "all" else ()
        self._paragraphs = _added(self._paragraphs, len(blocks), {"not new": len(blocks) - len(chosen)})
        return chosen

    def _document(self, release: ReleaseFile, licence: str, path: str, blocks: Sequence[DocBlock]) -> Document:
        where = f"{self.package}/{path}"
        return Document(
            text=f"{self.package} {release.version}{''.join(_parts(blocks))}",
            id=where,
            timestamp=release.when,
            source=self.package,
            extra={"package": self.package, "version": release.version, "licence": licence},
            group=f"{where} {release.version}",  # new text is in no other release, so each may be held out by itself
        )

    def steps(self) -> Iterator[Step]:
        yield from (self._files, self._pages, self._paragraphs)


def _parts(blocks: Sequence[DocBlock]) -> Iterator[str]:
    """Yield the paragraphs behind empty lines, before each the titles that were not given for the one before. Items of
    a list follow one another without an empty line."""
    above: tuple[str, ...] = ()
    item = False
    for titles, text, _ in blocks:
        same = next((at for at, (one, other) in enumerate(zip(titles, above)) if one != other), len(above))
        for level, title in enumerate(titles[same:], same + 1):
            yield f"\n\n{'#' * level} {title}"
        was, item, above = item and not titles[same:], _ITEM.match(text) is not None, titles
        yield ("\n" if was and item else "\n\n") + text


def page_blocks(path: str, data: bytes, version: str) -> list[DocBlock]:
    """Return the paragraphs of a page, each below its titles. Raises BrokenPage if it cannot be parsed.

    A Python file is read for its docstrings, each below the dotted name of its object.
    """
    name = path.lower()
    if name.endswith(".py"):
        return [block for page in docstring_pages(path, data) for block in docstring_blocks(page.title, page.text)]
    source = decoded(data, None, html=False)
    return markdown_blocks(source) if name.endswith((".md", ".mdx")) else rst_blocks(path, source, version)


def docstring_blocks(name: str, text: str) -> Iterator[DocBlock]:
    """Yield the paragraphs of a docstring below its object's signature, or below its name if that is long. Short ones
    are left out: most repeat the name ("Deserializes the Model from a dictionary.")."""
    first, _, rest = text.partition("\n\n")
    signed = first == name or first.startswith((f"{name}(", f"class {name}"))
    title = first if signed and len(first) <= LONGEST_TITLE and "\n" not in first else name
    for part in _FENCED.split(rest if signed else text):
        code = part.lstrip().startswith("```")
        for block in (part,) if code else part.split("\n\n"):
            if code or len(block.split()) >= SHORTEST_DOCSTRING:
                text = textwrap.dedent(block.strip("\n"))
                yield DocBlock((title,), text, code or text.startswith(">>>"))


def _added(step: Step, read: int, left: Counter[str] | dict[str, int]) -> Step:
    more = Step(name=step.name, read=read, dropped={why: count for why, count in sorted(left.items()) if count})
    return Step.sum([[step], [more]])[0]
