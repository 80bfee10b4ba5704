"""Wikidata as pages of a wiki: the entities in its `pages-articles` dumps, and the JSON that these held before 2014.

The paper names these dumps (TiC-LM, B.1.1); they go back further than those of JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO
from xml.etree.ElementTree import ParseError

from ticlm.datasets.io.records import BROKEN
from ticlm.datasets.io.unpack import Damaged
from ticlm.datasets.wiki.mediawiki import pages

NAMESPACES = (0, 120)
"""Of items and of properties."""
RANKS = ("deprecated", "normal", "preferred")
LETTERS = {"item": "Q", "property": "P"}


def texts(stream: BinaryIO) -> Iterator[bytes | str]:
    """The JSON of every entity in an XML dump, by the newest revision of its page; instead of one that has none, the
    reason. A file that breaks off ends with the reason `broken file`."""
    from mwxml import Dump
    from mwxml.element_iterator import ElementIterator
    from mwxml.errors import MalformedXML

    try:
        root = ElementIterator.from_file(stream)
        for page in pages(root, Dump.from_element(root)):
            if page.namespace not in NAMESPACES:
                yield "another namespace"
            else:
                text = _newest(page)
                yield "without text" if text is None else text.encode(errors="surrogatepass")
    except (ParseError, MalformedXML, Damaged, ValueError, TypeError):
        yield BROKEN


def _newest(page: Any) -> str | None:
    best: tuple[Any, str | None] | None = None
    for revision in page:
        if best is None or best[0] <= revision.timestamp:
            best = (revision.timestamp, revision.text)
    return best[1] if best is not None and best[1] else None


def modern(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """An entity as dumps write it today, whatever it was written as: until 2014 labels were plain texts, statements a
    list, and the id stood in `entity`."""
    if "labels" in raw or "type" in raw:
        return raw
    kind, number = _identity(raw.get("entity", raw.get("id")))
    claims: dict[str, list[Any]] = {}
    several = raw.get("claims")
    for claim in several if isinstance(several, list) else []:
        if isinstance(claim, dict) and isinstance(snak := claim.get("m"), list) and len(snak) > 1:
            claims.setdefault(f"P{snak[1]}", []).append({"rank": _rank(claim.get("rank")), "mainsnak": _snak(snak)})
    return {
        "type": kind,
        "id": number,
        "labels": {language: {"value": label} for language, label in _items(raw.get("label"))},
        "aliases": {language: _aliases(several) for language, several in _items(raw.get("aliases"))},
        "claims": claims,
        "sitelinks": {site: _link(link) for site, link in _items(raw.get("links"))},
    }


def _identity(entity: object) -> tuple[str, str]:
    """Of `["item", 1]` or `q1`."""
    if isinstance(entity, list) and len(entity) == 2:
        return str(entity[0]), f"{LETTERS.get(str(entity[0]), '?')}{entity[1]}"
    name = str(entity).upper()
    return next((kind for kind, letter in LETTERS.items() if name.startswith(letter)), ""), name


def _snak(snak: list[Any]) -> dict[str, Any]:
    """Of `["value", 31, "wikibase-entityid", {…}]` or `["somevalue", 31]`."""
    value = {"type": snak[2], "value": snak[3]} if len(snak) > 3 else {}
    return {"snaktype": snak[0], "datavalue": value}


def _rank(rank: object) -> str:
    return RANKS[rank] if isinstance(rank, int) and 0 <= rank < len(RANKS) else "normal"


def _aliases(several: object) -> list[dict[str, Any]]:
    held = list(several.values()) if isinstance(several, dict) else several
    return [{"value": alias} for alias in held] if isinstance(held, list) else []


def _link(link: object) -> dict[str, Any]:
    return {"title": link.get("name", link.get("title")) if isinstance(link, dict) else link}


def _items(value: object) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []
