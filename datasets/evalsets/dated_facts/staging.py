"""Tasks that stage the dated facts of a dump of Wikidata: its statements, the changes of each fact, and then the labels
of the items that the changes name.

    statements/    by fact: relation, item, value and dates, from the first pass over the dump
    changes/       by fact: what followed what
    labels/        by item: label, aliases and sitelinks, from the second pass

Each writes under a name of its own, and does nothing if what it writes is there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from ticlm.core.accounting import Step
from ticlm.core.fingerprint import hash64
from ticlm.datasets.evalsets.dated_facts.relations import FactRelation
from ticlm.datasets.io.buckets import Buckets, BucketWriter
from ticlm.datasets.io.documents import Input
from ticlm.datasets.wikidata.dated import DatedItem, Held, MonthRange, dated_item
from ticlm.datasets.wikidata.entities import each_entity
from ticlm.datasets.wikidata.redirects import number_of
from ticlm.datasets.wikidata.succession import successions
from ticlm.datasets.wikidata.values import StatementValue

UNKNOWN = "of an item with few sitelinks"


def writer(entry: Input) -> str:
    """Return the name under which a file is staged."""
    return f"{hash64(entry.model_dump_json()):016x}"


def read_statements(
    into: Buckets, relations: Mapping[str, FactRelation], language: str, sitelinks: int, entry: Input
) -> None:
    """Stage the dated statements of a file. Those of items with fewer `sitelinks` are left out, except where the fact
    belongs to the value: a holder that nobody writes about still holds."""
    if into.is_written(writer(entry)):
        return
    read, lost = 0, Counter[str]()
    statements, dropped = 0, Counter[str]()
    dating = {one.property: one.dated for one in relations.values()}
    unless = {one.property: one.unless for one in relations.values()}
    with into.writing(writer(entry)) as staged:
        for item in each_entity(entry.path, partial(dated_item, dating=dating, unless=unless, language=language)):
            read += 1
            if not isinstance(item, DatedItem):
                lost[str(item)] += 1
                continue
            for name, relation in relations.items():
                known = relation.fact == "value" or item.sitelinks >= sitelinks
                for held in item.statements.get(relation.property, ()):
                    statements += 1
                    reason = held if isinstance(held, str) else "" if known else UNKNOWN
                    if isinstance(held, str) or reason:
                        dropped[reason] += 1
                    else:
                        _add(staged, name, relation, item.id, held)
        steps = [_step("entities", read, lost), _step("dated statements", statements, dropped)]
        staged.about = {"steps": [step.model_dump() for step in steps]}


def _add(staged: BucketWriter, name: str, relation: FactRelation, item: str, held: Held) -> None:
    value = [held.value.key, held.value.text, held.value.aliases]
    fact = item
    if relation.fact == "value":
        fact, value = held.value.key, [item, None, ()]
    staged.add(fact, {"relation": name, "value": value, "start": [*held.start], "end": held.end and [*held.end]})


def find_changes(
    statements: Buckets, writers: Sequence[str], into: Buckets, gap: int, span: tuple[int, int], number: int
) -> None:
    """Stage the changes of the facts of a bucket that lie within `span`, two months that are included."""
    name = f"{number:05d}"
    if into.is_written(name):
        return
    facts: dict[tuple[str, str], list[Held]] = {}
    for item, row in statements.read(number, writers):
        key, text, aliases = row["value"]
        end = None if row["end"] is None else MonthRange(*row["end"])
        held = Held(StatementValue(key, text, tuple(aliases)), MonthRange(*row["start"]), end)
        facts.setdefault((item, row["relation"]), []).append(held)
    read, dropped = 0, Counter[str]()
    items: set[int] = set()
    with into.writing(name) as staged:
        for (item, relation), values in sorted(facts.items()):
            found, lost = successions(sorted(values, key=lambda one: (one.start, one.value.key)), gap)
            read += len(values)
            dropped.update(lost)
            for change in found:
                if not span[0] <= change.month <= span[1]:
                    dropped["outside the months"] += 1
                    continue
                sides = [[side.key, side.text, side.aliases] for side in (change.old, change.new)]
                staged.add(item, {"relation": relation, "month": change.month, "sides": sides})
                items.update(n for key in (item, *(side[0] for side in sides)) if (n := number_of(str(key))))
        staged.about = {"step": _step("values", read, dropped).model_dump(), "items": sorted(items)}


def read_labels(into: Buckets, items: frozenset[int], language: str, entry: Input) -> None:
    """Stage names and sitelinks of the items with these numbers."""
    if into.is_written(writer(entry)):
        return
    with into.writing(writer(entry)) as staged:
        for item in each_entity(entry.path, partial(dated_item, dating={}, unless={}, language=language)):
            if isinstance(item, DatedItem) and number_of(item.id) in items:
                staged.add(item.id, {"names": [item.label, *item.aliases], "sitelinks": item.sitelinks})


def _step(name: str, read: int, dropped: Mapping[str, int]) -> Step:
    return Step(name=name, read=read, dropped=dict(sorted((+Counter(dropped)).items())))
