"""A wiki of our own: MediaWiki dumps, written by hand so that they can be wrong."""

from __future__ import annotations

import bz2
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from xml.sax.saxutils import escape

NAMESPACES = {0: "", 1: "Talk", 2: "User", 6: "Datei", 14: "Kategorie"}


@dataclass(frozen=True)
class Edit:
    """A revision of a page."""

    text: str
    id: int = 1
    at: str = "2016-04-01T00:00:00Z"
    model: str = "wikitext"
    deleted: bool = False

    def xml(self) -> str:
        text = (
            '<text deleted="deleted" />' if self.deleted else f'<text xml:space="preserve">{escape(self.text)}</text>'
        )
        return (
            f"<revision><id>{self.id}</id><timestamp>{self.at}</timestamp><contributor><ip>::1</ip></contributor>"
            f"<model>{self.model}</model><format>text/x-wiki</format>{text}<sha1>x</sha1></revision>\n"
        )


def page(id: int, title: str, *edits: Edit | str, space: int = 0, redirect: str = "") -> str:
    several = [Edit(edit) if isinstance(edit, str) else edit for edit in edits]
    leads = f'<redirect title="{escape(redirect)}" />' if redirect else ""
    body = "".join(edit.xml() for edit in several)
    return f"<page><title>{escape(title)}</title><ns>{space}</ns><id>{id}</id>{leads}\n{body}</page>\n"


def dump(pages: Iterable[str], version: str = "0.10", wiki: str = "wwiki") -> bytes:
    spaces = "".join(
        f'<namespace key="{key}" case="first-letter">{name}</namespace>' for key, name in NAMESPACES.items()
    )
    return (
        f'<mediawiki xmlns="http://www.mediawiki.org/xml/export-{version}/" version="{version}" xml:lang="de">\n'
        f"<siteinfo><sitename>W</sitename><dbname>{wiki}</dbname><base>https://w.example/wiki/Main</base>"
        f"<generator>MediaWiki</generator><case>first-letter</case><namespaces>{spaces}</namespaces></siteinfo>\n"
        f"{''.join(pages)}</mediawiki>\n"
    ).encode()


def extract(folder: Path, name: str, pages: Iterable[tuple[int, str, str]], host: str = "w.example") -> Path:
    """What WikiExtractor writes of (id, title, text), the title as the first line, packed where the name says so."""
    rows = [
        {
            "id": f"{id}",
            "revid": "7",
            "url": f"https://{host}/wiki?curid={id}",
            "title": title,
            "text": f"{title}\n\n{text}",
        }
        for id, title, text in pages
    ]
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(json.dumps(row) + "\n" for row in rows).encode()
    path.write_bytes(bz2.compress(data) if name.endswith(".bz2") else data)
    return path


def write(folder: Path, name: str, pages: Iterable[str], wiki: str = "wwiki") -> Path:
    """A dump, packed where its name says so."""
    data = dump(pages, wiki=wiki)
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(bz2.compress(data) if name.endswith(".bz2") else data)
    return path


MAY = [
    page(1, "Aba", Edit("Aba is one.\n\nIt has 3.14 units. It is old.\n\nEnd.", 11)),
    page(2, "Beb", Edit("Beb never changes. Not at all.", 21)),
    page(3, "Gone", Edit("Soon deleted.", 31)),
    page(4, "Lost", Edit("", 41, deleted=True)),
    page(5, "Stub", Edit("{{stub}}", 51)),
    page(6, "Old name", Edit("Moved text.", 61)),
    page(7, "Talk:Aba", Edit("talk", 71), space=1),
]
JUNE = [
    page(1, "Aba", Edit("A lead.\n\nAba is one!\n\nIt has 3.15 units. It is old.\n\nEnd.\n\n* ***", 12)),
    page(2, "Beb", Edit("Beb never changes. Not at all.", 21)),
    page(4, "Lost", Edit("Text again.", 42)),
    page(5, "Stub", Edit("{{stub}}", 51)),
    page(6, "New name", Edit("Moved text.", 62)),
    page(8, "New", Edit("All new. Of course.\n\nTwo paragraphs.", 81)),
    page(9, "Redirect", Edit("#REDIRECT [[Aba]]", 91)),
]
JULY = [*JUNE[:1], page(2, "Beb", Edit("Beb changed. Not at all.", 22)), *JUNE[2:]]
