"""Wikidata: entities of real and of odd dumps, read line by line, every one of them accounted for."""

from __future__ import annotations

import bz2
import gzip
import json
import tracemalloc
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import SHARED

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.settings import Settings
from ticlm.datasets.wikidata import entities as wikidata
from ticlm.datasets.wikidata.entities import (
    ENDED,
    NOT_PREFERRED,
    Entity,
    EntityFields,
    Outcome,
    Property,
    Redirect,
    canonical,
    entities,
    entity,
)
from ticlm.datasets.wikidata.values import StatementValue

WIKIDATA = SHARED / "wikidata"
TODAY = date(2017, 3, 1)
ALL = ("item", "string", "monolingualtext", "quantity", "time")
shared = pytest.mark.skipif(not WIKIDATA.exists(), reason="no shared data")


def snak(kind: str, value: Any, datatype: str | None = None) -> dict[str, Any]:
    found = {"snaktype": "value", "property": "P1", "datavalue": {"type": kind, "value": value}}
    return found if datatype is None else {**found, "datatype": datatype}


def item_snak(number: int) -> dict[str, Any]:
    return snak("wikibase-entityid", {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}, "wikibase-item")


def item(*snaks: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {
        "type": "item",
        "id": "Q1",
        "labels": {"en": {"language": "en", "value": "one"}},
        "aliases": {"en": [{"language": "en", "value": "uno"}, {"language": "en", "value": "one"}]},
        "claims": {"P1": [{"mainsnak": found, "rank": "normal", "type": "statement"} for found in snaks]},
        "sitelinks": {"enwiki": {"site": "enwiki", "title": "One", "badges": []}},
        **changes,
    }


def read(raw: object, day: date | None = None, **reading: Any) -> Outcome:
    return entity(json.dumps(raw).encode(), EntityFields.model_validate(reading), day)


def values(*snaks: dict[str, Any], **reading: Any) -> tuple[list[StatementValue], dict[str, int]]:
    found = read(item(*snaks), **reading)
    assert isinstance(found, Entity)
    assert found.read == len(snaks) == len(found.statements) + sum((found.dropped or {}).values())
    return [value for _, value in found.statements], dict(found.dropped or {})


def test_an_item_has_a_label_aliases_an_article_and_statements_of_other_items() -> None:
    assert read(item(item_snak(42))) == Entity("Q1", "one", ("uno",), "One", (("P1", StatementValue("Q42")),), 1, {})


def test_the_label_for_all_languages_serves_where_there_is_none_of_ones_own() -> None:
    for languages, label in (({"mul": "m", "de": "d"}, "m"), ({"mul": "m", "en": "e"}, "e")):
        found = read(item(labels={key: {"language": key, "value": value} for key, value in languages.items()}))
        assert isinstance(found, Entity) and found.label == label
    german = read(item(labels={"de": {"language": "de", "value": "eins"}}), language="de", site="dewiki")
    assert isinstance(german, Entity) and (german.label, german.title, german.aliases) == ("eins", None, ())


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (item(labels={}), "without label"),
        (item(labels=[]), "without label"),
        (item(labels={"en": {"language": "en", "value": "  "}}), "without label"),
        (item(labels={"en": {"language": "en", "value": "\ud83d"}}), "without label"),
        (item(labels={"en": "one"}), "without label"),
        ({"type": "property", "id": "P1", "labels": []}, "property without label"),
        ({"type": "lexeme", "id": "L1", "lemmas": {}}, "lexeme"),
        ({"type": "item", "id": "P1"}, "not an entity"),
        (item(id="Q\ud83d"), "not an entity"),
        ({"type": "item", "id": 7}, "not an entity"),
        ({"entity": "Q1", "redirect": "P2"}, "redirect"),
        ({"entity": "Q1", "redirect": None}, "redirect"),
        ({"entity": "Q" + "9" * 5000, "redirect": "Q2"}, "redirect"),
        ({"entity": ["item", 1], "label": []}, "without label"),
        ({"claims": []}, "not an entity"),
        ([item()], "not an entity"),
        ("Q1", "not an entity"),
        (None, "not an entity"),
    ],
)
def test_what_is_no_item_with_a_label_has_a_reason(raw: object, reason: str) -> None:
    assert read(raw) == reason


def test_a_merged_item_says_what_it_was_merged_into() -> None:
    assert read({"entity": "Q1", "redirect": "Q2"}) == Redirect("Q1", "Q2")
    assert read({"entity": ["item", 1], "redirect": ["item", 2]}) == Redirect("Q1", "Q2")  # before 2014


@pytest.mark.parametrize("line", [b'{"type": "item", "id": "Q1"', b"\xff\xfe", b"[" * 100_000, b"<page>"])
def test_a_line_that_is_no_json_is_broken(line: bytes) -> None:
    assert entity(line, EntityFields()) == "broken JSON line"


def test_an_item_without_an_article_has_no_statements_to_ask_of() -> None:
    several: list[object] = [{}, [], {"dewiki": {"title": "Eins"}}, {"enwiki": {"title": None}}, {"enwiki": []}]
    for links in several:
        assert read(item(item_snak(2), sitelinks=links)) == Entity("Q1", "one", ("uno",))


def test_titles_are_written_as_the_wiki_writes_them() -> None:
    assert [canonical(title) for title in ("iPod_touch", "A  b", "éa", "")] == ["IPod touch", "A b", "Éa", ""]


def test_deprecated_and_empty_statements_are_left_out_with_the_reason() -> None:
    raw = item(item_snak(2), item_snak(3), {"snaktype": "somevalue"}, {"snaktype": "novalue"})
    raw["claims"]["P1"][0]["rank"] = "deprecated"
    raw["claims"]["P2"] = [None, {"mainsnak": []}]
    raw["claims"]["P3"] = {"mainsnak": item_snak(4)}  # one where there should be a list
    found = read(raw)
    assert isinstance(found, Entity)
    assert found.statements == (("P1", StatementValue("Q3")), ("P3", StatementValue("Q4")))
    reasons = {"deprecated": 1, "unknown value": 1, "no value": 1, "another kind of value": 2}
    assert (found.read, found.dropped) == (7, reasons)
    assert read(item(claims=[])) == Entity("Q1", "one", ("uno",), "One", (), 0, {})


def test_a_preferred_statement_hides_those_of_normal_rank() -> None:
    """The mayor of today is preferred; former ones stand beside with normal rank."""
    raw = item(item_snak(2), item_snak(3), item_snak(4), {"snaktype": "somevalue"})
    raw["claims"]["P1"][1]["rank"] = "preferred"
    raw["claims"]["P1"][2]["rank"] = "deprecated"
    raw["claims"]["P3"] = [{"mainsnak": item_snak(5), "rank": "normal"}]
    found = read(raw)
    assert isinstance(found, Entity)
    assert found.statements == (("P1", StatementValue("Q3")), ("P3", StatementValue("Q5")))
    assert found.dropped == {NOT_PREFERRED: 2, "deprecated": 1}


def ending(*times: dict[str, Any], value: int = 2, rank: str = "normal") -> dict[str, Any]:
    """A statement with end times."""
    ends = [snak("time", time) if "time" in time else time for time in times]
    return {"mainsnak": item_snak(value), "rank": rank, "qualifiers": {"P582": ends, "P580": [snak("string", "x")]}}


@pytest.mark.parametrize(
    ("time", "precision", "over"),
    [
        ("+2017-02-28T00:00:00Z", 11, True),
        ("+2017-03-01T00:00:00Z", 11, False),
        ("+00000002017-02-00T00:00:00Z", 10, True),
        ("+2017-03-00T00:00:00Z", 10, False),
        ("+2016-00-00T00:00:00Z", 9, True),
        ("+2017-01-01T00:00:00Z", 9, False),
        ("+2000-00-00T00:00:00Z", 8, True),
        ("+2010-00-00T00:00:00Z", 8, False),
        ("+1900-00-00T00:00:00Z", 7, True),
        ("+2000-00-00T00:00:00Z", 7, False),
        ("+1000-00-00T00:00:00Z", 6, True),
        ("+2000-00-00T00:00:00Z", 0, False),
        ("-0044-03-15T00:00:00Z", 11, True),
        ("soon", 11, False),
    ],
)
def test_a_statement_has_ended_if_the_last_day_it_may_mean_is_past(time: str, precision: int, over: bool) -> None:
    raw = item()
    raw["claims"]["P1"] = [ending({"time": time, "precision": precision}), ending(value=3)]
    found = read(raw, TODAY, ended="dropped")
    assert isinstance(found, Entity) and found.read == 2
    assert [value.key for _, value in found.statements] == (["Q3"] if over else ["Q2", "Q3"])
    assert found.dropped == ({ENDED: 1} if over else {})


def test_statements_that_ended_leave_before_ranks_count_if_they_leave_at_all() -> None:
    past, later = {"time": "+1990-05-01T00:00:00Z", "precision": 11}, {"time": "+2030-05-01T00:00:00Z", "precision": 11}
    raw = item()
    raw["claims"]["P1"] = [
        ending(past, rank="preferred"),
        ending(later, value=3),
        ending(past, later, value=4),
        ending({"snaktype": "somevalue"}, value=5),
        ending(past, past, value=6),
        ending(past, value=7, rank="deprecated"),
    ]
    found = read(raw, TODAY, ended="dropped")
    assert isinstance(found, Entity)
    assert [value.key for _, value in found.statements] == ["Q3", "Q4", "Q5"]
    assert found.dropped == {ENDED: 2, "deprecated": 1}
    for kept in (read(raw, TODAY), read(raw, ended="dropped")):  # by default; and where the day is not known
        assert isinstance(kept, Entity)
        assert [value.key for _, value in kept.statements] == ["Q2"]
        assert kept.dropped == {NOT_PREFERRED: 4, "deprecated": 1}


def test_ids_do_not_change_where_ended_statements_are_kept() -> None:
    class Before(Settings, identity="EntityFields"):
        """The fields that there were at first."""

        language: str = "en"
        site: str = "enwiki"
        values: tuple[str, ...] = ("item",)

    assert fingerprint(EntityFields()) == fingerprint(Before())
    assert fingerprint(EntityFields(ended="dropped")) != fingerprint(Before())


def test_literals_count_where_they_are_asked_for() -> None:
    number, text = snak("quantity", {"amount": "+1234567.50", "unit": "1"}), snak("string", " a  b ", "string")
    assert values(number, text, item_snak(2)) == ([StatementValue("Q2")], {"another kind of value": 2})
    assert values(number, text, item_snak(2), values=ALL) == (
        [
            StatementValue("quantity 1234567.50", "1,234,567.50", ("1234567.50",)),
            StatementValue("string a b", "a b"),
            StatementValue("Q2"),
        ],
        {},
    )
    other = [snak("string", "x", kind) for kind in ("external-id", "url", "commonsMedia")]
    assert values(*other, snak("globecoordinate", {}), values=ALL) == ([], {"another kind of value": 4})
    known = [snak("string", "x"), snak("monolingualtext", {"language": "en", "text": "y"})]  # 2014: no datatypes
    foreign = snak("monolingualtext", {"language": "fr", "text": "z"})
    assert values(*known, foreign, values=ALL)[0] == [
        StatementValue("string x", "x"),
        StatementValue("monolingualtext y", "y"),
    ]


def test_a_time_is_its_year_whatever_the_dump_calls_it() -> None:
    times = [
        {"time": "+1952-03-11T00:00:00Z", "precision": 11},
        {"time": "+00000001952-01-01T00:00:00Z", "precision": 9},
        {"time": "-0044-03-15T00:00:00Z", "precision": 11},
    ]
    found, dropped = values(*[snak("time", time) for time in times], values=["time"])
    assert ([value.text for value in found], dropped) == (["1952", "1952", "44 BC"], {})
    coarse = snak("time", {"time": "+1900-00-00T00:00:00Z", "precision": 7})
    assert values(coarse, values=["time"]) == ([], {"date coarser than a year": 1})


@pytest.mark.parametrize(
    "odd",
    [
        snak("time", {"time": "1952"}),
        snak("time", {"time": "+0000-01-01T00:00:00Z"}),
        snak("time", {"time": 5}),
        snak("quantity", {"amount": "many"}),
        snak("quantity", {"amount": "1e999999999"}),
        snak("quantity", {"amount": "NaN"}),
        snak("string", "\ud83d"),
        snak("monolingualtext", {"language": "en", "text": 3}),
        snak("wikibase-entityid", {"entity-type": "item"}),
        snak("wikibase-entityid", {"entity-type": "item", "id": "Q\ud83d"}),
        snak("wikibase-entityid", {"entity-type": "item", "numeric-id": True, "id": 3}),
    ],
)
def test_a_value_that_cannot_be_read_is_counted(odd: dict[str, Any]) -> None:
    assert values(odd, values=ALL) == ([], {"unreadable value": 1})


def dump(path: Path, *lines: bytes) -> str:
    text = b"[\n" + b",\n".join(lines) + b"\n]\n"
    match path.suffix:
        case ".gz":
            text = gzip.compress(text)
        case ".bz2":
            text = bz2.compress(text)
    path.write_bytes(text)
    return str(path)


@pytest.mark.parametrize("name", ["dump.json", "dump.json.gz", "dump.json.bz2"])
def test_a_dump_is_read_whatever_it_is_packed_with(name: str, tmp_path: Path) -> None:
    lines = [json.dumps(item(id=f"Q{n}")).encode() for n in range(3)]
    assert [
        found.id for found in entities(dump(tmp_path / name, *lines), EntityFields()) if isinstance(found, Entity)
    ] == [
        "Q0",
        "Q1",
        "Q2",
    ]


def test_bom_carriage_returns_and_missing_commas_are_no_damage(tmp_path: Path) -> None:
    line = json.dumps(item()).encode()
    (tmp_path / "a.json").write_bytes(b"\xef\xbb\xbf[\r\n" + line + b",\r\n" + line + b"\n\n " + line + b" , \n]")
    found = list(entities(str(tmp_path / "a.json"), EntityFields()))
    assert [one for one in found if isinstance(one, str)] == []
    assert len(found) == 3


def test_a_dump_that_breaks_off_keeps_what_came_before(tmp_path: Path) -> None:
    lines = [json.dumps(item(id=f"Q{n}", note=str(n**9))).encode() for n in range(2000)]
    path = Path(dump(tmp_path / "a.json.gz", *lines))
    path.write_bytes(path.read_bytes()[:-1000])
    *before, last = entities(str(path), EntityFields())
    assert last == "broken file"
    assert 1000 < len(before) < 2000 and all(isinstance(one, Entity) for one in before)


def test_a_list_without_its_end_is_a_dump_that_breaks_off(tmp_path: Path) -> None:
    line = json.dumps(item()).encode()
    (tmp_path / "a.json").write_bytes(b"[\n" + line + b",\n" + line + b",\n")
    assert [one if isinstance(one, str) else one.id for one in entities(str(tmp_path / "a.json"), EntityFields())] == [
        "Q1",
        "Q1",
        "broken file",
    ]


@pytest.mark.parametrize("data", [b"", b"[\n", b"[\n]\n", gzip.compress(b"[\n{}", mtime=0)[:-9]])
def test_a_file_with_nothing_in_it_is_no_dump(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(data)
    with pytest.raises(InputError, match=r"a\.json is (no dump of Wikidata|damaged): ") as error:
        list(entities(str(tmp_path / "a.json"), EntityFields()))
    assert "\n" not in str(error.value)


def test_a_line_without_an_end_is_counted_and_not_held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wikidata, "LINE_BYTES", 1 << 16)
    line = json.dumps(item()).encode()
    path = dump(tmp_path / "a.json.bz2", line, b'{"type": "' + b"x" * (32 << 20) + b'"}', line)
    tracemalloc.start()
    found = Counter(one if isinstance(one, str) else "item" for one in entities(path, EntityFields()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == {"item": 2, "broken JSON line": 1}
    assert peak < 16 << 20


def test_a_file_of_something_else_is_one_line(tmp_path: Path) -> None:
    for text, count in (("a\n[1],\n{}\n", 3), ("<html>\n</p></html>", 1)):
        (tmp_path / "a.json").write_text(text)
        with pytest.raises(
            InputError, match=rf"a\.json is no dump of Wikidata: none of its {count} lines or pages holds"
        ):
            list(entities(str(tmp_path / "a.json"), EntityFields()))
    with pytest.raises(InputError, match="cannot be read: No such file"):
        list(entities(str(tmp_path / "b.json"), EntityFields()))


@shared
def test_real_entities_are_read_whole() -> None:
    found = list(entities(str(WIKIDATA / "entities-201703.json.gz"), EntityFields()))
    items = {one.id: one for one in found if isinstance(one, Entity)}
    assert len(items) == len(found) == 25
    berlin = items["Q64"]
    assert (berlin.label, berlin.title, berlin.aliases) == ("Berlin", "Berlin", ("Berlin, Germany",))
    assert ("P190", StatementValue("Q84")) in berlin.statements  # a twin of London
    assert items["Q139"].title == "Queen (chess)"
    everything = [one.read for one in items.values()]
    assert sum(everything) == 2336
    for one in items.values():
        assert one.read == len(one.statements) + sum((one.dropped or {}).values())


@shared
@pytest.mark.parametrize("name", ["sample-dump-20150815.json.gz", "mock-dump-with-bugs.json"])
def test_old_dumps_without_labels_are_all_counted(name: str) -> None:
    found = Counter(map(str, entities(str(WIKIDATA / "wdtk" / name), EntityFields())))
    assert found == {"without label": 55, "property without label": 46}


@shared
def test_old_dumps_know_items_by_number() -> None:
    with gzip.open(WIKIDATA / "wdtk/sample-dump-20150815.json.gz") as lines:
        raw = next(json.loads(line.strip().rstrip(b",")) for line in lines if b'"Q42"' in line)
    raw |= {"labels": item()["labels"], "sitelinks": item()["sitelinks"]}
    found = read(raw)
    assert isinstance(found, Entity)
    assert ("P31", StatementValue("Q5")) in found.statements


OLD: dict[str, Any] = {
    "label": {"en": "universe", "fr": "Univers"},
    "aliases": {"en": ["cosmos", "Space"], "de": {"1": "All"}},
    "links": {"enwiki": {"name": "Universe", "badges": []}, "dewiki": "Universum"},
    "entity": ["item", 1],
    "claims": [
        {"m": ["value", 793, "wikibase-entityid", {"entity-type": "item", "numeric-id": 323}], "rank": 1},
        {"m": ["value", 31, "wikibase-entityid", {"entity-type": "item", "numeric-id": 5}], "rank": 0},
        {"m": ["somevalue", 31], "rank": 2},
        {"m": ["value", 571, "time", {"time": "+00000001990-01-01T00:00:00Z", "precision": 9}], "rank": 1},
    ],
}


def test_entities_as_they_were_written_before_2014() -> None:
    assert read(OLD, values=ALL) == Entity(
        "Q1",
        "universe",
        ("cosmos", "Space"),
        "Universe",
        (("P793", StatementValue("Q323")), ("P571", StatementValue("time 1990", "1990"))),
        4,
        {"deprecated": 1, "unknown value": 1},
    )
    german = read(OLD | {"entity": "q1", "label": {"de": "Universum"}}, language="de", site="dewiki")
    assert isinstance(german, Entity) and (german.id, german.title, german.aliases) == ("Q1", "Universum", ("All",))
    assert read({"entity": ["property", 31], "label": {"en": "is a"}, "datatype": "x"}) == Property("P31", "is a")


def test_end_times_of_before_2014_count_too() -> None:
    end = ["value", 582, "time", {"time": "+00000001990-01-01T00:00:00Z", "precision": 9}]
    office = {"m": OLD["claims"][0]["m"], "rank": 1, "q": [["novalue", 1], end, 5]}
    found = read(
        {**OLD, "claims": [office, {**office, "q": None}, {**office, "q": [["somevalue", 582]]}]},
        TODAY,
        ended="dropped",
    )
    assert isinstance(found, Entity)
    assert (len(found.statements), found.dropped) == (2, {ENDED: 1})


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where something stands in JSON."""
    yield path
    keyed = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, one in keyed:
        yield from paths(one, (*path, key))


KINDS = [
    snak("time", {"time": "+1952-03-11T00:00:00Z", "precision": 11}),
    snak("quantity", {"amount": "+1"}),
    snak("monolingualtext", {"language": "en", "text": "y"}),
    snak("string", "x", "string"),
]
WHOLE = [item(item_snak(2), *KINDS), OLD, item(claims={"P1": [ending(KINDS[0]["datavalue"]["value"])]})]


@given(data=st.data())
def test_nothing_that_stands_in_an_entity_can_break_its_reading(data: st.DataObject) -> None:
    raw = json.loads(json.dumps(data.draw(st.sampled_from(WHOLE))))
    junk: st.SearchStrategy[Any] = st.sampled_from(
        [None, True, 3, -1, 1e300, "", "x", "\ud83d", "9" * 5000, [], [1], [[]], {}, {"en": 1}, {"id": []}]
    )
    for _ in range(data.draw(st.integers(1, 3))):
        *parents, last = data.draw(st.sampled_from([path for path in paths(raw) if path]))
        node = raw
        for key in parents:
            node = node[key]
        node[last] = deepcopy(data.draw(junk))  # or it could come to hold itself
    found = read(raw, TODAY, values=ALL, ended="dropped")
    if isinstance(found, Entity):
        assert found.label and found.read == len(found.statements) + sum((found.dropped or {}).values())
        for _, value in found.statements:
            assert value.key.encode() and (value.text is None or value.text.encode())
    else:
        assert isinstance(found, str)


@shared
@pytest.mark.parametrize("cut", [None, -300])
def test_dumps_of_pages_are_read_too(cut: int | None, tmp_path: Path) -> None:
    data = (WIKIDATA / "wdtk/sample-daily-dump-20140220.xml").read_bytes()
    (tmp_path / "a.xml.bz2").write_bytes(bz2.compress(data[:cut]))
    found = list(entities(str(tmp_path / "a.xml.bz2"), EntityFields()))
    items = [one for one in found if isinstance(one, Entity)]
    reasons = Counter(one for one in found if isinstance(one, str))
    assert reasons["broken file"] == (cut is not None)
    assert (items[0].id, items[0].title) == ("Q1", "Universe")
    assert items[0].read == len(items[0].statements) + sum((items[0].dropped or {}).values())


@shared
def test_the_newest_revision_of_a_page_counts() -> None:
    found = list(entities(str(WIKIDATA / "wdtk/mock-dump-for-testing.xml"), EntityFields()))
    assert found == [
        Entity("Q1", "Revision 5"),  # the second of four
        "another namespace",
        Property("P1", "Revision 10005"),
        "another namespace",
    ]
