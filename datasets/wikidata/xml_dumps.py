"""Reader of Wikidata's XML dumps (`pages-articles`): entities as pages of a wiki, and the JSON format of before 2014.

The paper uses these dumps (TiC-LM, B.1.1); they go back further than the JSON dumps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO
from xml.etree.ElementTree import ParseError

from ticlm.datasets.io.records import BROKEN
from ticlm.datasets.io.unpack import Damaged
from ticlm.datasets.wiki.mediawiki import pages

NAMESPACES = (0, 120)
"""The namespaces of items and of properties."""
RANKS = ("deprecated", "normal", "preferred")
LETTERS = {"item": "Q", "property": "P"}


def texts(stream: BinaryIO) -> Iterator[bytes | str]:
    """Yield the JSON of every entity in an XML dump, from the newest revision of its page.

    A page without an entity gives the reason instead, and a file that is cut off ends with the reason `broken file`.
    """
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
    """Return an entity in today's format. Until 2014, labels were plain texts, statements a list, and the id stood in
    `entity`."""
    if "labels" in raw or "type" in raw:
        return raw
    kind, number = _identity(raw.get("entity", raw.get("id")))
    claims: dict[str, list[Any]] = {}
    old_claims = raw.get("claims")
    for claim in old_claims if isinstance(old_claims, list) else []:
        if isinstance(claim, dict) and isinstance(snak := claim.get("m"), list) and len(snak) > 1:
            statement = {"rank": _rank(claim.get("rank")), "mainsnak": _snak(snak), "qualifiers": _qualifiers(claim)}
            claims.setdefault(f"P{snak[1]}", []).append(statement)
    return {
        "type": kind,
        "id": number,
        "labels": {language: {"value": label} for language, label in _items(raw.get("label"))},
        "aliases": {language: _aliases(aliases) for language, aliases in _items(raw.get("aliases"))},
        "claims": claims,
        "sitelinks": {site: _link(link) for site, link in _items(raw.get("links"))},
    }


def item_id(entity: object) -> str:
    """Return the id that is given as `["item", 1]`, `q1` or `Q1`."""
    return _identity(entity)[1]


def _identity(entity: object) -> tuple[str, str]:
    """Return (type, id) of an entity that is given as `["item", 1]` or `q1`."""
    if isinstance(entity, list) and len(entity) == 2:
        return str(entity[0]), f"{LETTERS.get(str(entity[0]), '?')}{entity[1]}"
    name = str(entity).upper()
    return next((kind for kind, letter in LETTERS.items() if name.startswith(letter)), ""), name


def _snak(snak: list[Any]) -> dict[str, Any]:
    """Return the snak that `["value", 31, "wikibase-entityid", {…}]` or `["somevalue", 31]` stands for."""
    value = {"type": snak[2], "value": snak[3]} if len(snak) > 3 else {}
    return {"snaktype": snak[0], "datavalue": value}


def _qualifiers(claim: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the qualifiers of a statement, which stand in `q` as a list of snaks, by property."""
    found: dict[str, list[dict[str, Any]]] = {}
    snaks = claim.get("q")
    for snak in snaks if isinstance(snaks, list) else []:
        if isinstance(snak, list) and len(snak) > 1:
            found.setdefault(f"P{snak[1]}", []).append(_snak(snak))
    return found


def _rank(rank: object) -> str:
    return RANKS[rank] if isinstance(rank, int) and 0 <= rank < len(RANKS) else "normal"


def _aliases(aliases: object) -> list[dict[str, Any]]:
    texts = list(aliases.values()) if isinstance(aliases, dict) else aliases
    return [{"value": alias} for alias in texts] if isinstance(texts, list) else []


def _link(link: object) -> dict[str, Any]:
    return {"title": link.get("name", link.get("title")) if isinstance(link, dict) else link}


def _items(value: object) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []
