"""Pages of web archives: each record is a page with its text, a broken one, or was never meant to be a page."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import date, datetime, timedelta
from functools import cache
from typing import BinaryIO, NamedTuple

from pydantic import Field

from ticlm.core.settings import Settings
from ticlm.datasets.io.apart import reached
from ticlm.datasets.io.dates import moment
from ticlm.datasets.io.documents import Bad, Skipped
from ticlm.datasets.text.charset import decoded
from ticlm.datasets.web.page_cost import most_depth, tag_count, too_costly
from ticlm.datasets.web.response import BrokenResponse, Response, TooLarge, content, response
from ticlm.datasets.web.warc_records import DamagedRecord, WarcRecord, records

HTML = ("text/html", "application/xhtml+xml", "application/vnd.wap.xhtml+xml")
TEXT = "text/plain"
UNSAID = ("", "application/octet-stream", "unk", "unknown/unknown", "application/unknown")
OTHER_TYPES = ("warcinfo", "request", "metadata", "revisit", "continuation")
OF_ARCHIVE = ("metadata:", "urn:x-wget:")
"""Schemes of what a crawler writes about itself as resources: the log and the arguments of wget."""
METADATA = "about the archive itself"
WITHOUT_TEXT = "without text"
OTHER_MIME = "not HTML or text"
NO_PAGE = "cannot be extracted"
COSTLY = "too costly to parse"
HEADER_CHARS = 1000  # of a header field that are looked at


class PageText(NamedTuple):
    """The text of a record. `when` is its WARC-Date in UTC, or None if that is missing or absurd."""

    url: str
    when: datetime | None
    text: str
    where: str


class PageRules(Settings):
    """Rules that say which records are pages.

    `max_bytes` bounds a record and its unpacked body. `max_depth` bounds the nesting of elements (Chromium's limit), as
    the time to find the main content grows with its square. `years` are the first and last year that a record may
    have. `any_status` also accepts pages that came with an error or a redirect.
    """

    max_bytes: int = Field(16 << 20, gt=0)
    """Largest size of a record, and of its unpacked body, in bytes."""
    max_depth: int = Field(512, gt=0)
    """Deepest nesting of elements of a page."""
    any_status: bool = False
    """Whether pages count that came with an error or a redirect."""
    main_content: bool = True
    """Whether only the main content of a page is taken, without its navigation."""
    years: tuple[int, int] = (1990, 2099)
    """First and last year that a record may have."""


def pages(stream: BinaryIO, rules: PageRules) -> Iterator[PageText | Bad | Skipped]:
    """Yield one outcome for each record of a WARC, WAT or WET file, in order. Errors of the stream pass through.

    The text of responses and resources is extracted by Resiliparse (with `main_content`, as in DCLM and TiC-LM). Plain
    text and the conversions of WET files are taken as they are.
    """
    for record in records(stream, rules.max_bytes):
        if isinstance(record, DamagedRecord):
            yield Bad(record.reason, record.where, lost=record.lost)
            continue
        reached(record.where)
        when = _when(record.header.get("warc-date", ""), rules.years)
        try:
            yield _page(record, when, rules)
        except _NoPage as reason:
            yield Skipped(str(reason), when)
        except TooLarge:
            yield Skipped(_too_large(rules), when)
        except BrokenResponse as reason:
            yield Bad(str(reason), record.where, when)


class _NoPage(Exception):
    """The record was never meant to be a page; the message is the reason."""


def _page(record: WarcRecord, when: datetime | None, rules: PageRules) -> PageText | Bad:
    kind = record.header.get("warc-type", "").lower()
    if kind not in ("response", "resource", "conversion"):
        raise _NoPage(f"record of type {kind}" if kind in OTHER_TYPES else "record of unknown type")
    url = record.header.get("warc-target-uri", "").removeprefix("<").removesuffix(">").strip()
    if url.lower().startswith(OF_ARCHIVE):
        raise _NoPage(METADATA)
    if record.block is None:
        raise TooLarge
    text = _response_text(record.header, record.block, rules) if kind == "response" else _block_text(record, rules)
    if isinstance(text, Bad):
        return Bad(text.reason, record.where, when)
    if not text.strip():
        raise _NoPage(WITHOUT_TEXT)
    return PageText(url, when, text, record.where) if url else Bad("without URL", record.where, when)


def _response_text(header: Mapping[str, str], block: bytes, rules: PageRules) -> str | Bad:
    said = _mime(header.get("content-type", ""))
    if said not in ("", "application/http"):
        raise _NoPage(OTHER_MIME)  # an answer of a name server, say
    found = response(block)
    if not rules.any_status and not 200 <= found.status < 300:
        raise _NoPage(f"HTTP status {found.status}")
    mime = _mime(found.header.get("content-type", ""))
    if mime in UNSAID:
        mime = _mime(header.get("warc-identified-payload-type", ""))
    if mime not in (*HTML, TEXT, *UNSAID):
        raise _NoPage(OTHER_MIME)
    body = content(found, rules.max_bytes)
    if mime in UNSAID:
        mime = _looks_like(body)
    return _text(body, mime, _charset(found), rules)


def _block_text(record: WarcRecord, rules: PageRules) -> str | Bad:
    said = record.header.get("content-type", "")
    declared = _parameter(said)
    if record.header.get("warc-type") == "conversion":
        declared = declared or "utf-8"
    return _text(record.block or b"", _mime(said), declared, rules)


def _text(body: bytes, mime: str, declared: str | None, rules: PageRules) -> str | Bad:
    if mime == TEXT:
        return decoded(body, declared, html=False)
    if mime not in HTML:
        raise _NoPage(OTHER_MIME)
    html = decoded(body, declared, html=True)
    if len(html) > rules.max_bytes:
        raise TooLarge
    return _extracted(html, rules)


def _extracted(html: str, rules: PageRules) -> str | Bad:
    from resiliparse.extract.html2text import extract_plain_text
    from resiliparse.parse.html import HTMLTree

    tags = tag_count(html)
    if too_costly(html, tags):
        return Bad(COSTLY, "")
    try:
        tree = HTMLTree.parse(html)
        document, depth = tree.document, most_depth(tags, rules.max_depth)
        if document is not None and document.query_selector(_deeper_than(depth)) is not None:
            if depth < rules.max_depth:
                return Bad(COSTLY, "")
            raise _NoPage(f"nested deeper than {rules.max_depth} elements")
        text: str = extract_plain_text(tree, main_content=rules.main_content)
        return text.replace("\0", "").encode("utf-8", "replace").decode()
    except (_NoPage, KeyboardInterrupt, SystemExit, GeneratorExit):
        raise
    except MemoryError:
        return Bad(COSTLY, "")
    except BaseException:  # a panic of native code is no Exception
        return Bad(NO_PAGE, "")


@cache
def _deeper_than(depth: int) -> str:
    """Return a CSS selector of the elements that are inside `depth` others."""
    return ">".join(["*"] * (depth + 1))


def _looks_like(body: bytes) -> str:
    """Return text/html for a body that begins as HTML does, behind a byte-order mark and white space; else ""."""
    head = body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    return HTML[0] if head.startswith((b"<!doctype html", b"<html", b"<head", b"<body", b"<?xml")) else ""


def _charset(found: Response) -> str | None:
    return _parameter(found.header.get("content-type", ""))


def _parameter(content_type: str) -> str | None:
    charset = re.search(r"charset\s*=\s*[\"']?\s*([^\s\"';,]+)", content_type[:HEADER_CHARS], re.IGNORECASE)
    return charset[1] if charset else None


def _mime(content_type: str) -> str:
    return re.split(r"[;,]", content_type[:HEADER_CHARS], maxsplit=1)[0].strip().lower()


def _when(written: str, years: tuple[int, int]) -> datetime | None:
    try:
        when = moment(_DAY_OF_YEAR.sub(_as_day_of_month, written, count=1))
    except ValueError:
        return None
    return when if years[0] <= when.year <= years[1] else None


_DAY_OF_YEAR = re.compile(r"^(\d{4})-(\d{2})-(\d{2,3})(?=T)")


def _as_day_of_month(found: re.Match[str]) -> str:
    """Return the date of `2009-03-65`, as ClueWeb09 writes the 65th day of 2009, which is in March, and any other date
    as it is."""
    year, month, day = map(int, found.groups())
    if day <= 31 or year < 1:
        return found[0]
    meant = date(year, 1, 1) + timedelta(days=day - 1)
    return meant.isoformat() if (meant.year, meant.month) == (year, month) else found[0]


def _too_large(rules: PageRules) -> str:
    return f"larger than {rules.max_bytes} bytes"
