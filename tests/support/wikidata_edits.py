"""A script of known edits of Wikidata's entities, and what they make of every triplet.

What is expected comes from the raw JSON and from the edits; nothing of the package reads it.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

Raw = dict[str, Any]
Ids = tuple[str, str, str]
OLD_DAY, NEW_DAY = "2017-03-01", "2017-04-01"


def claim(object_: str | None, rank: str = "normal", snaktype: str = "value") -> Raw:
    """A statement of an item, or of another type of snak."""
    snak: Raw = {"snaktype": snaktype, "property": "P1"}
    if object_ is not None:
        value = {"entity-type": "item", "numeric-id": int(object_[1:]), "id": object_}
        snak["datavalue"] = {"type": "wikibase-entityid", "value": value}
    return {"mainsnak": snak, "rank": rank, "type": "statement"}


def entity(name: str, label: str, claims: dict[str, list[Raw]] | None = None) -> Raw:
    """An item; with claims, it has an article of the name of its label."""
    links = {} if claims is None else {"enwiki": {"site": "enwiki", "title": label}}
    labels = {"en": {"language": "en", "value": label}}
    return {"type": "item", "id": name, "labels": labels, "aliases": [], "claims": claims or [], "sitelinks": links}


def small_world() -> list[Raw]:
    """Six items with relations of one to four objects, and with statements of every rank and kind."""
    found = []
    for n in range(1, 7):
        claims = {f"P{p}": [claim(f"Q{1000 * n + 10 * p + k}") for k in range(1 + (n + p) % 4)] for p in range(1, 30)}
        claims["P101"] = [
            claim("Q41", "preferred"),
            claim("Q42"),
            claim("Q43", "deprecated"),
            claim("Q44", "preferred"),
        ]
        claims["P102"] = [claim(None, snaktype="somevalue"), claim("Q45"), claim("Q45")]
        claims["P103"] = [claim(None, "preferred", "novalue"), claim("Q46")]
        found.append(entity(f"Q{n}", f"Subject {n}", claims))
    return found


def objects(raw: Raw, relation: str, day: str | None) -> list[str]:
    """The objects of a relation: items by the best rank, without deprecated statements and those that ended before."""
    usable = [one for one in raw["claims"][relation] if one["rank"] != "deprecated" and not (day and _over(one, day))]
    best = [one for one in usable if one["rank"] == "preferred"] or usable
    values = [one["mainsnak"]["datavalue"] for one in best if one["mainsnak"]["snaktype"] == "value"]
    return [f"Q{one['value']['numeric-id']}" for one in values if one["type"] == "wikibase-entityid"]


def _over(one: Raw, day: str) -> bool:
    ends = [end["datavalue"]["value"] for end in one.get("qualifiers", {}).get("P582", []) if "datavalue" in end]
    shown = []
    for end in ends:
        year, month, last = end["time"][1:5], end["time"][6:8], end["time"][9:11]
        shown.append(
            {8: year[:3] + "9", 9: year, 10: f"{year}-{month}", 11: f"{year}-{month}-{last}"}[end["precision"]]
        )
    return bool(shown) and all(time < day[: len(time)] for time in shown)


def triplets(raw: Raw, day: str | None) -> list[Ids]:
    return [(raw["id"], relation, one) for relation in raw["claims"] or () for one in objects(raw, relation, day)]


@dataclass
class Edits:
    """The older and the newer entities, and the fate of every triplet by its ids in the newer dump.

    `replaced` has the older triplets that an updated one took the place of. `redirects` says whether the newer dump
    has those of merged items, `ended` whether statements that ended are dropped, `unlabelled` which objects have no
    label.
    """

    entities: Sequence[Raw]
    redirects: bool = True
    ended: bool = False
    unlabelled: frozenset[str] = frozenset()
    fates: dict[Ids, str] = field(default_factory=dict)
    replaced: dict[Ids, set[Ids]] = field(default_factory=dict)
    made: Counter[str] = field(default_factory=Counter)
    dropped: Counter[str] = field(default_factory=Counter)
    gone: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        days = (OLD_DAY, NEW_DAY) if self.ended else (None, None)
        self.new = {raw["id"]: deepcopy(raw) for raw in self.entities}
        self.old = {raw["id"]: deepcopy(raw) for raw in self.entities}
        self.labels: dict[str, str] = {}
        self.merges: dict[str, str] = {}
        self._day, self._next, self._used = days[0], 90_000_000, set[tuple[str, str]]()
        stated = [ids for raw in self.entities for ids in triplets(raw, days[0])]
        assert stated == [ids for raw in self.entities for ids in triplets(raw, days[1])]
        for name in self.new:
            self._used |= {(name, f"P9000{n}") for n in range(1, 5)}
        self.references = Counter(ids[2] for ids in stated)
        self.fates.update((ids, "same") for ids in stated)
        self.dropped["repeated triplet"] = len(stated) - len(self.fates)
        for name in self.references.keys() - self.old.keys():
            self.labels[name] = f"label of {name}"
        self.labels_before = {key: label for key, label in self.labels.items() if key not in self.unlabelled}
        *edited, deleted = self.new
        for name in edited:
            self._edit(name)
        self._delete(deleted)
        for ids in [ids for ids, fate in self.fates.items() if ids[2] in self.unlabelled and fate != "removed"]:
            del self.fates[ids]
            self.dropped["object without label"] += 1

    def fresh(self, label: str = "") -> str:
        """A new item, with a label in the newer dump."""
        self._next += 1
        name = f"Q{self._next}"
        self.labels[name] = label or f"label of {name}"
        return name

    def _plain(self, name: str, least: int = 1, once: bool = False) -> tuple[str, list[Raw], list[str]] | None:
        """A relation of an item that no edit touched: all its statements of normal rank, all its objects items that
        differ and have labels, and if `once`, named nowhere else."""
        for relation, claims in self.new[name]["claims"].items():
            found = objects(self.new[name], relation, self._day)
            ok = len(found) == len(claims) == len(set(found)) >= least and (name, relation) not in self._used
            ok = ok and all(one["rank"] == "normal" and "P582" not in one.get("qualifiers", {}) for one in claims)
            named = all(one in self.labels and one not in self.unlabelled for one in found)
            if ok and named and (not once or all(self.references[one] == 1 for one in found)):
                self._used.add((name, relation))
                return relation, claims, found
        return None

    def _edit(self, name: str) -> None:
        """Make each kind of edit, as far as the item has relations for it."""
        self._add_relation(name)
        self._merge_subject(name)
        kinds = [(self._prefer, 2, False), (self._merge_chain, 1, True), (self._merge_named, 1, True)]
        kinds += [(self._other_case, 1, False), (self._add_value, 1, False), (self._replace, 1, False)]
        kinds += [(self._remove, 2, False), (self._deprecate, 1, False), (self._add_preferred, 1, False)]
        kinds += [(self._relabel, 1, False), (self._no_value, 1, False), (self._end, 1, False)]
        for edit, least, once in kinds:
            if (found := self._plain(name, least, once)) is not None:
                edit(name, *found)
                self.made[edit.__name__] += 1

    def _removed(self, *ids: Ids) -> None:
        self.fates.update((each, "removed") for each in ids)

    def _updated(self, ids: Ids, replaced: set[Ids]) -> None:
        self.fates[ids] = "updated"
        self.replaced[ids] = replaced
        for each in replaced:
            del self.fates[each]

    def _add_relation(self, name: str) -> None:
        for relation in ("P90001", "P90002"):
            value = self.fresh()
            self.new[name]["claims"][relation] = [claim(value), claim("Q777", "deprecated")]
            self.fates[name, relation, value] = "new"

    def _add_value(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        claims.insert(0, claim(value := self.fresh()))
        self._updated((name, relation, value), set())

    def _replace(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        claims[-1] = claim(value := self.fresh())
        self._updated((name, relation, value), {(name, relation, found[-1])})

    def _remove(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        del claims[0]
        self._removed((name, relation, found[0]))

    def _deprecate(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        claims[0]["rank"] = "deprecated"
        self._removed((name, relation, found[0]))

    def _prefer(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        claims[1]["rank"] = "preferred"
        self._removed(*((name, relation, one) for one in found if one != found[1]))

    def _add_preferred(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        claims.append(claim(value := self.fresh(), "preferred"))
        self._updated((name, relation, value), {(name, relation, one) for one in found})

    def _relabel(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        for one in found:
            self.labels[one] = f"another name of {one}"

    def _other_case(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        claims[0] = claim(value := self.fresh(self.labels_before[found[0]].upper()))
        del self.fates[name, relation, found[0]]
        self.fates[name, relation, value] = "same"

    def _no_value(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        claims[0] = claim(None, snaktype=("novalue", "somevalue")[int(name[1:]) % 2])
        self._removed((name, relation, found[0]))

    def _end(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        end = {"snaktype": "value", "datavalue": {"type": "time", "value": {"time": "+2017-03-00T00:00:00Z"}}}
        end["datavalue"]["value"]["precision"] = 10  # type: ignore[index]
        claims[0]["qualifiers"] = {"P582": [end]}
        if self.ended:
            self._removed((name, relation, found[0]))

    def _merge_chain(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        """Merge an object into another one, and that into a third one, which the statement names now."""
        claims[0] = claim(target := self.fresh())
        self._next += 1
        self.merges |= {found[0]: f"Q{self._next}", f"Q{self._next}": target}
        del self.labels[found[0]]
        if self.redirects:
            del self.fates[name, relation, found[0]]
            self.fates[name, relation, target] = "same"
        else:
            self._updated((name, relation, target), {(name, relation, found[0])})

    def _merge_named(self, name: str, relation: str, claims: list[Raw], found: list[str]) -> None:
        """Merge an object that the statement names still."""
        self.merges[found[0]] = target = self.fresh()
        del self.labels[found[0]], self.fates[name, relation, found[0]]
        if self.redirects:
            self.fates[name, relation, target] = "same"
        else:
            self.dropped["object without label"] += 1

    def _merge_subject(self, name: str) -> None:
        """Merge another item into this one: one of its statements moves, one is lost."""
        self._next += 1
        other, kept, lost = f"Q{self._next}", self.fresh(), self.fresh()
        self.labels_before |= {one: self.labels[one] for one in (kept, lost)}
        claims = {"P90003": [claim(kept)], "P90004": [claim(lost)]}
        self.old[other] = entity(other, f"another {name}", claims)
        self.new[name]["claims"]["P90003"] = [claim(kept)]
        self.merges[other] = name
        self.fates[name, "P90003", kept] = "same" if self.redirects else "new"
        self._removed((name if self.redirects else other, "P90004", lost))
        if not self.redirects:
            self._removed((other, "P90003", kept))
            self.gone["subject deleted, or without label or article"] += 2

    def _delete(self, name: str) -> None:
        del self.new[name]
        gone = [ids for ids in self.fates if ids[0] == name]
        self.dropped["repeated triplet"] -= len(triplets(self.old[name], self._day)) - len(gone)
        self._removed(*gone)
        self.gone["subject deleted, or without label or article"] += len(gone)
        self.labels[name] = "an item without an article"  # as others name it still

    def lines(self, newer: bool) -> Iterator[Raw]:
        """The entities of a dump, in an order that no reader needs."""
        yield from (self.new if newer else self.old).values()
        for name, label in sorted((self.labels if newer else self.labels_before).items()):
            if name not in self.unlabelled:
                yield entity(name, label)
        if newer and self.redirects:
            yield from ({"entity": source, "redirect": target} for source, target in self.merges.items())


def write_json(path: Path, raws: Iterator[Raw]) -> str:
    path.write_text("[\n" + ",\n".join(map(json.dumps, raws)) + "\n]\n")
    return str(path)


def write_xml(path: Path, raws: Iterator[Raw]) -> str:
    """A dump of pages, as `pages-articles` are."""
    head = '<mediawiki xmlns="http://www.mediawiki.org/xml/export-0.10/" version="0.10" xml:lang="en">\n'
    head += '<siteinfo><namespaces><namespace key="0" case="first-letter"/></namespaces></siteinfo>\n'
    with path.open("w") as file:
        file.write(head)
        for number, raw in enumerate(raws, 1):
            text = escape(json.dumps(raw))
            file.write(
                f"<page><title>{raw.get('id', raw.get('entity'))}</title><ns>0</ns><id>{number}</id><revision>"
                f"<id>{number}</id><timestamp>2017-03-01T00:00:00Z</timestamp><model>wikibase-item</model>"
                f'<format>application/json</format><text xml:space="preserve">{text}</text></revision></page>\n'
            )
        file.write("</mediawiki>\n")
    return str(path)
