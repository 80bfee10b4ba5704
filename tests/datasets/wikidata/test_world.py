"""The Wikidata of the synthetic world: its items, and triplets that come out as the facts really changed."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import date
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from benchmarks.truth.wikidata import FactChanges, NamedTriple, fact_changes

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import parse
from ticlm.core.store import Store
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.synthetic.encyclopedia import Encyclopedia, EncyclopediaStyle
from ticlm.datasets.synthetic.wikidata import SyntheticWikidata
from ticlm.datasets.synthetic.world import SyntheticWorld
from ticlm.datasets.wiki.dumps import WikiDumps
from ticlm.datasets.wikidata.changes import TripletChange, changes
from ticlm.datasets.wikidata.dump_pairs import PairCounts, paired, subject_changes
from ticlm.datasets.wikidata.dumps import Wikidata, same_world
from ticlm.datasets.wikidata.entities import Entity, EntityFields, entity
from ticlm.datasets.wikidata.statements import Statements, pairs, staged
from ticlm.datasets.wikidata.triplets import Triplet

WORLD = SyntheticWorld(edition="fast", towns=8, firms=8, clubs=4, offices=3, stories=3)
DAYS = [date(2023, month, 1) for month in range(2, 8)]
STAMPS = [f"{day:%Y%m%d}" for day in DAYS]
ITEMS = "7ab9dc520abc45e98deb67d1595c45144e238db8ef0a7fb3fa4c6b6df8eda68a"


def items(edits: float, day: date, world: SyntheticWorld = WORLD) -> dict[str, Any]:
    return {str(one.get("id", one.get("entity"))): one for one in SyntheticWikidata(world, edits).entities(day)}


def dumps(folder: Path, edits: float) -> tuple[BuildContext, list[Statements]]:
    given = {"world": WORLD.model_dump(), "days": STAMPS, "edits": edits}
    wikidata = parse(Wikidata, given, "wikidata")
    inputs = tuple(wikidata.inputs())
    context = BuildContext(Store(folder), "staging/x", 0, inputs, frozenset(), lambda line: None)
    return context, [staged(context, wikidata, dump) for dump in wikidata.all_dumps]


def named(older: Statements, newer: Statements) -> Iterator[tuple[str, TripletChange, list[tuple[str, str, str]]]]:
    """Each change with its fate and, in small letters, the names of its triplet and of those that it replaced."""
    titles = {key: one.title for number in range(newer.subjects.count) for key, one in newer.read(number).items()}

    def names(triplet: Triplet) -> tuple[str, str, str]:
        relation = newer.properties[triplet.relation]
        return titles[triplet.subject].casefold(), relation, str(triplet.text).casefold()

    for number in range(newer.subjects.count):
        for subject, before in pairs(newer, older, number):
            for change in changes(before, subject.triplets):
                yield change.fate, change, [names(change.triplet), *map(names, change.replaced)]


def folded(triples: Iterable[NamedTriple]) -> set[NamedTriple]:
    return {(subject.casefold(), relation, object_.casefold()) for subject, relation, object_ in triples}


@pytest.fixture(scope="module")
def truth() -> tuple[FactChanges, ...]:
    return fact_changes(WORLD, DAYS)


@pytest.mark.parametrize("edits", [0.0, 0.1, 0.7])
def test_triplets_are_the_same_new_updated_and_removed_as_the_facts_are(
    tmp_path: Path, edits: float, truth: tuple[FactChanges, ...]
) -> None:
    seen = Counter[str]()
    for (older, newer), month in zip(pairwise(dumps(tmp_path, edits)[1]), truth, strict=True):
        found: dict[str, set[NamedTriple]] = {fate: set() for fate in ("same", "new", "updated", "removed")}
        replaced = set()
        for fate, _, (now, *before) in named(older, newer):
            found[fate].add(now)
            replaced |= {(*now, object_) for _, _, object_ in before}
            seen[fate] += 1
        assert found["same"] == folded(month.same)
        assert found["new"] == folded(month.new)
        assert found["updated"] == folded(month.updated)
        assert found["removed"] == folded(month.removed)
        assert replaced == {
            (*next(iter(folded([triple]))), before.casefold()) for triple, before in month.updated.items()
        }
    assert min(seen.values()) >= 3 and len(seen) == 4, f"the world shows each fate: {seen}"


def test_pairs_of_dumps_with_redirects_give_the_same_and_the_facts_of_subjects_that_are_gone(
    tmp_path: Path, truth: tuple[FactChanges, ...]
) -> None:
    context, several = dumps(tmp_path, 0.7)
    gone = 0
    for (older, newer), month in zip(pairwise(several), truth, strict=True):
        pair, counts = paired(context, older, newer), PairCounts()
        found: dict[str, set[NamedTriple]] = {fate: set() for fate in ("same", "new", "updated", "removed", "gone")}
        for subject in subject_changes(pair, range(newer.subjects.count), counts):
            for change in subject.changes:
                names = (subject.subject.title, newer.properties[change.triplet.relation], str(change.triplet.text))
                found["gone" if subject.gone else change.fate] |= folded([names])
        assert found == {fate: folded(getattr(month, fate)) for fate in found}
        assert counts.dropped.total() == 0 and counts.gone.total() == len(month.gone)
        assert counts.read == len(month.same) + len(month.new) + len(month.updated)
        gone += len(month.gone)
    assert gone > 3


def test_the_truth_is_what_holds_on_both_days(truth: tuple[FactChanges, ...]) -> None:
    for (before, day), month in zip(pairwise(DAYS), truth, strict=True):
        titles = [{one.title for one in Encyclopedia(WORLD, EncyclopediaStyle()).articles(d)} for d in (before, day)]
        for subject, relation, object_ in [*month.same, *month.new, *month.updated]:
            now = WORLD.history.held(subject, relation, day)
            assert subject in titles[1] and now is not None and now.object == object_
        for triple in month.gone:
            assert triple[0] in titles[0] - titles[1]
        held = sum(len(WORLD.history.held_by(title, day)) for title in titles[1])
        assert len(month.same) + len(month.new) + len(month.updated) == held


def test_every_kind_of_edit_is_made_and_counted_by_reason(tmp_path: Path) -> None:
    by_step = {step.name: step for dump in dumps(tmp_path, 0.7)[1][-1:] for step in dump.steps}
    assert by_step["entities"].dropped["redirect"] > 10
    reasons = by_step["statements"].dropped
    assert {"deprecated", "unknown value", "no value", "beside a preferred statement"} <= reasons.keys()
    now, plain = items(0.7, DAYS[-1]), items(0.0, DAYS[-1])
    labels = {key: one["labels"]["en"]["value"] for key, one in now.items() if "labels" in one}
    others = {key: one["labels"]["en"]["value"] for key, one in plain.items()}
    respelled = [key for key, label in others.items() if labels[key] != label]
    assert len(respelled) > 20 and all(labels[key].casefold() == others[key].casefold() for key in respelled)
    assert others == {key: label for key, label in others.items() if key in now}, "edits make and delete no entity"
    assert any(one.get("aliases") for one in now.values()) and not any(one.get("aliases") for one in plain.values())
    ended = [s for one in now.values() for several in one.get("claims", {}).values() for s in several]
    assert any("qualifiers" in statement for statement in ended)


def test_items_that_were_split_off_are_named_by_statements_until_they_are_merged() -> None:
    states = [items(0.7, day) for day in DAYS]
    merged = 0
    for old, new in pairwise(states):
        for key, one in new.items():
            if "redirect" in one and "redirect" not in old.get(key, one):
                assert new[one["redirect"]]["type"] == "item" and old[one["redirect"]]["type"] == "item"
                merged += key in json.dumps([each.get("claims") for each in old.values()])
                assert f'"{key}"' not in json.dumps([each.get("claims") for each in new.values()])
    assert merged > 3


def test_a_day_always_has_the_same_items_whatever_was_read_before() -> None:
    again = SyntheticWorld.model_validate(WORLD.model_dump())
    assert items(0.3, DAYS[2], again) == items(0.3, DAYS[2])
    text = json.dumps(list(items(0.3, DAYS[2]).values()))
    assert hashlib.sha256(text.encode()).hexdigest() == ITEMS, "items differ: sets that are made of them do too"


def test_items_link_to_the_articles_of_the_day_and_keep_their_numbers() -> None:
    known: dict[str, str] = {}
    for day in DAYS:
        outcomes = [entity(json.dumps(one).encode(), EntityFields()) for one in items(0.3, day).values()]
        found = {one.id: one.title for one in outcomes if isinstance(one, Entity) and one.title is not None}
        assert sorted(found.values()) == sorted(
            one.title for one in Encyclopedia(WORLD, EncyclopediaStyle()).articles(day)
        )
        assert all(known.setdefault(key, title) == title for key, title in found.items())


def test_the_item_of_a_story_that_is_over_is_deleted_or_has_no_article() -> None:
    states = [items(0.0, day) for day in DAYS]
    without = [
        key
        for old, new in pairwise(states)
        for key, one in old.items()
        if one.get("sitelinks") and not new.get(key, {}).get("sitelinks")
    ]
    assert {any(key in state for state in states[-1:]) for key in without} == {True, False}


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({}, "give dumps of Wikidata.*; or a world"),
        ({"world": {"kind": "synthetic"}}, "a world needs days"),
        ({"dumps": {20230201: "x"}, "days": [20230201]}, "which dumps do not have"),
        ({"world": {"kind": "synthetic"}, "days": [20230201], "dumps": {20230201: "x"}}, "not both"),
        ({"world": {"kind": "synthetic"}, "days": [20230201, 20230201]}, "days: a day is given twice"),
        ({"world": {"kind": "synthetic"}, "days": ["202302"]}, "days: '202302' is not a day, which is written"),
        ({"world": {"kind": "synthetic"}, "days": [20230201], "property_labels": "x"}, "a world has labels of its own"),
    ],
)
def test_settings_that_contradict_themselves_are_one_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(InputError, match=line) as error:
        parse(Wikidata, given, "wikidata")
    assert "\n" not in str(error.value)


def test_what_a_world_has_not_may_be_said_to_be_empty() -> None:
    given = {"world": WORLD.model_dump(), "days": STAMPS}
    assert parse(Wikidata, {**given, "dumps": {}}, "wikidata") == parse(Wikidata, given, "wikidata")


def test_days_before_the_world_begins_are_refused() -> None:
    wikidata = parse(Wikidata, {"world": {"kind": "synthetic"}, "days": [20221201]}, "wikidata")
    with pytest.raises(InputError, match=r"wikidata\.days: 20221201 lies before the .* \(epoch 2023-01-01\)"):
        wikidata.inputs()
    with pytest.raises(InputError, match="day 20221201 lies before the synthetic world begins"):
        next(SyntheticWikidata(WORLD).entities(date(2022, 12, 1)))


def test_a_wiki_and_a_wikidata_of_two_worlds_are_one_line() -> None:
    def of(**changes: Any) -> Wikidata:
        return parse(Wikidata, {"world": {**WORLD.model_dump(), **changes}, "days": STAMPS}, "wikidata")

    wiki = parse(WikiDumps, {"world": WORLD.model_dump(), "snapshots": STAMPS}, "wiki")
    same_world(wiki, of())
    with pytest.raises(InputError, match=r"differ in seed \(0 and 3\), towns \(8 and 9\); give both the same"):
        same_world(wiki, of(seed=3, towns=9))
    files = parse(Wikidata, {"dumps": {20230201: "x"}}, "wikidata")
    with pytest.raises(InputError, match="wiki is of a synthetic world and wikidata of files"):
        same_world(wiki, files)
    with pytest.raises(InputError, match="wikidata is of a synthetic world and wiki of files"):
        same_world(parse(WikiDumps, {"dumps": "x"}, "wiki"), of())
    same_world(parse(WikiDumps, {"dumps": "x"}, "wiki"), files)


def test_worlds_leave_the_ids_of_dumps_as_they_were() -> None:
    files = parse(Wikidata, {"dumps": {20170301: "x"}}, "wikidata")
    assert fingerprint(files) == "621a69a7210d0526d64114f10700ed506376c587297959034775f69950879cd9"
    assert fingerprint(files.without_files()) == "0e353396cf47a0180759b2f7c81448333d5cd3dc8a8e71ca6a857d9ff5693379"
    worlds = [parse(Wikidata, {"world": WORLD.model_dump(), "days": STAMPS[:n]}, "wikidata") for n in (2, 3)]
    assert len({fingerprint(one.without_files()) for one in worlds}) == 1
    assert len({fingerprint(one.without_files()) for one in (worlds[0], files)}) == 2
