"""Reader of MediaWiki's XML dumps: each page as it stood at one or several moments."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, BinaryIO
from xml.etree.ElementTree import ParseError

from ticlm.core.errors import InputError
from ticlm.datasets.io.unpack import Damaged

NAMESPACE = "http://www.mediawiki.org/xml/export-"
VERSIONS = ("0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.10", "0.11")
"""Supported versions of the export schema; in older versions pages have no ids."""
HIDDEN = (6, 14)
"""Ids of the namespaces whose links show no text: files and categories."""
BROKEN = "broken XML"
NAMESPACED = "another namespace"
REDIRECT = "redirect"
DELETED = "deleted text"
EMPTY = "without text"
MODEL = "not wikitext"
# each language has a word of its own (#WEITERLEITUNG [[…]]), so any word before a link will do
_REDIRECT = re.compile(r"\s*#\s*(?:redirect\b|\w+\s*:?\s*\[\[)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Revision:
    """The text of a page at the moments with these numbers; `why` is the reason if it is not an article, else ""."""

    page: int
    title: str
    revision: int
    moments: tuple[int, ...]
    text: str = ""
    why: str = ""


@dataclass
class Wiki:
    """Facts about a wiki that its dump gives."""

    hidden: tuple[str, ...] = ()
    """Names, in lower case, of the namespaces whose links show no text."""
    base: str = ""
    """The address of the main page."""
    name: str = ""
    """The name of its database, such as enwiki; "" if the dump does not give it."""
    broken: str = ""
    """The error if the XML is broken, which means that the rest of the file is lost; else ""."""


def end_of(day: date) -> float:
    """Return the end of a day (UTC) in seconds since 1970."""
    return (datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)).timestamp()


def revisions(
    stream: BinaryIO, path: str, namespaces: Sequence[int], moments: Sequence[float] | None, about: Wiki
) -> Iterator[Revision]:
    """Yield the newest revision of each page, in the order of the dump.

    For a history, yield the newest revision before each of `moments` (seconds since 1970), once for all moments to
    which it applies; a page that did not exist yet has none. If the XML or its packing is broken, the pages end there,
    and `about.broken` holds the error. Raises InputError for files that are no dump and for unknown versions of the
    schema. Only the texts of one page, at most one per moment, are in memory.
    """
    from mwxml import Dump
    from mwxml.element_iterator import ElementIterator
    from mwxml.errors import MalformedXML

    try:
        root = ElementIterator.from_file(stream)
        _check(root.element, path)
        dump = Dump.from_element(root)
        names = dump.site_info.namespaces or ()
        about.hidden = tuple(
            sorted({"file", "image", "category"} | {name.name.lower() for name in names if name.id in HIDDEN})
        )
        about.base, about.name = dump.site_info.base or "", dump.site_info.dbname or ""
        for page in pages(root, dump):
            yield from _of_page(page, namespaces, moments)
    except (ParseError, MalformedXML, Damaged, ValueError, TypeError) as error:
        if not about.hidden:
            raise InputError(f"{path} is no dump of a MediaWiki: {_line(error)}") from None
        about.broken = _line(error)


def pages(root: Any, dump: Any) -> Iterator[Any]:
    """Yield the pages of mwxml's `dump`, and clear its element `root` after each page."""
    for page in dump.pages:
        yield page
        root.element.clear()  # otherwise it keeps an empty element for every page


def _check(root: Any, path: str) -> None:
    space, _, tag = root.tag.rpartition("}")
    version = space.removeprefix("{" + NAMESPACE).rstrip("/")
    if tag != "mediawiki":
        raise InputError(f"{path} is no dump of a MediaWiki: its XML begins with <{tag}>")
    if version not in VERSIONS:
        raise InputError(
            f"{path} has version {version!r} of MediaWiki's export schema; known are {', '.join(VERSIONS)}"
        )


def _of_page(page: Any, namespaces: Sequence[int], moments: Sequence[float] | None) -> Iterator[Revision]:
    foreign = page.namespace not in namespaces
    redirect = moments is None and page.redirect is not None  # in a history it describes only the last revision
    grouped: dict[int, tuple[str, str, list[int]]] = {}
    for number, newest in enumerate(_newest(page, (float("inf"),) if moments is None else moments, not foreign)):
        if newest is not None:
            grouped.setdefault(newest[1], (*newest[2:], []))[2].append(number)
    for identity, (text, why, numbers) in grouped.items():
        if foreign:
            text, why = "", NAMESPACED
        elif not why and (redirect or _REDIRECT.match(text)):
            text, why = "", REDIRECT
        yield Revision(page.id, page.title, identity, tuple(numbers), text, why)


def _newest(page: Any, moments: Sequence[float], texts: bool) -> list[tuple[float, int, str, str] | None]:
    """Return (time, id, text, why it is no article) of the newest revision before each moment, or None."""
    from mwxml.errors import MalformedXML

    newest: list[tuple[float, int, str, str] | None] = [None] * len(moments)
    for revision in page:
        if revision.timestamp is None or page.id is None or page.title is None:
            raise MalformedXML("a revision without time, or a page without id or title")
        at, identity = float(revision.timestamp.unix()), int(revision.id or 0)
        better = [n for n, (moment, best) in enumerate(zip(moments, newest)) if at < moment and not _after(best, at)]
        if better:
            entry = (at, identity, *(_text(revision) if texts else ("", "")))
            for number in better:
                newest[number] = entry
    return newest


def _after(best: tuple[float, int, str, str] | None, at: float) -> bool:
    """Return whether the best revision so far is newer; of revisions in the same second the last one counts."""
    return best is not None and best[0] > at


def _text(revision: Any) -> tuple[str, str]:
    """Return the text of a revision and "", or "" and the reason why it is no article."""
    if revision.deleted.text:
        return "", DELETED
    if revision.model not in (None, "wikitext"):
        return "", MODEL
    text = revision.text or ""
    return (text, "") if text.strip() else ("", EMPTY)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
