"""A small Wikidata and a small wiki, as dumps in their real formats."""

from __future__ import annotations

import bz2
import gzip
import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape


def page(number: int, title: str, text: str) -> str:
    return f"""<page><title>{title}</title><ns>0</ns><id>{number}</id><revision><id>{zlib.crc32(text.encode())}</id>
<timestamp>2017-01-01T00:00:00Z</timestamp><contributor><username>x</username><id>1</id></contributor>
<model>wikitext</model><format>text/x-wiki</format><text xml:space="preserve">{escape(text)}</text></revision></page>"""


def wiki(path: Path, pages: Mapping[str, str], name: str = "enwiki") -> Path:
    several = "".join(page(number, title, text) for number, (title, text) in enumerate(pages.items(), 1))
    data = f"""<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en"><siteinfo>
<sitename>W</sitename><dbname>{name}</dbname><base>http://w</base><generator>g</generator><case>first-letter</case>
<namespaces><namespace key="0" case="first-letter" /></namespaces></siteinfo>{several}</mediawiki>"""
    path.write_bytes(bz2.compress(data.encode()))
    return path


@dataclass
class Facts:
    """A small Wikidata: labels by id, articles by id, and what is stated."""

    labels: dict[str, str]
    titles: dict[str, str] = field(default_factory=dict)
    statements: list[tuple[str, str, str]] = field(default_factory=list)
    aliases: dict[str, list[str]] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        text = "[\n" + ",\n".join(json.dumps(one) for one in self._entities()) + "\n]\n"
        path.write_bytes(gzip.compress(text.encode()))
        return path

    def _entities(self) -> Iterator[dict[str, Any]]:
        for name, label in self.labels.items():
            claims: dict[str, list[Any]] = {}
            for subject, relation, object_ in self.statements:
                if subject == name:
                    value = {"entity-type": "item", "id": object_}
                    snak = {"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": value}}
                    claims.setdefault(relation, []).append({"rank": "normal", "mainsnak": snak})
            yield {
                "type": "property" if name[0] == "P" else "item",
                "id": name,
                "labels": {"en": {"language": "en", "value": label}},
                "aliases": {"en": [{"language": "en", "value": alias} for alias in self.aliases.get(name, [])]},
                "claims": claims,
                "sitelinks": {"enwiki": {"title": self.titles[name]}} if name in self.titles else {},
            }
