"""Statements: dumps staged by subject, with the labels of their objects, whatever was killed in between."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.wikidata.dumps import Wikidata
from ticlm.datasets.wikidata.entities import entities as read
from ticlm.datasets.wikidata.statements import Statements, Subject, buckets_for, pairs, staged
from ticlm.datasets.wikidata.triplets import Triplet

LABELS = {"Q1": "Ada", "Q2": "Ulm", "Q3": "Bonn", "Q4": "physics"}


def item(name: str, title: str | None = None, **statements: str | tuple[str, ...]) -> dict[str, Any]:
    """An entity named by its id; a statement is the id of an item, or a year."""

    def snak(value: str) -> dict[str, Any]:
        data: dict[str, Any] = {"type": "time", "value": {"time": f"+{value}-01-01T00:00:00Z", "precision": 9}}
        if value.startswith("Q"):
            data = {"type": "wikibase-entityid", "value": {"entity-type": "item", "id": value}}
        return {"mainsnak": {"snaktype": "value", "datavalue": data}, "rank": "normal"}

    several = {key: (value,) if isinstance(value, str) else value for key, value in statements.items()}
    return {
        "type": "item",
        "id": name,
        "labels": {"en": {"language": "en", "value": LABELS.get(name, name.lower())}},
        "aliases": {"en": [{"language": "en", "value": f"alias of {name}"}]},
        "claims": {key: [snak(value) for value in values] for key, values in several.items()},
        "sitelinks": {} if title is None else {"enwiki": {"site": "enwiki", "title": title}},
    }


PROPERTY = {"type": "property", "id": "P19", "labels": {"en": {"language": "en", "value": "place of birth"}}}


def write(path: Path, *entities: Mapping[str, Any]) -> str:
    path.write_text("[\n" + ",\n".join(json.dumps(one) for one in entities) + "\n]\n")
    return str(path)


def build_context(folder: Path, wikidata: Wikidata) -> BuildContext:
    return BuildContext(Store(folder / "set"), "staging/x", 0, tuple(wikidata.inputs()), frozenset(), lambda line: None)


def known(dump: Statements) -> dict[str, Subject]:
    return {key: subject for number in range(dump.subjects.count) for key, subject in dump.read(number).items()}


@pytest.fixture
def wikidata(tmp_path: Path) -> Wikidata:
    """A dump in two files, so that the label of an object stands in another than its statement."""
    first = write(
        tmp_path / "a.json",
        item("Q1", "Ada_Lovelace", P19="Q2", P101=("Q4", "Q99"), P569="1815"),
        item("Q2"),
        PROPERTY,
        {"type": "lexeme", "id": "L1"},
    )
    second = write(tmp_path / "b.json", item("Q3", "bonn"), item("Q4"), {**item("Q5", "Five"), "labels": {}})
    return settings.parse(Wikidata, {"dumps": {20170301: [first, second]}, "values": ["item", "time"]}, "wikidata")


def test_a_subject_has_its_triplets_with_labels_from_anywhere_in_the_dump(
    wikidata: Wikidata, loop: None, tmp_path: Path
) -> None:
    dump = staged(build_context(tmp_path, wikidata), wikidata, wikidata.dumps[0])
    found = known(dump)
    assert set(found) == {"Q1", "Q3"}  # with an article and a label
    ada = found["Q1"]
    assert (ada.label, ada.title, ada.aliases) == ("Ada", "Ada Lovelace", ("alias of Q1",))
    assert found["Q3"].title == "Bonn"
    assert sorted(ada.triplets, key=str) == [
        Triplet("Q1", "P101", "Q4", "physics", ("alias of Q4",)),
        Triplet("Q1", "P101", "Q99", None),
        Triplet("Q1", "P19", "Q2", "Ulm", ("alias of Q2",)),
        Triplet("Q1", "P569", "time 1815", "1815"),
    ]
    assert dump.properties == {"P19": "place of birth"}


def test_every_entity_and_statement_is_counted(wikidata: Wikidata, loop: None, tmp_path: Path) -> None:
    entities, subjects, stated = staged(build_context(tmp_path, wikidata), wikidata, wikidata.dumps[0]).steps
    assert (entities.read, entities.dropped) == (7, {"lexeme": 1, "property": 1, "without label": 1})
    assert (subjects.read, subjects.dropped) == (entities.kept, {"without article": 2})
    assert (stated.read, stated.kept) == (4, 4)


def test_a_dump_is_read_once_and_what_was_killed_goes_on(
    wikidata: Wikidata, loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = known(staged(build_context(tmp_path / "whole", wikidata), wikidata, wikidata.dumps[0]))
    reads: list[str] = []

    def entities(path: str, *rest: Any) -> Iterator[Any]:
        reads.append(path.rsplit("/", 1)[-1])
        if len(reads) == 2:
            raise KeyboardInterrupt
        yield from read(path, *rest)

    monkeypatch.setattr("ticlm.datasets.wikidata.dumps.entities", entities)
    context = build_context(tmp_path, wikidata)
    with pytest.raises(KeyboardInterrupt):
        staged(context, wikidata, wikidata.dumps[0])
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Buckets, "read", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        staged(context, wikidata, wikidata.dumps[0])
    dump = staged(context, wikidata, wikidata.dumps[0])
    assert reads[1] == reads[2] != reads[0]
    assert known(dump) == whole
    assert staged(context, wikidata, wikidata.dumps[0]).steps == dump.steps
    assert len(reads) == 3
    held = [file for file in context.store.walk("staging") if "/objects-" in file]
    assert held == []  # once it is joined


def test_one_more_file_of_a_dump_is_joined_with_all_others(wikidata: Wikidata, loop: None, tmp_path: Path) -> None:
    staged(build_context(tmp_path, wikidata), wikidata, wikidata.dumps[0])
    more = write(tmp_path / "c.json", item("Q99"))
    dump = wikidata.dumps[0].model_copy(update={"paths": (*wikidata.dumps[0].paths, more)})
    grown = wikidata.model_copy(update={"dumps": (dump,)})
    ada = known(staged(build_context(tmp_path, grown), grown, dump))["Q1"]
    assert {triplet.object: triplet.text for triplet in ada.triplets}["Q99"] == "q99"


def test_pairs_tell_an_entity_that_said_nothing_from_one_that_was_not_there(loop: None, tmp_path: Path) -> None:
    old = write(tmp_path / "old.json", item("Q1", "Ada"), item("Q2", None, P1="Q1"))
    new = write(tmp_path / "new.json", item("Q1", "Ada", P1="Q2"), item("Q2", "Ulm", P1="Q1"))
    wikidata = settings.parse(Wikidata, {"dumps": {20170201: old, 20170301: new}}, "wikidata")
    context = build_context(tmp_path, wikidata)
    older, newer = (staged(context, wikidata, dump) for dump in wikidata.dumps)
    found = {
        subject.id: before for number in range(newer.subjects.count) for subject, before in pairs(newer, older, number)
    }
    assert found == {"Q1": [], "Q2": None}


def test_property_labels_can_come_from_a_file(wikidata: Wikidata, loop: None, tmp_path: Path) -> None:
    labels = tmp_path / "labels.json"
    labels.write_text(json.dumps({"P19": "born at", "P101": "field of work"}))
    given = wikidata.model_copy(update={"property_labels": str(labels)})
    dump = staged(build_context(tmp_path, given), given, given.dumps[0])
    assert dump.properties == {"P19": "place of birth", "P101": "field of work"}
    for bad in ("[1]", "{", '{"P1": {"en": "x"}}'):
        labels.write_text(bad)
        with pytest.raises(InputError, match=r"wikidata\.property_labels: .*labels\.json"):
            given.known_properties()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dumps": {}}, "dumps"),
        ({"dumps": {"201703": "a.json"}}, "dumps.0.date"),
        ({"dumps": {20170230: "a.json"}}, "20170230"),
        ({"dumps": [{"date": 20170301, "paths": ["a"]}] * 2}, "dumps has a date twice"),
        ({"values": ["items"]}, "values.0"),
    ],
)
def test_odd_settings_are_one_line(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message) as raised:
        settings.parse(Wikidata, {"dumps": {20170301: "a.json"}} | changes, "wikidata")
    assert "\n" not in str(raised.value)


def test_paths_without_files_are_one_line_that_names_the_dump(tmp_path: Path) -> None:
    wikidata = settings.parse(Wikidata, {"dumps": {20170301: str(tmp_path / "none*.json")}}, "wikidata")
    with pytest.raises(InputError, match=r"^examples\.wikidata\.dumps\.20170301: .*none\*\.json matches no file"):
        wikidata.inputs()


def test_buckets_grow_with_the_largest_dump_in_powers_of_two() -> None:
    assert [buckets_for([size]) for size in (0, 1 << 30, 3 << 29, 80 << 30)] == [8, 32, 32, 512]
