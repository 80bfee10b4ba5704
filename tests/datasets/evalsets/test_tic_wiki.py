"""TiC-Wiki: from dumps of a wiki to passages that changed and passages that did not, month by month."""

from __future__ import annotations

import bz2
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest
from builds import Backwards
from paths import SHARED
from rich.console import Console
from wikisite import JULY, JUNE, MAY, Edit, page, write

from ticlm.core import settings
from ticlm.core.errors import InputError
from ticlm.core.examples import Examples
from ticlm.core.fingerprint import fingerprint
from ticlm.datasets.evalsets import show
from ticlm.datasets.evalsets.recipe import ExampleSetRecipe, build, builds
from ticlm.datasets.evalsets.tic_wiki import TicWiki
from ticlm.datasets.io.in_process import ProcessExecutor
from ticlm.datasets.io.unpack import unpacked
from ticlm.datasets.wiki import staging
from ticlm.datasets.wiki.diffs import Comparison

MEDIAWIKI = SHARED / "mediawiki"


@pytest.fixture
def dumps(tmp_path: Path) -> Path:
    """Three months; May in two parts, and one dump of its month too many."""
    folder = tmp_path / "dumps"
    write(folder, "wwiki-20160501-pages-articles1.xml-p1p3.bz2", MAY[:3])
    write(folder, "wwiki-20160501-pages-articles2.xml-p4p7.bz2", MAY[3:])
    write(folder, "wwiki-20160520-pages-articles.xml.bz2", JUNE)
    write(folder, "wwiki-20160603-pages-articles.xml", JUNE)
    write(folder, "wwiki-20160701-pages-articles.xml.bz2", JULY)
    (folder / "wwiki-20160701-pages-articles-multistream-index.txt.bz2").write_bytes(bz2.compress(b"0:1:Aba"))
    return folder


def recipe(folder: Path | str, seed: int = 0, **changes: Any) -> ExampleSetRecipe:
    wiki = {"kind": "tic-wiki", **({} if "history" in changes else {"dumps": str(folder)}), **changes}
    return settings.parse(ExampleSetRecipe, {"name": "w", "version": 1, "examples": wiki, "seed": seed}, "test")


def texts(examples: Examples, period: str, subset: str) -> set[tuple[str, str]]:
    return {(example.id, example.text) for example in examples.read(period, subset)}


def hashes(examples: Examples) -> dict[str, str]:
    return {f"{p}/{s}": one.sha256 for p, e in examples.periods.items() for s, one in e.subsets.items()}


def test_every_month_after_the_first_has_what_changed_and_what_did_not(dumps: Path, tmp_path: Path, loop: None) -> None:
    examples = build(recipe(dumps), str(tmp_path / "root"))
    assert list(examples.periods) == ["201606", "201607"]
    assert texts(examples, "201606", "changed") == {
        ("1#0", "A lead."),
        ("1#2", "It has 3.15 units."),
        ("8#0", "All new. Of course."),
        ("8#1", "Two paragraphs."),
    }
    assert texts(examples, "201606", "unchanged") == {
        ("1#1", "Aba is one."),
        ("1#3", "It is old."),
        ("1#4", "End."),
        ("2#0", "Beb never changes. Not at all."),
        ("6#0", "Moved text."),
    }
    assert texts(examples, "201607", "changed") == {("2#0", "Beb changed.")}
    moved = next(one for one in examples.read("201606", "unchanged") if one.id == "6#0")
    assert moved.about == {
        "title": "New name",
        "url": "https://w.example/wiki?curid=6",
        "old": "20160501",
        "new": "20160603",
    }


def test_every_page_and_passage_is_used_or_counted(dumps: Path, tmp_path: Path, loop: None) -> None:
    examples = build(recipe(dumps, passages=3), str(tmp_path / "root"))
    june = examples.periods["201606"]
    assert {step.name: (step.read, step.kept, step.dropped) for step in june.steps} == {
        "older dump": (7, 5, {"another namespace": 1, "deleted text": 1}),
        "newer dump": (7, 6, {"redirect": 1}),
        "templates": (1, 0, {"stub": 1}),
        "pages": (7, 4, {"deleted": 1, "text not known in the older dump": 1, "without prose": 1}),
        "changed passages": (5, 3, {"without a letter": 1, "not sampled": 1}),
        "unchanged passages": (5, 3, {"not sampled": 2}),
    }
    assert june.statistics == {
        "pages": {"new": 1, "changed": 1, "unchanged": 2, "deleted": 1},
        "passages": {"changed": 4, "unchanged": 5},
        "passages that are new or moved": {"moved within the article": 0, "new in the article": 4},
    }
    assert [path.rsplit("-", 1)[-1] for path in june.lineage.inputs] == ["p1p3.bz2", "p4p7.bz2", "articles.xml"]
    (dumps_read,) = builds(examples.store)[-1].steps
    assert (dumps_read.read, dumps_read.dropped) == (4, {"another of its month": 1})
    assert not examples.store.exists("staging")


def test_passages_that_only_moved_are_counted_and_changed_unless_the_setting_says_otherwise(
    tmp_path: Path, loop: None
) -> None:
    lines = ["Alpha is one.", "Beta is two.", "Gamma is three.", "Delta is four."]
    for stamp, text in (("20160501", lines), ("20160601", [*lines[1:], lines[0], "Epsilon is new."])):
        write(tmp_path, f"wwiki-{stamp}-pages-articles.xml", [page(1, "Letters", "\n\n".join(text))])
    for moved, changed in (("changed", {"Alpha is one.", "Epsilon is new."}), ("unchanged", {"Epsilon is new."})):
        examples = build(recipe(tmp_path, moved=moved), str(tmp_path / moved))
        assert {text for _, text in texts(examples, "201606", "changed")} == changed
        june = examples.periods["201606"].statistics
        assert june["passages that are new or moved"] == {"moved within the article": 1, "new in the article": 1}
        assert june["passages"] == {"changed": len(changed), "unchanged": 5 - len(changed)}
        shown = Console(file=io.StringIO(), width=100)
        shown.print(show.overview(examples))
        assert isinstance(shown.file, io.StringIO)
        assert re.search(r"moved within the article +1 +50.0%", shown.file.getvalue())


def test_a_set_in_which_moved_passages_are_changed_is_known_as_before_there_was_a_choice() -> None:
    """Its identity is that of version 0.1, whose sets a newer program can go on with."""
    before = "dd97cdb3c0a36f76ffa04a403cf2cf2a03d9c482c3d02a1ee49a4365093e504c"
    assert fingerprint(TicWiki(dumps=("x",), templates="dropped").identity) == before
    assert fingerprint(TicWiki(dumps=("x",), templates="dropped", moved="unchanged").identity) != before
    assert fingerprint(TicWiki(dumps=("x",)).identity) != before


def test_a_sample_is_the_same_whatever_the_buckets_and_another_with_another_seed(
    dumps: Path, tmp_path: Path, loop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = build(recipe(dumps, passages=2), str(tmp_path / "few"))
    all_of_them = build(recipe(dumps), str(tmp_path / "all"))
    assert texts(few, "201606", "changed") < texts(all_of_them, "201606", "changed")
    monkeypatch.setattr(staging, "BUCKET_BYTES", 1000)
    monkeypatch.setattr(Backwards, "each", ProcessExecutor.each)
    assert hashes(build(recipe(dumps, passages=2), str(tmp_path / "many"))) == hashes(few)
    others = [build(recipe(dumps, seed=seed, passages=2), str(tmp_path / f"{seed}")) for seed in range(1, 5)]
    assert len({frozenset(texts(one, "201606", "changed")) for one in others}) > 1


class Killed(Exception):
    pass


@pytest.mark.parametrize("calls", range(12))
def test_a_build_that_was_killed_goes_on_to_the_same_bytes(
    calls: int, dumps: Path, tmp_path: Path, loop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "BUCKET_BYTES", 400)
    quiet = hashes(build(recipe(dumps, passages=2), str(tmp_path / "quiet")))
    left = calls

    def some(_: Backwards, function: Any, items: Any, *__: Any) -> Iterator[Any]:
        nonlocal left
        for item in items:
            if not left:
                raise Killed
            left -= 1
            yield function(item)

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Backwards, "each", some)
        build(recipe(dumps, passages=2), str(tmp_path / "root"))
    read = {"pages": 0}
    real = staging.WikiStage.read

    def counted(stage: Any, reading: Any) -> None:
        read["pages"] += 1
        real(stage, reading)

    monkeypatch.setattr(staging.WikiStage, "read", counted)
    assert hashes(build(recipe(dumps, passages=2), str(tmp_path / "root"))) == quiet
    assert read["pages"] == max(0, 4 - calls), "what was read is not read again"


def test_a_larger_dump_beside_a_build_that_was_killed_is_no_obstacle(
    tmp_path: Path, loop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    dumps = tmp_path / "dumps"
    write(dumps, "w-20160501.xml", MAY)
    write(dumps, "w-20160603.xml", JUNE)
    monkeypatch.setattr(staging, "BUCKET_BYTES", 1000)

    begun: list[int] = []

    def killed(comparison: Any, number: int, left: Any) -> Iterator[Any]:
        begun.append(number)
        if len(begun) > 1:
            raise Killed
        yield from real(comparison, number, left)

    real = Comparison.diffs
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr(Comparison, "diffs", killed)
        build(recipe(dumps), str(tmp_path / "root"))
    write(dumps, "w-20160701.xml", [*JUNE, *(page(100 + n, f"P{n}", f"Paragraph {n}.") for n in range(60))])
    again = build(recipe(dumps), str(tmp_path / "root"))
    assert hashes(again) == hashes(build(recipe(dumps), str(tmp_path / "quiet")))


def test_a_month_more_is_added_and_nothing_else_is_opened(
    dumps: Path, tmp_path: Path, loop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    july = dumps / "wwiki-20160701-pages-articles.xml.bz2"
    data = july.read_bytes()
    july.unlink()
    before = hashes(build(recipe(dumps), str(tmp_path / "root")))
    july.write_bytes(data)
    opened: list[str] = []

    def noted(path: str) -> Iterator[tuple[str, BinaryIO]]:
        opened.append(path)
        return unpacked(path)

    monkeypatch.setattr(staging, "unpacked", noted)
    after = hashes(build(recipe(dumps), str(tmp_path / "root")))
    assert sorted(path.rsplit("/", 1)[-1][:14] for path in opened) == ["wwiki-20160603", "wwiki-20160701"]
    assert after.items() > before.items() and "201607/changed" in after
    assert after == hashes(build(recipe(dumps), str(tmp_path / "at-once")))


def test_a_page_can_be_the_unit(dumps: Path, tmp_path: Path, loop: None) -> None:
    examples = build(recipe(dumps, unit="page"), str(tmp_path / "root"))
    assert texts(examples, "201606", "changed") == {
        ("1", "A lead. It has 3.15 units. ***"),
        ("8", "All new. Of course. Two paragraphs."),
    }


def test_a_history_is_cut_into_snapshots(tmp_path: Path, loop: None) -> None:
    path = write(
        tmp_path,
        "wwiki-pages-meta-history.xml.bz2",
        [
            page(1, "A", Edit("One. Two.", 1, "2016-05-31T00:00:00Z"), Edit("One. Three.", 2, "2016-07-01T12:00:00Z")),
            page(2, "B", Edit("Born.", 3, "2016-06-15T00:00:00Z")),
        ],
    )
    with pytest.raises(InputError, match="snapshots must lie in different months"):
        recipe("", history=str(path), snapshots=[20160701, 20160601, 20160630])
    first = build(recipe("", history=str(path), snapshots=[20160701, 20160601]), str(tmp_path / "root"))
    assert list(first.periods) == ["201607"]
    benchmark = recipe("", history=str(path), snapshots=[20160801, 20160701, 20160601])
    examples = build(benchmark, str(tmp_path / "root"))  # a day more is a period more
    assert texts(examples, "201607", "changed") == {("1#1", "Three."), ("2#0", "Born.")}
    assert texts(examples, "201608", "changed") == set()
    assert texts(examples, "201608", "unchanged") == {("1#0", "One. Three."), ("2#0", "Born.")}


def test_a_single_month_has_nothing_to_be_compared_with(tmp_path: Path, loop: None) -> None:
    write(tmp_path, "w-20160501.xml", MAY)
    with pytest.raises(InputError, match="dumps of 1 months leave nothing to compare; give two or more"):
        build(recipe(tmp_path), str(tmp_path / "root"))


def test_a_file_that_is_no_dump_ends_the_build_with_its_name(dumps: Path, tmp_path: Path, loop: None) -> None:
    (dumps / "wwiki-20160701-pages-articles.xml.bz2").write_bytes(bz2.compress(b"<posts/>"))
    with pytest.raises(InputError, match=r"20160701-pages-articles\.xml\.bz2 is no dump of a MediaWiki"):
        build(recipe(dumps), str(tmp_path / "root"))


def edited(data: bytes) -> bytes:
    """The dump of a month later: every third article with a changed number, every fifth with a sentence more."""
    parts = data.split(b"</text>")
    for number, part in enumerate(parts[:-1]):
        if b"#REDIRECT" not in part[-400:]:
            head, _, tail = part.rpartition(b"\n")
            more = b"\n\nA sentence that was not there. It has %d words." % number if number % 5 == 0 else b""
            parts[number] = head + b"\n" + tail + more
    return b"</text>".join(parts)


@pytest.mark.slow
@pytest.mark.skipif(not MEDIAWIKI.exists(), reason="needs the shared data")
def test_a_real_history_is_cut_into_years(tmp_path: Path, loop: None) -> None:
    """Most of this small wiki is users who say who they are; its two articles were lists of links."""
    years = [f"{year}0101" for year in range(2006, 2010)]
    history = str(MEDIAWIKI / "aawiki-20260101")
    wiki = recipe("", history=history, snapshots=years, namespaces=[0, 2, 3, 4], passages=100)
    examples = build(wiki, str(tmp_path / "root"))
    assert {label: one.statistics["pages"] for label, one in examples.periods.items()} == {
        "200701": {"new": 33, "changed": 3, "unchanged": 14, "deleted": 0},
        "200801": {"new": 69, "changed": 9, "unchanged": 43, "deleted": 0},
        "200901": {"new": 66, "changed": 8, "unchanged": 114, "deleted": 0},
    }
    last = {step.name: (step.read, step.kept) for step in examples.periods["200901"].steps}
    assert last["older dump"] == (165, 132) and last["newer dump"] == (277, 209) and last["pages"] == (211, 188)
    assert examples.periods["200901"].subsets["changed"].rows == 100


@pytest.mark.ray
@pytest.mark.nightly
@pytest.mark.skipif(not MEDIAWIKI.exists(), reason="needs the shared data")
def test_real_pages_become_passages_on_ray(ray_local: None, tmp_path: Path) -> None:
    data = b"".join(stream.read() for _, stream in unpacked(str(next((MEDIAWIKI / "gensim").iterdir()))))
    (tmp_path / "may.xml").write_bytes(data)
    (tmp_path / "june.xml.bz2").write_bytes(bz2.compress(edited(data)))
    dumps = {20160501: str(tmp_path / "may.xml"), 20160601: str(tmp_path / "june.xml.bz2")}
    examples = build(recipe("", dumps=dumps, passages=500), str(tmp_path / "root"))
    june = examples.periods["201606"]
    pages = {step.name: (step.read, step.kept) for step in june.steps}
    assert pages["newer dump"] == pages["older dump"] == (206, 106)
    assert june.statistics["pages"]["changed"] > 10 and june.subsets["unchanged"].rows == 500
    for example in examples.read("201606", "changed"):
        assert example.text.startswith(("A sentence that was not there.", "It has")), example
