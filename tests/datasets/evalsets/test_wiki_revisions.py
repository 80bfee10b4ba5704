"""Revisions of a wiki: passages that were added or revised, articles that never changed, and counts of all others."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from builds import Backwards
from rich.console import Console
from wikisite import extract, page, write

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.examples import Example, Examples
from ticlm.core.fingerprint import fingerprint
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build, builds
from ticlm.datasets.evalsets.show import overview
from ticlm.datasets.evalsets.tic_wiki_qa import WikiQuestions
from ticlm.datasets.evalsets.wiki_revisions import WikiRevisions
from ticlm.datasets.io.in_process import ProcessExecutor
from ticlm.datasets.wiki import staging
from ticlm.datasets.wiki.unchanged import NO_LONGER, AppendedMonth

LONG = "It is a long text about a town that nobody has ever seen and that never was." * 8
FEBRUARY = [
    (1, "Aba", "Aba is in the west.\nIt has 3.14 units. It is old."),
    (2, "Beb", "Beb never changes.\nNot at all.\nNever."),
    (3, "Gone", "Soon deleted."),
    (4, "Turned", "Soon a redirect."),
    (5, "Old name", "This page keeps its text."),
    (6, "Lower", "Only the Case changes, really."),
    (7, "Cut", "This stays. This goes away."),
    (8, "Long", LONG + "\nShort."),
]
MARCH = [
    (1, "Aba", "A lead of Aba, the town.\nAba is in the west.\nIt has 3.15 units. It is old.\n2016 2017"),
    (2, "Beb", "Beb never changes.\nNot at all.\nNever."),
    (4, "Turned", ""),
    (5, "New name", "This page keeps its text."),
    (6, "Lower", "Only the case changes: really."),
    (7, "Cut", "This stays."),
    (8, "Long", LONG + "\nShort."),
    (9, "Split", "It was a part of Aba."),
]
APRIL = [*MARCH[:2], (5, "New name", "This page keeps its text. For now."), *MARCH[5:]]
MONTHS = {20230201: FEBRUARY, 20230301: MARCH, 20230401: APRIL}


@pytest.fixture(scope="module")
def snapshots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three months of extracted text, each in two files."""
    folder = tmp_path_factory.mktemp("snapshots")
    for day, pages in MONTHS.items():
        extract(folder, f"{day}/AA/wiki_00", pages[:4])
        extract(folder, f"{day}/AA/wiki_01.bz2", pages[4:])
    return folder


def recipe(folder: Path | str, seed: int = 0, wiki: dict[str, Any] | None = None, **changes: Any) -> ExampleSetRecipe:
    wiki = {"extracted": str(folder)} | (wiki or {})
    given = {"kind": "wiki-revisions", "wiki": wiki, "longer_than": 0, **changes}
    return settings.parse(
        ExampleSetRecipe, {"name": "r", "version": 1, "examples": given, "seed": seed, "executor": "process"}, "test"
    )


@pytest.fixture(scope="module")
def found(snapshots: Path, tmp_path_factory: pytest.TempPathFactory) -> Examples:
    """The set of these months, as it is built when nothing goes wrong."""
    return build(recipe(snapshots), str(tmp_path_factory.mktemp("found")))


def rows(found: Examples, period: str, subset: str) -> dict[str, Example]:
    return {example.id: example for example in found.read(period, subset)}


def texts(found: Examples, period: str, subset: str) -> dict[str, str]:
    return {id: example.text for id, example in rows(found, period, subset).items()}


def hashes(examples: Examples) -> dict[str, str]:
    return {f"{p}/{s}": one.sha256 for p, e in examples.periods.items() for s, one in e.subsets.items()}


def test_a_month_has_what_changed_and_the_first_month_what_never_does(found: Examples) -> None:
    assert {label: list(period.subsets) for label, period in found.periods.items()} == {
        "202302": ["unchanged"],
        "202303": ["added", "changed", "revised"],
        "202304": ["added", "changed", "revised"],
    }
    assert texts(found, "202302", "unchanged") == {
        "2": "Beb never changes.\nNot at all.\nNever.",
        "8": f"{LONG}\nShort.",
    }
    assert texts(found, "202303", "changed") == {
        "1": "A lead of Aba, the town.\nIt has 3.15 units.\n2016 2017",
        "9": "It was a part of Aba.",
    }
    assert texts(found, "202303", "added") == {"1#0": "A lead of Aba, the town.", "9#0": "It was a part of Aba."}
    assert texts(found, "202304", "added") == {"5#0": "For now."} and not texts(found, "202304", "revised")
    (revised,) = rows(found, "202303", "revised").values()
    url = "https://w.example/wiki?curid="
    assert revised == Example(
        id="1#0",
        text="It has 3.15 units.",
        about={
            **{"title": "Aba", "article": "1", "url": f"{url}1", "begin": "45", "end": "63"},
            **{"old": "It has 3.14 units.", "old_begin": "20", "old_end": "38"},
        },
    )
    assert rows(found, "202303", "added")["9#0"].about == {
        **{"title": "Split", "article": "9", "url": f"{url}9", "begin": "0", "end": "21", "new": "yes"}
    }
    assert rows(found, "202304", "added")["5#0"].about["title"] == "New name"


def test_passages_stand_where_their_offsets_say(found: Examples) -> None:
    for day, label in zip(list(MONTHS)[1:], ("202303", "202304")):
        now = {str(id): text for id, _, text in MONTHS[day]}
        for subset in ("added", "revised"):
            for example in found.read(label, subset):
                begin, end = (int(example.about[name]) for name in ("begin", "end"))
                assert now[example.about["article"]][begin:end] == example.text


def test_every_page_and_passage_is_used_or_counted(snapshots: Path, tmp_path: Path, loop: None) -> None:
    found = build(recipe(snapshots, longer_than=21, added=1), str(tmp_path / "root"))
    march = found.periods["202303"]
    assert {step.name: (step.read, step.kept, step.dropped) for step in march.steps} == {
        "older dump": (8, 8, {}),
        "newer dump": (8, 7, {"redirect or empty page": 1}),
        "pages": (9, 7, {"deleted": 2}),
        "compared pages": (7, 2, {"unchanged": 3, "edited without new text": 2}),
        "changed articles": (2, 1, {"too little updated text": 1}),
        "added passages": (3, 1, {"too little updated text": 1, "without a letter": 1}),
        "revised passages": (1, 1, {}),
    }
    assert march.statistics == {
        "articles": {"in the snapshot": 8, "changed before the filter": 2, "changed": 1},
        "articles that differ": {"new": 1, "changed": 1, "edited without new text": 2, "deleted": 2},
        "passages": {"added": 3, "revised": 1, "same": 10, "moved": 0, "deleted": 1},
    }
    first = found.periods["202302"]
    assert {step.name: (step.read, step.dropped) for step in first.steps} == {
        "articles of the first month": (8, {"not the same in 202303": 5, "not the same in 202304": 1}),
        "unchanged articles": (2, {}),
    }
    assert len(first.lineage.inputs) == 6 and len(march.lineage.inputs) == 4


def test_an_article_needs_more_than_500_characters_of_new_text(tmp_path: Path, loop: None) -> None:
    sizes = (499, 500, 501)
    more = {size: "Words " * 82 + "a" * (size - 492) for size in sizes}
    extract(tmp_path, "20230201/wiki_00", [(size, f"{size}", "It stays.") for size in sizes])
    extract(tmp_path, "20230301/wiki_00", [(size, f"{size}", f"It stays.\n{more[size]}") for size in sizes])
    found = build(recipe(f"{tmp_path}/2023*/*", longer_than=500), str(tmp_path / "root"))
    assert texts(found, "202303", "changed") == {"501": more[501]}
    assert texts(found, "202303", "added") == {"501#0": more[501]}
    assert found.periods["202303"].statistics["articles"] == {
        **{"in the snapshot": 3, "changed before the filter": 3, "changed": 1}
    }


def test_of_an_article_that_never_changed_whole_paragraphs_are_kept(
    snapshots: Path, tmp_path: Path, loop: None
) -> None:
    found = build(recipe(snapshots, unchanged_chars=30), str(tmp_path / "root"))
    assert texts(found, "202302", "unchanged") == {"2": "Beb never changes.\nNot at all."}
    assert found.periods["202302"].steps[-1].dropped == {"first paragraph too long": 1}


def test_what_a_page_gets_from_another_is_added_to_it_and_a_page_that_was_split_off_is_new(
    tmp_path: Path, loop: None
) -> None:
    river, bridge = "The river is long.\nIt never freezes.", "The bridge is old.\nIt has nine arches."
    extract(tmp_path, "20230201/wiki_00", [(1, "River", river), (2, "Bridge", bridge), (3, "Town", "A town.\nA mill.")])
    merged = [(1, "River", f"{river}\n{bridge}"), (3, "Town", "A town."), (4, "Mill", "A mill.")]
    extract(tmp_path, "20230301/wiki_00", merged)
    found = build(recipe(f"{tmp_path}/2023*/*"), str(tmp_path / "root"))
    assert texts(found, "202303", "changed") == {"1": bridge, "4": "A mill."}
    assert {id: one.about.get("new") for id, one in rows(found, "202303", "changed").items()} == {"1": None, "4": "yes"}
    statistics = found.periods["202303"].statistics
    assert statistics["articles that differ"] == {"new": 1, "changed": 1, "edited without new text": 1, "deleted": 1}
    assert statistics["passages"]["deleted"] == 1 and not texts(found, "202302", "unchanged")


def test_a_passage_that_only_moved_is_added_as_with_difflib_or_not(tmp_path: Path, loop: None) -> None:
    lines = ["Alpha is one.", "Beta is two.", "Gamma is three."]
    moved = [*lines[1:], lines[0], "Delta is new."]
    for day, text in ((20230201, lines), (20230301, moved)):
        write(tmp_path, f"w-{day}.xml", [page(1, "A", "\n\n".join(text))])
    for setting, added in (("changed", {"Alpha is one.", "Delta is new."}), ("unchanged", {"Delta is new."})):
        wiki = {"extracted": (), "dumps": f"{tmp_path}/*.xml", "moved": setting}
        found = build(recipe("", wiki=wiki), str(tmp_path / setting))
        assert set(texts(found, "202303", "added").values()) == added
        assert found.periods["202303"].statistics["passages"]["moved"] == 1


def test_a_sample_is_the_same_whatever_the_buckets_and_its_passages_are_of_its_articles(
    tmp_path: Path, loop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = [(n, f"Town {n}", f"Town {n} has {n} mills. It is old.") for n in range(1, 31)]
    later = [(n, t, f"Town {n} has {n + 1} mills. It is old. A bridge was built.") for n, t, _ in pages[:20]] + pages[
        20:
    ]
    for day, several in ((20230201, pages), (20230301, later)):
        extract(tmp_path, f"{day}/wiki_00", several)
    caps: dict[str, Any] = {"changed": 5, "added": 3, "unchanged": 4}
    few = build(recipe(f"{tmp_path}/2*/*", **caps), str(tmp_path / "few"))
    whole = build(recipe(f"{tmp_path}/2*/*"), str(tmp_path / "whole"))
    sizes = {subset: len(rows(few, "202303", subset)) for subset in ("changed", "added", "revised")}
    assert sizes == {"changed": 5, "added": 3, "revised": 5} and len(rows(few, "202302", "unchanged")) == 4
    articles = {one.about["article"] for subset in sizes for one in few.read("202303", subset)}
    assert articles == {one.id for one in few.read("202303", "changed")}
    assert all(rows(few, "202303", s).items() <= rows(whole, "202303", s).items() for s in sizes)
    monkeypatch.setattr(staging, "BUCKET_BYTES", 1500)
    monkeypatch.setattr(Backwards, "each", ProcessExecutor.each)
    assert hashes(build(recipe(f"{tmp_path}/2*/*", **caps), str(tmp_path / "many"))) == hashes(few)
    other = build(recipe(f"{tmp_path}/2*/*", seed=1, **caps), str(tmp_path / "other"))
    assert hashes(other) != hashes(few)


class Killed(Exception):
    pass


MORE = pytest.mark.nightly


@pytest.mark.parametrize("calls", [pytest.param(1, marks=MORE), 7, pytest.param(9, marks=MORE), 12, None])
def test_a_build_that_was_killed_goes_on_to_the_same_bytes(
    calls: int | None, found: Examples, snapshots: Path, tmp_path: Path, loop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is killed before it has read all six files, between two buckets, between two months, or before the first."""
    monkeypatch.setattr(staging, "BUCKET_BYTES", 600)
    left = calls

    def some(_: Backwards, function: Any, items: Any, *__: Any) -> Iterator[Any]:
        nonlocal left
        for item in items:
            if left is not None:
                if not left:
                    raise Killed
                left -= 1
            yield function(item)

    def never(*_: Any) -> Any:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Backwards, "each", some)
        patch.setattr(WikiRevisions, "_first", never)
        build(recipe(snapshots), str(tmp_path / "root"))
    assert left in (0, None)
    again = build(recipe(snapshots), str(tmp_path / "root"))
    assert hashes(again) == hashes(found) and not again.store.exists("staging")


def test_a_first_month_that_was_lost_is_built_again_and_the_others_stand(
    found: Examples, snapshots: Path, tmp_path: Path, loop: None
) -> None:
    shutil.copytree(found.store.uri(), tmp_path / "root/examples/r@1")
    shutil.rmtree(tmp_path / "root/examples/r@1/periods/202302")
    stamps = {path: path.stat().st_mtime_ns for path in tmp_path.glob("root/**/20230[34]/**/*.parquet")}
    assert hashes(build(recipe(snapshots), str(tmp_path / "root"))) == hashes(found)
    assert len(stamps) == 6 and all(path.stat().st_mtime_ns == stamp for path, stamp in stamps.items())


def test_a_month_more_is_added_what_stands_stays_and_it_is_said(snapshots: Path, tmp_path: Path, loop: None) -> None:
    wiki = {"extracted": {day: f"{snapshots}/{day}" for day in (20230201, 20230301)}}
    before = hashes(build(recipe("", wiki=wiki), str(tmp_path / "root")))
    told: list[str] = []
    after = build(recipe(snapshots), str(tmp_path / "root"), told.append)
    assert hashes(after).items() > before.items() and "202304" in after.periods
    assert "5" in texts(after, "202302", "unchanged"), "it changed later"
    assert [line for line in told if "anew" in line] == [
        "202304: 1 of 3 unchanged articles of 202302 is not the same any more and is left out from then on; "
        "a recipe of another version would choose them anew"
    ]
    assert len(builds(after.store)) == 2


TOWNS = {n: f"Town {n} lies at a river." for n in range(1, 9)}
"""Articles of which 7 are the same in two snapshots; a third changes one's case, one's text and deletes another, and
a fourth brings one of these back and changes the next."""
LATER = [
    TOWNS,
    TOWNS | {8: "Town 8 lies at a lake."},
    {n: text for n, text in TOWNS.items() if n != 2} | {1: "Town 1 lies at a lake.", 3: "Town 3 Lies at a river."},
    {n: text for n, text in TOWNS.items() if n != 4},
]


def test_an_article_that_changes_in_a_month_that_is_appended_is_told_from_then_on(tmp_path: Path, loop: None) -> None:
    days = (20230201, 20230301, 20230401, 20230501)
    for day, towns in zip(days, LATER):
        extract(tmp_path, f"{day}/wiki_00", [(n, f"Town {n}", text) for n, text in towns.items()])

    def appended(*known: int) -> Examples:
        wiki = {"extracted": {day: f"{tmp_path}/{day}" for day in known}}
        return build(recipe("", wiki=wiki), str(tmp_path / "root"))

    first = appended(*days[:2])
    assert sorted(texts(first, "202302", "unchanged")) == [*"1234567"]
    before = hashes(first)
    found = appended(*days[:3])
    assert texts(found, "202304", NO_LONGER) == {f"{n}": TOWNS[n] for n in (1, 2, 3)}
    (step,) = (step for step in found.periods["202304"].steps if step.name == "unchanged articles until then")
    assert (step.read, step.kept, step.dropped) == (7, 4, {"not the same in 202304": 3})
    assert hashes(found).items() > before.items() and NO_LONGER not in found.periods["202303"].subsets
    found = appended(*days)
    assert texts(found, "202305", NO_LONGER) == {"4": TOWNS[4]}, "one that left does not come back"
    again = hashes(found)
    shutil.rmtree(tmp_path / "root/examples/r@1/periods/202304")
    assert hashes(appended(*days)) == again, "a month that is lost is the same again"
    shutil.rmtree(tmp_path / "root/examples/r@1/periods/202303")
    assert hashes(appended(*days)) == again, "and so is one of those that the first month knew"


def test_a_month_that_was_appended_before_articles_were_followed_is_told(
    snapshots: Path, tmp_path: Path, loop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki = {"extracted": {day: f"{snapshots}/{day}" for day in (20230201, 20230301)}}
    build(recipe("", wiki=wiki), str(tmp_path / "root"))
    with monkeypatch.context() as before:
        before.setattr(AppendedMonth, "of", staticmethod(lambda *_: None))
        found = build(recipe(snapshots), str(tmp_path / "root"))
    assert NO_LONGER not in found.periods["202304"].subsets
    extract(tmp_path, "20230501/AA/wiki_00", APRIL)
    days = {day: f"{snapshots}/{day}" for day in MONTHS} | {20230501: f"{tmp_path}/20230501"}
    told: list[str] = []
    build(recipe("", wiki={"extracted": days}), str(tmp_path / "root"), told.append)
    assert [line for line in told if "not counted" in line] == [
        "202304: which unchanged articles of 202302 are not the same in it was not counted when it was built; "
        "a recipe of another version would choose them anew"
    ]


def test_what_is_shown_of_the_unchanged_articles_says_until_when_they_are_so(
    snapshots: Path, tmp_path: Path, loop: None
) -> None:
    wiki = {"extracted": {day: f"{snapshots}/{day}" for day in (20230201, 20230301)}}
    console = Console(width=100, record=True, file=StringIO())
    console.print(overview(build(recipe("", wiki=wiki), str(tmp_path / "root"))))
    console.print(overview(build(recipe(snapshots), str(tmp_path / "root"))))
    shown = console.export_text()
    assert shown.count("the same until 202303") == 2 and "all months" not in shown
    assert "not the same in 202304" in shown


def test_a_set_built_by_earlier_rules_stands_and_takes_no_month_more(
    snapshots: Path, tmp_path: Path, loop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    wiki = {"extracted": {day: f"{snapshots}/{day}" for day in (20230201, 20230301)}}
    with monkeypatch.context() as earlier:  # the fingerprint of this recipe while 1.5 and 15 had one key
        earlier.setattr(
            ExampleSetRecipe, "identity", "1be895dae61c391f36f7c77e49b87e3b91adfb82d1bdf3be2db8a7cd89a4d07e"
        )
        before = build(recipe("", wiki=wiki), str(tmp_path / "root"))
    with pytest.raises(InputError, match=r"by an earlier ticlm with other rules; .*another version than 1$") as refused:
        build(recipe(snapshots), str(tmp_path / "root"))
    assert "\n" not in str(refused.value)
    again = Examples.open(before.store.uri())
    assert hashes(again) == hashes(before) and texts(again, "202303", "revised")
    rebuilt = build(recipe(snapshots).model_copy(update={"version": "2"}), str(tmp_path / "root"))
    assert rebuilt.info.id == "r@2" and "202304" in rebuilt.periods


def test_a_month_without_a_difference_is_said_and_empty(tmp_path: Path, loop: None) -> None:
    for day in (20230301, 20230201):
        extract(tmp_path, f"{day}/wiki_00", FEBRUARY)
    told: list[str] = []
    found = build(recipe(f"{tmp_path}/2*/*"), str(tmp_path / "root"), told.append)
    assert "202303: no article differs from the snapshot before" in told
    assert [subset.rows for subset in found.periods["202303"].subsets.values()] == [0, 0, 0]
    assert found.periods["202302"].subsets["unchanged"].rows == 8


def test_one_snapshot_is_too_few(tmp_path: Path, loop: None) -> None:
    extract(tmp_path, "20230201/wiki_00", FEBRUARY)
    with pytest.raises(InputError, match="dumps of 1 months leave nothing to compare; give two or more"):
        build(recipe(f"{tmp_path}/2*/*"), str(tmp_path / "root"))


def test_where_snapshots_lie_is_no_part_of_a_sets_identity_and_older_sets_keep_theirs() -> None:
    dropped = {"dumps": "y", "templates": "dropped"}
    one, other = (recipe("", wiki=wiki) for wiki in ({"extracted": "x"}, {"extracted": (), **dropped}))
    assert recipe("", wiki={"extracted": (), "dumps": "y"}).identity != other.identity, "templates are text now"
    assert recipe("", wiki={"extracted": "x", "templates": "dropped"}).identity == one.identity, "it has none"
    assert one.identity == other.identity != recipe("", wiki={"extracted": "x", "moved": "unchanged"}).identity
    worlds = [{"extracted": (), "world": {"seed": seed}, "snapshots": ["20230201"]} for seed in (0, 1)]
    assert len({recipe("", wiki=wiki).identity for wiki in worlds} | {one.identity}) == 3
    questions = WikiQuestions.model_validate({"wiki": dropped, "wikidata": {"dumps": {"20170201": "a"}}})
    assert fingerprint(questions.identity) == "02d2cf06ae9d6e7e1ce750a51ea85887e597f05e4b4f82257f9dc0ebd7bb2b89"


@pytest.mark.parametrize("name", ["evolvingqa-changes", "synthetic-changes"])
def test_the_packaged_recipes_are_whole(name: str) -> None:
    sets = ["examples.wiki.dumps=[x.xml]"] if name == "evolvingqa-changes" else []
    found = settings.load(ExampleSetRecipe, name, settings.RECIPES, sets).examples
    assert isinstance(found, WikiRevisions) and found.longer_than == 500 and found.wiki.moved == "unchanged"
