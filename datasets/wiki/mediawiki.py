"""MediaWiki: the pages of an XML dump, each as it stood at one moment or at several."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, BinaryIO
from xml.etree.ElementTree import ParseError

from ticlm.datasets.io.unpack import Damaged
from ticlm.platform.core.errors import InputError

NAMESPACE = "http://www.mediawiki.org/xml/export-"
VERSIONS = ("0.3", "0.4", "0.5", "0.6", "0.7", "0.8", "0.9", "0.10", "0.11")
"""Of the export schema; pages of older ones have no ids of their own."""
HIDDEN = (6, 14)
"""Namespaces whose links show no text: files and categories."""
BROKEN = "broken XML"
NAMESPACED = "another namespace"
REDIRECT = "redirect"
DELETED = "deleted text"
EMPTY = "without text"
MODEL = "not wikitext"
_REDIRECT = re.compile(r"\s*#\s*(?:redirect\b|\w+\s*:?\s*\[\[)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Revision:
    """A page's text at the moments with these numbers; `why` says what it lacks to be an article."""

    page: int
    title: str
    revision: int
    moments: tuple[int, ...]
    text: str = ""
    why: str = ""


@dataclass
class Wiki:
    """What a dump says of itself: `hidden` are the names of namespaces whose links show nothing, in lower case;
    `broken` says where the XML was, and the rest of the file is lost."""

    hidden: tuple[str, ...] = ()
    base: str = ""
    """The address of its main page."""
    broken: str = ""


def end_of(day: date) -> float:
    """Seconds since 1970 at the end of a day, UTC."""
    return (datetime(day.year, day.month, day.day, tzinfo=UTC) + timedelta(days=1)).timestamp()


def revisions(
    stream: BinaryIO, path: str, namespaces: Sequence[int], moments: Sequence[float] | None, about: Wiki
) -> Iterator[Revision]:
    """Pages in the order of the dump: the newest revision of each, or, for a history, the newest before each of
    `moments` (seconds since 1970), once for all moments at which it stood; a page that did not exist yet has none.

    Where the XML or its packing breaks, the pages end and `about` says so. InputError for what is no dump, and for a
    version of the schema that is not known. Texts of one page, at most one a moment, are in memory.
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
            sorted({"file", "image", "category"} | {one.name.lower() for one in names if one.id in HIDDEN})
        )
        about.base = dump.site_info.base or ""
        for page in pages(root, dump):
            yield from _of_page(page, namespaces, moments)
    except (ParseError, MalformedXML, Damaged, ValueError, TypeError) as error:
        if not about.hidden:
            raise InputError(f"{path} is no dump of a MediaWiki: {_line(error)}") from None
        about.broken = _line(error)


def pages(root: Any, dump: Any) -> Iterator[Any]:
    """The pages of mwxml's `dump`, of whose element `root` no more than one is held."""
    for page in dump.pages:
        yield page
        root.element.clear()  # or it would keep an empty element of every page


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
    redirect = moments is None and page.redirect is not None  # of a history it tells of the last revision alone
    grouped: dict[int, tuple[str, str, list[int]]] = {}
    for number, one in enumerate(_newest(page, (float("inf"),) if moments is None else moments, not foreign)):
        if one is not None:
            grouped.setdefault(one[1], (*one[2:], []))[2].append(number)
    for identity, (text, why, numbers) in grouped.items():
        if foreign:
            text, why = "", NAMESPACED
        elif not why and (redirect or _REDIRECT.match(text)):
            text, why = "", REDIRECT
        yield Revision(page.id, page.title, identity, tuple(numbers), text, why)


def _newest(page: Any, moments: Sequence[float], texts: bool) -> list[tuple[float, int, str, str] | None]:
    """(time, id, text, what it lacks) of the newest revision before each moment, None where there was none."""
    from mwxml.errors import MalformedXML

    found: list[tuple[float, int, str, str] | None] = [None] * len(moments)
    for revision in page:
        if revision.timestamp is None or page.id is None or page.title is None:
            raise MalformedXML("a revision without time, or a page without id or title")
        at, identity = float(revision.timestamp.unix()), int(revision.id or 0)
        better = [n for n, (moment, best) in enumerate(zip(moments, found)) if at < moment and not _after(best, at)]
        if better:
            one = (at, identity, *(_text(revision) if texts else ("", "")))
            for number in better:
                found[number] = one
    return found


def _after(best: tuple[float, int, str, str] | None, at: float) -> bool:
    """Whether the best one so far is newer; of those at the same second the last one counts."""
    return best is not None and best[0] > at


def _text(revision: Any) -> tuple[str, str]:
    if revision.deleted.text:
        return "", DELETED
    if revision.model not in (None, "wikitext"):
        return "", MODEL
    text = revision.text or ""
    return (text, "") if text.strip() else ("", EMPTY)


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
