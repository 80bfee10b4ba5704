"""Readers of articles that are plain text: WikiExtractor's JSON lines, and the encyclopedia of a synthetic world.

Each page has its paragraphs as lines, and no markup.
"""

from __future__ import annotations

import html
from collections.abc import Iterator
from datetime import date
from typing import Any, BinaryIO

from ticlm.core.errors import InputError
from ticlm.datasets.io.records import LINE_BYTES, TOO_LONG, BadRecord, parsed
from ticlm.datasets.io.unpack import Damaged, unpacked
from ticlm.datasets.synthetic.encyclopedia import Encyclopedia, EncyclopediaStyle
from ticlm.datasets.synthetic.fact_wiki.wiki import FactWiki
from ticlm.datasets.synthetic.world import SyntheticWorld
from ticlm.datasets.wiki.mediawiki import Revision, Wiki

FIELDS = ("id", "title", "text")
EMPTY_OR_REDIRECT = "redirect or empty page"
"""WikiExtractor writes both without text."""
UNREADABLE = "unreadable text"
NOT_A_PAGE = "line without id, title and text"
WORLD_BASE = "https://encyclopedia.example/wiki/"


def extracted(path: str, about: Wiki) -> Iterator[Revision]:
    """Yield the pages of a file that WikiExtractor wrote with `--json`.

    Entities such as `&lt;` are decoded, and a first line that repeats the title is left out. If the packing is broken,
    the pages end there and `about.broken` holds the error. Raises InputError if the first line is no page.
    """
    first = True
    try:
        for _, stream in unpacked(path):
            for line in _lines(stream):
                page = _page(line, about)
                if first and isinstance(page, str):
                    raise InputError(f"{path} is no output of WikiExtractor with --json: its first line is a {page}")
                first = False
                yield Revision(0, "", 0, (0,), why=page) if isinstance(page, str) else page
    except Damaged as error:
        if first:
            raise
        about.broken = str(error)


def of_world(world: SyntheticWorld | FactWiki, style: EncyclopediaStyle, day: date, about: Wiki) -> Iterator[Revision]:
    """Yield the articles of a world's encyclopedia, or of a fact wiki, on a day."""
    about.base = WORLD_BASE
    if isinstance(world, FactWiki):
        for number, title, text in world.pages(day):
            yield Revision(number, title, 0, (0,), text)
        return
    for article in Encyclopedia(world, style).articles(day):
        yield Revision(article.id, article.title, 0, (0,), article.text)


def _lines(stream: BinaryIO) -> Iterator[bytes | None]:
    """Yield each line that is not blank, None for one that is too long."""
    while line := stream.readline(LINE_BYTES):
        if line.endswith(b"\n") or len(line) < LINE_BYTES:
            if line.strip():
                yield line
            continue
        while line and not line.endswith(b"\n"):
            line = stream.readline(LINE_BYTES)
        yield None


def _page(line: bytes | None, about: Wiki) -> Revision | str:
    """Return the page of a line, or why there is none."""
    if line is None:
        return TOO_LONG
    record: Any = parsed(line)
    if isinstance(record, BadRecord):
        return record.reason
    number, title, text = (record.get(name) for name in FIELDS)
    if not (str(number).isdecimal() and isinstance(title, str) and isinstance(text, str)):
        return NOT_A_PAGE
    try:
        line.decode()
        f"{title}{text}".encode()
    except UnicodeError:  # half of a surrogate pair, as "\ud83d" in JSON
        return UNREADABLE
    about.base = about.base or _base(record.get("url"))
    title = html.unescape(title)
    lines = [line for line in map(str.strip, html.unescape(text).split("\n")) if line]
    if lines and lines[0] == title:
        del lines[0]
    if not lines or (len(lines) == 1 and lines[0].upper().startswith("#REDIRECT")):
        return Revision(int(number), title, 0, (0,), why=EMPTY_OR_REDIRECT)
    return Revision(int(number), title, 0, (0,), "\n".join(lines))


def _base(url: object) -> str:
    """Return the address of the wiki's pages, given the address of one page (`https://…/wiki?curid=12`)."""
    return f"{url.partition('?')[0].rstrip('/')}/" if isinstance(url, str) and "://" in url else ""
