"""Crawls: the pages of web archives (WARC, or the texts in WET) as documents."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from pydantic import model_validator

from ticlm.core.errors import InputError
from ticlm.core.extras import Extra
from ticlm.core.periods import Calendar
from ticlm.core.remote.credentials import address, without_credentials
from ticlm.core.settings import Settings
from ticlm.datasets.io import fetching, listing
from ticlm.datasets.io.documents import Bad, Document, Documents, Input, Piece, Skipped
from ticlm.datasets.web.hosts import NEWS, WIKI, HostSet, host_of
from ticlm.datasets.web.warc import PageRules, PageText, pages

SUFFIXES = (".warc", ".warc.gz", ".warc.zst", ".wet", ".wet.gz", ".wet.zst")
_SUFFIX = re.compile(r"(\.warc)?(\.wet|\.wat)?(\.gz|\.zst)?$")
_CRAWLED = re.compile(r"CC-MAIN-(\d{14})")


class CrawlDocuments(Documents):
    """Pages of web archives: the files at `paths` (files, globs, folders), and the files that `lists` name, one per
    line, relative to `base`.

    `dated: file` is TiC-CC's rule: the time after `CC-MAIN-` in the name of a file, when its crawl began, is that of
    all its pages. `record` takes the WARC-Date of each page. With `together: file` the pages of one file are held out
    together, and the pages of a WARC and of its WET in the same way; with `url` each page is held out by itself. The
    source of a page is the first of `subsets` that has its host.
    """

    kind: Literal["crawl"] = "crawl"
    paths: listing.Patterns = ()
    """WARC or WET files, globs or folders, local or remote."""
    lists: listing.Patterns = ()
    """Files that name archives, one per line, relative to `base`."""
    base: str = "https://data.commoncrawl.org/"
    """Where the archives lie that `lists` name."""
    dated: Literal["file", "record"] = "file"
    """Whether a page has the time at which its file's crawl began (TiC-CC's rule), or its own WARC-Date."""
    together: Literal["file", "url"] = "file"
    """Whether the pages of one file are held out together, or each page by itself."""
    subsets: tuple[HostSet, ...] = (WIKI, NEWS)
    """Sets of hosts; the source of a page is the first of them that has its host."""
    pages: PageRules = PageRules()
    """Which records are pages."""

    @model_validator(mode="after")
    def _something_to_read(self) -> CrawlDocuments:
        if not self.paths and not self.lists:
            raise ValueError("give paths (archives) or lists (files that name archives)")
        names = [subset.name for subset in self.subsets]
        if len(set(names)) < len(names):
            raise ValueError(f"subsets have names of their own, got {', '.join(names)}")
        return self

    def extras(self) -> tuple[Extra, ...]:
        return (Extra("web", ("fastwarc", "resiliparse")),)

    @property
    def dating(self) -> str:
        return "the time of the crawl, in the header of each record; a page may be older, and no later"

    @property
    def identity(self) -> Settings:
        """Return the settings that determine the bytes of a corpus, without the paths of files."""
        return CrawlIdentity(dated=self.dated, together=self.together, subsets=self.subsets, pages=self.pages)

    def inputs(self, calendar: Calendar) -> list[Input]:
        """Return every file once, ordered by path; with `dated: file` only those whose time is in the calendar.

        Archives on a list are not looked up: their size is 0. Raises InputError for a path or list without an archive.
        """
        return [entry for entry in self._all() if self._within(entry, calendar)]

    def count_outside(self, calendar: Calendar) -> int:
        """Return how many files `inputs` leaves out because their time is outside the calendar."""
        return sum(not self._within(entry, calendar) for entry in self._all())

    def read(self, piece: Piece) -> Iterator[Document | Bad | Skipped]:
        """Yield one outcome for each record, in order. Raises Unreachable if an archive cannot be read to its end."""
        path = piece.input.path
        crawled = _crawled(path) if self.dated == "file" else None
        group = _stem(path) if self.together == "file" else ""
        try:
            with fetching.opened(path) as stream:
                for outcome in pages(stream, self.pages):
                    yield self._outcome(outcome, path, crawled, group)
        except fetching.Unreachable:
            raise
        except OSError as error:
            raise fetching.Unreachable(f"{path} cannot be read: {error.strerror or error}") from None

    def _outcome(
        self, outcome: PageText | Bad | Skipped, path: str, crawled: datetime | None, group: str
    ) -> Document | Bad | Skipped:
        if isinstance(outcome, Skipped):
            return outcome if crawled is None else replace(outcome, timestamp=crawled)
        where = f"{path}: {outcome.where}"
        if isinstance(outcome, Bad):
            return Bad(outcome.reason, where, crawled or outcome.timestamp, outcome.lost)
        when = crawled or outcome.when
        if when is None:
            return Bad("unreadable date", where)
        return Document(
            text=outcome.text, id=outcome.url, timestamp=when, source=self._source(outcome.url), group=group
        )

    def _source(self, url: str) -> str:
        host = host_of(url)
        return next((subset.name for subset in self.subsets if host in subset), "")

    def _all(self) -> list[Input]:
        together = self.together == "file"
        found = {entry.path: entry for entry in listing.files(self.paths, SUFFIXES)}
        for listed in self.lists:
            for path in self._named(listed):
                found.setdefault(path, listing.ListedFile(path, 0, ""))
        return [
            Input(path=path, size=size, stamp=stamp, group=_stem(path) if together else "")
            for path, size, stamp in sorted(found.values())
        ]

    def _named(self, listed: str) -> list[str]:
        try:
            lines = fetching.listed(listed)
        except OSError as error:
            raise InputError(f"documents.lists: {listed} cannot be read: {error.strerror or error}") from None
        if not lines:
            raise InputError(f"documents.lists: {listed} is empty; expected one path a line")
        for line in lines:
            if not without_credentials(line).endswith(SUFFIXES):
                raise InputError(
                    f"documents.lists: {listed} names {line!r}, no known format; these are {', '.join(SUFFIXES)}"
                )
        return [address(line if "://" in line else posixpath.join(self.base, line.lstrip("/"))) for line in lines]

    def _within(self, entry: Input, calendar: Calendar) -> bool:
        return self.dated == "record" or calendar.place(_crawled(entry.path)) is not None


class CrawlIdentity(Settings):
    """The settings that determine the bytes of a corpus made of web archives."""

    dated: str
    together: str
    subsets: tuple[HostSet, ...]
    pages: PageRules


def _crawled(path: str) -> datetime:
    """Return the time in the name of an archive, when its crawl began. Raises InputError if the name has none."""
    name = posixpath.basename(path)
    if found := _CRAWLED.search(name):
        try:
            return datetime.strptime(found[1], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
        except ValueError:
            pass
    raise InputError(
        f"{path}: the name of an archive has a time such as CC-MAIN-20240518015810, got {name!r}; "
        "set documents.dated to record, so that each page's WARC-Date counts"
    )


def _stem(path: str) -> str:
    """Return the name of an archive without its suffixes: the same for a WARC and its WET, in any folder."""
    return _SUFFIX.sub("", posixpath.basename(path))
