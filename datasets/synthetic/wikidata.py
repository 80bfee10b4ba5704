"""The Wikidata of the synthetic world: an item for everything that its facts name, as it stands on a day.

Statements are the facts of the day, and an item links to the article about it in the encyclopedia. Volunteers respell
labels in other case, add aliases, wrong statements that are deprecated, statements without a value and former objects
below the present one, and split items in two that are merged later. None of that changes a fact, so
`benchmarks/truth/wikidata.py` knows what changed between two days without looking at items.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from functools import cache
from random import Random
from typing import Any, Literal

from ticlm.core.errors import InputError
from ticlm.datasets.synthetic.encyclopedia import written_about
from ticlm.datasets.synthetic.facts import Fact
from ticlm.datasets.synthetic.tables import tables
from ticlm.datasets.synthetic.world import SyntheticWorld

EditKind = Literal["respell", "alias", "deprecate", "unknown", "former", "split"]
EDITS: tuple[EditKind, ...] = ("respell", "alias", "deprecate", "unknown", "former", "split")
LANGUAGE, SITE = "en", "enwiki"
FIRST_ENTITY = 1000
"""Items of entities are numbered from here; the ids of colours, rivers and other objects of the tables come before."""
SPLIT = 1_000_000
"""An item that was split off has the number of the other one, and this times the month in which it was."""
APART_MONTHS = (1, 3)
"""Shortest and longest time until an item that was split off is merged."""
LEFT = 0.5
"""Share of the stories that are over whose item is left, without an article; others are deleted."""
STRAY = 0.5
"""Share of the statements about an item that name the one split off from it."""
ENDED = "P582"
"""The qualifier `end time`, which has the same number in Wikidata."""
Raw = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Item:
    """The number of an item, and the month in which it was begun, counted from the world's epoch."""

    number: int
    begun: int = 0


@dataclass(slots=True)
class _Edits:
    """What volunteers did to an item so far."""

    respelled: bool = False
    alias: bool = False
    former: bool = False
    """Whether former objects are kept, below the present one."""
    deprecated: Counter[int] = field(default_factory=Counter)
    """How often a wrong statement was added, by a number that stands for a relation; likewise in `unknown`."""
    unknown: Counter[int] = field(default_factory=Counter)
    splits: dict[int, int] = field(default_factory=dict)
    """The months in which an item was split off from this one, and those in which they were merged again."""


@dataclass(frozen=True)
class SyntheticWikidata:
    """The Wikidata of a world. `edits` is the share of the items that a volunteer works on in a month.

    The same settings always give the same items, whatever days are asked for.
    """

    world: SyntheticWorld
    edits: float = 0.1

    def entities(self, day: date) -> Iterator[Raw]:
        """Yield the properties, items and redirects of a day as Wikidata's JSON.

        The item of a story that is over is deleted or has no article. Raises InputError if the day lies before the
        world's epoch.
        """
        history = self.world.history
        if day < self.world.epoch:
            raise InputError(f"day {day:%Y%m%d} lies before the synthetic world begins (epoch {self.world.epoch})")
        for name, number in relation_numbers().items():
            yield {"type": "property", "id": f"P{number}", "labels": _label(name)}
        articles, begun = written_about(self.world, day), history.begun(day)
        facts: dict[str, dict[str, list[Fact]]] = {}
        for fact in history.known(day + timedelta(days=1)):
            facts.setdefault(fact.subject, {}).setdefault(fact.relation, []).append(fact)
        items = {e.name: Item(FIRST_ENTITY + n, history.month_of(e.start)) for n, e in begun.items()}
        state = _State(self, day, history.month_of(day), items)
        for (_, name), number in object_numbers().items():
            yield from state.item(name, Item(number), None)
        for number, entity in begun.items():
            if number in articles:
                yield from state.item(entity.name, items[entity.name], facts.get(entity.name, {}))
            elif Random(f"{self.world.seed}/deleted/{entity.name}").random() < LEFT:
                yield from state.item(entity.name, items[entity.name], None)

    def edited(self, item: Item, month: int) -> _Edits:
        """Return what volunteers did to an item up to a month, since the one after it was begun."""
        done = _Edits()
        for now in range(item.begun + 1, month + 1):
            rng = Random(f"{self.world.seed}/wikidata/{item.number}/{now}")
            if rng.random() >= self.edits:
                continue
            match rng.choice(EDITS):
                case "respell":
                    done.respelled = not done.respelled
                case "alias":
                    done.alias = True
                case "former":
                    done.former = True
                case "deprecate":
                    done.deprecated[rng.randrange(1 << 30)] += 1
                case "unknown":
                    done.unknown[rng.randrange(1 << 30)] += 1
                case "split":
                    done.splits[now] = now + rng.randint(*APART_MONTHS)
        return done


@dataclass(frozen=True)
class _State:
    """The items on a day; `items` are those of the entities, by name."""

    wikidata: SyntheticWikidata
    day: date
    month: int
    items: Mapping[str, Item]

    def item(self, name: str, item: Item, facts: Mapping[str, Sequence[Fact]] | None) -> Iterator[Raw]:
        """Yield an item and what was split off from it; `facts` by relation is None if it has no article."""
        done = self.wikidata.edited(item, self.month)
        yield {
            "type": "item",
            "id": f"Q{item.number}",
            "labels": _label(_in_other_case(name) if done.respelled else name),
            "aliases": {LANGUAGE: [{"language": LANGUAGE, "value": _alias(name)}]} if done.alias else {},
            "claims": {} if facts is None else self._claims(facts, done),
            "sitelinks": {} if facts is None else {SITE: {"site": SITE, "title": name}},
        }
        for begun, merged in done.splits.items():
            other = f"Q{begun * SPLIT + item.number}"
            if merged <= self.month:
                yield {"entity": other, "redirect": f"Q{item.number}"}
            else:
                yield {"type": "item", "id": other, "labels": _label(_in_other_case(name)), "claims": {}}

    def _claims(self, facts: Mapping[str, Sequence[Fact]], done: _Edits) -> dict[str, list[Raw]]:
        claims: dict[str, list[Raw]] = {}
        for relation, several in sorted(facts.items()):
            statements = claims.setdefault(f"P{relation_numbers()[relation]}", [])
            *before, last = several
            if not last.holds(self.day):
                continue
            if done.former:
                statements += [_statement(self._object(fact), "normal", fact.end) for fact in before]
            statements.append(_statement(self._object(last), "preferred" if done.former and before else "normal"))
        for picked in sorted(done.deprecated if facts else ()):
            relation, several = sorted(facts.items())[picked % len(facts)]
            wrong = self._wrong(relation, {fact.object for fact in several}, picked)
            claims[f"P{relation_numbers()[relation]}"].append(_statement(wrong, "deprecated"))
        for picked in sorted(done.unknown if facts else ()):
            relation = sorted(facts)[picked % len(facts)]
            snak = {"snaktype": ("somevalue", "novalue")[picked % 2], "property": f"P{relation_numbers()[relation]}"}
            claims[str(snak["property"])].append({"type": "statement", "rank": "normal", "mainsnak": snak})
        return {property_: statements for property_, statements in claims.items() if statements}

    def _object(self, fact: Fact) -> int:
        """Return the number of the item that stands for a fact's object: perhaps one that was split off from it."""
        kind = tables().relation[fact.relation].object
        number = object_numbers().get((kind, fact.object))
        item = self.items[fact.object] if number is None else Item(number)
        for begun, merged in self.wikidata.edited(item, self.month).splits.items():
            strays = Random(f"{self.wikidata.world.seed}/stray/{begun}/{fact.id}").random() < STRAY
            if self.month < merged and strays:
                return begun * SPLIT + item.number
        return item.number

    def _wrong(self, relation: str, right: set[str], picked: int) -> int:
        """Return the number of an object that a fact never had: of the tables, or an entity of the first day."""
        kind, world = tables().relation[relation].object, self.wikidata.world
        names = {name: number for (of, name), number in object_numbers().items() if of == kind}
        if not names:
            first = world.history.begun(world.epoch)
            names = {entity.name: FIRST_ENTITY + n for n, entity in first.items() if entity.kind == kind}
        left = [number for name, number in names.items() if name not in right]
        return left[picked % len(left)] if left else 1


@cache
def object_numbers() -> dict[tuple[str, str], int]:
    """Return the numbers of the items of the tables' objects, by kind and name."""
    found: dict[tuple[str, str], int] = {}
    for kind, names in sorted(tables().objects.items()):
        for name in sorted(names):
            found[kind, name] = len(found) + 1
    assert len(found) < FIRST_ENTITY, "too many objects in the tables"
    return found


@cache
def relation_numbers() -> dict[str, int]:
    """Return the numbers of the properties, by relation."""
    return {relation.name: number for number, relation in enumerate(tables().relations, 1)}


def _label(name: str) -> Raw:
    return {LANGUAGE: {"language": LANGUAGE, "value": name}}


def _in_other_case(name: str) -> str:
    return name.lower() if name != name.lower() else name.capitalize()


def _alias(name: str) -> str:
    """Return a name with an initial for its first word ("I. Marlund"), or in quotes if it is one word."""
    first, _, rest = name.partition(" ")
    return f"{first[0]}. {rest}" if rest else f"“{name}”"


def _statement(object_: int, rank: str, ended: date | None = None) -> Raw:
    value = {"entity-type": "item", "id": f"Q{object_}", "numeric-id": object_}
    snak = {"snaktype": "value", "datavalue": {"type": "wikibase-entityid", "value": value}}
    statement: Raw = {"type": "statement", "rank": rank, "mainsnak": snak}
    if ended is not None:
        time = {"time": f"+{ended:%Y-%m-%d}T00:00:00Z", "precision": 11}
        end = {"snaktype": "value", "property": ENDED, "datavalue": {"type": "time", "value": time}}
        statement["qualifiers"] = {ENDED: [end]}
    return statement
