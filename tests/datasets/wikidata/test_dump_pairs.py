"""Pairs of dumps: merged items, broken dumps, builds that were killed, dumps without subjects."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from wikidata_edits import Raw, claim, entity, write_json, write_xml

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.store import Store
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.io.buckets import Buckets
from ticlm.datasets.wikidata.dump_pairs import GONE, MERGED, DumpPair, PairCounts, paired, subject_changes
from ticlm.datasets.wikidata.dumps import Wikidata
from ticlm.datasets.wikidata.statements import pairs, staged


def item(name: str, **claims: str) -> Raw:
    """A subject; of each relation, the ids of the objects."""
    return entity(name, f"label of {name}", {key: [claim(one) for one in ids.split()] for key, ids in claims.items()})


def redirect(source: str, target: str) -> Raw:
    return {"entity": source, "redirect": target}


def context_of(folder: Path, old: str, new: str, **fields: Any) -> tuple[BuildContext, Wikidata]:
    wikidata = settings.parse(Wikidata, {"dumps": {20170301: old, 20170401: new}, **fields}, "wikidata")
    files = tuple(wikidata.inputs())
    return BuildContext(Store(folder / "set"), "staging/x", 0, files, frozenset(), lambda line: None), wikidata


def pair_of(folder: Path, old: list[Raw], new: list[Raw]) -> DumpPair:
    paths = (write_json(folder / "old.json", iter(old)), write_xml(folder / "new.xml", iter(new)))
    return made(*context_of(folder, *paths))


def made(context: BuildContext, wikidata: Wikidata) -> DumpPair:
    return paired(context, *(staged(context, wikidata, dump) for dump in wikidata.dumps))


def compared(pair: DumpPair) -> tuple[dict[str, str], PairCounts]:
    counts = PairCounts()
    found = subject_changes(pair, range(pair.newer.subjects.count), counts)
    named = [(change.triplet, change.fate) for each in found for change in each.changes]
    return {f"{t.subject} {t.relation} {t.object}": fate for t, fate in named}, counts


OBJECTS = [entity(f"Q{n}", f"object {n}") for n in (50, 51, 52)]
OLD = [item("Q1", P1="Q50"), item("Q2", P1="Q51", P2="Q52"), item("Q3", P1="Q52"), item("Q4"), *OBJECTS]


def test_what_was_known_of_merged_items_is_known_of_what_they_became(loop: None, tmp_path: Path) -> None:
    """Q2 and Q9 become Q1, Q3 one without an article; Q51, which Q1 names still, becomes Q50."""
    old = [*OLD, item("Q9", P1="Q50", P3="Q52")]
    said = item("Q1", P1="Q50 Q51", P2="Q52", P3="Q52")
    merges = [redirect("Q2", "Q9"), redirect("Q9", "Q1"), redirect("Q3", "Q50"), redirect("Q51", "Q50")]
    pair = pair_of(
        tmp_path, old, [said, OBJECTS[0], OBJECTS[2], *merges, redirect("Q70", "Q71"), redirect("Q71", "Q70")]
    )
    fates, counts = compared(pair)
    assert fates == {"Q1 P1 Q50": "same", "Q1 P2 Q52": "same", "Q1 P3 Q52": "same", "Q3 P1 Q52": "removed"}
    assert (counts.read, counts.dropped, counts.gone) == (4, {"repeated triplet": 1}, {MERGED: 1})
    entities = pair.newer.steps[0]
    assert (entities.read, entities.dropped) == (9, {"redirect": 4, "redirect in a circle": 2})
    for ours, subject, before in [(True, *one) for n in range(8) for one in pairs(pair.newer, pair.older, n)]:
        assert ours and subject.id == "Q1" and before is not None  # what Algorithm 3 reads stays as the dump has it
        assert [(t.object, t.text) for t in subject.triplets][:2] == [("Q50", "object 50"), ("Q51", None)]
        assert [t.object for t in before] == ["Q50"]


def test_an_item_whose_article_came_with_a_merged_one_has_its_facts(loop: None, tmp_path: Path) -> None:
    old = [item("Q1", P1="Q50"), entity("Q2", "two"), *OBJECTS]
    pair = pair_of(tmp_path, old, [item("Q2", P1="Q50", P2="Q51"), redirect("Q1", "Q2"), *OBJECTS])
    (found,) = subject_changes(pair, range(8), PairCounts())
    assert [(c.triplet.subject, c.triplet.object, c.fate) for c in found.changes] == [
        ("Q2", "Q50", "same"),
        ("Q2", "Q51", "new"),
    ]
    assert found.before is not None and [t.subject for t in found.before] == ["Q2"]


def test_subjects_that_are_gone_are_removed_with_the_reason(loop: None, tmp_path: Path) -> None:
    fates, counts = compared(pair_of(tmp_path, OLD, [item("Q1", P1="Q50"), entity("Q2", "no article"), *OBJECTS]))
    gone = {"Q2 P1 Q51": "removed", "Q2 P2 Q52": "removed", "Q3 P1 Q52": "removed"}
    assert fates == gone | {"Q1 P1 Q50": "same"}
    assert counts.gone == {GONE: 3}


@pytest.mark.parametrize("broken", ["old", "new"])
def test_what_a_broken_dump_may_have_lost_is_neither_new_nor_gone(broken: str, loop: None, tmp_path: Path) -> None:
    new = [item("Q1", P1="Q50"), item("Q8", P1="Q50 Q51"), *OBJECTS]
    paths = [write_json(tmp_path / f"{name}.json", iter(raws)) for name, raws in (("old", OLD), ("new", new))]
    file = tmp_path / f"{broken}.json"
    file.write_text(file.read_text().replace("[\n", '[\n{"type": "item", "id"\n', 1))
    context, wikidata = context_of(tmp_path, *paths)
    fates, counts = compared(made(context, wikidata))
    lost = {"old": {"Q8 P1 Q50", "Q8 P1 Q51"}, "new": {"Q2 P1 Q51", "Q2 P2 Q52", "Q3 P1 Q52"}}
    assert fates["Q1 P1 Q50"] == "same" and not lost[broken] & fates.keys()
    assert lost["new" if broken == "old" else "old"] < fates.keys()
    assert counts.dropped + counts.gone == (
        {"perhaps in the lost part of the older dump": 2, GONE: 3}
        if broken == "old"
        else {"perhaps in the lost part of the newer dump": 3}
    )


def test_a_pair_that_was_killed_goes_on_to_the_same(
    loop: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    new = [item("Q1", P1="Q50 Q51", P2="Q52"), *OBJECTS[::2], redirect("Q2", "Q1"), redirect("Q51", "Q50")]
    (tmp_path / "whole").mkdir()
    whole = compared(pair_of(tmp_path / "whole", OLD, new))
    context = context_of(tmp_path, str(tmp_path / "whole/old.json"), str(tmp_path / "whole/new.xml"))
    read, calls, kills, pair = Buckets.read, 0, 0, None

    def killed(self: Buckets, *rest: Any) -> Iterator[Any]:
        nonlocal calls
        calls += 1
        if calls == 1 + 3 * kills:
            raise KeyboardInterrupt
        yield from read(self, *rest)

    monkeypatch.setattr(Buckets, "read", killed)
    while pair is None:
        try:
            pair = made(*context)
        except KeyboardInterrupt:
            kills, calls = kills + 1, 0
    assert kills > 4
    monkeypatch.setattr(Buckets, "read", read)
    assert compared(pair) == whole
    store = pair.newer.subjects.store
    assert not [path for path in store.walk("staging") if "/objects-" in path]
    store.remove(pair.newer.info_path)  # as a kill leaves it in the midst of forgetting
    pair = made(*context)
    assert compared(pair) == whole
    pair.forget()
    for dump in (pair.older, pair.newer):
        dump.forget()
    assert store.walk("staging") == []


@pytest.mark.parametrize(
    ("fields", "links", "message"),
    [
        ({}, {}, "none of 2 items has an article on 'enwiki' (wikidata.site): they have no sitelinks at all"),
        ({"site": "xwiki"}, {"frwiki": {"title": "x"}, "dewiki": {"title": "x"}}, "on 2 wikis, most on dewiki, frwiki"),
        ({"language": "xx"}, {}, "no item has a label in 'xx' (wikidata.language), nor one in 'mul'"),
    ],
)
def test_a_dump_without_subjects_is_one_line(
    fields: dict[str, Any], links: Raw, message: str, loop: None, tmp_path: Path
) -> None:
    raws = [{**entity(name, name), "sitelinks": links} for name in ("Q1", "Q2")]
    path = tmp_path / "a.json"
    path.write_text("[\n" + ",\n".join(map(json.dumps, raws)) + "\n]\n")
    context, wikidata = context_of(tmp_path, str(path), str(path), **fields)
    for _ in range(2):  # and again where it is read already
        with pytest.raises(InputError) as error:
            staged(context, wikidata, wikidata.dumps[0])
        assert message in str(error.value) and "\n" not in str(error.value)
        assert str(error.value).startswith("examples.wikidata.dumps.20170301: ")
