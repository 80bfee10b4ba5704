"""Whole snapshots of a wiki as documents, and a corpus of the first one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import date
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from changesets import passage, write_changes
from rich.console import Console
from wikisite import Edit, dump, extract, page, write

from ticlm.core.accounting import Step
from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import Calendar
from ticlm.core.settings import parse
from ticlm.datasets.corpus import build, build_records
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.show import overview
from ticlm.datasets.examples.documents import ExampleDocuments
from ticlm.datasets.io.documents import Bad, Document, Skipped
from ticlm.datasets.synthetic.encyclopedia import Encyclopedia
from ticlm.datasets.synthetic.world import SyntheticWorld
from ticlm.datasets.wiki import wikitext
from ticlm.datasets.wiki.articles import WikiArticles
from ticlm.datasets.wiki.mediawiki import BROKEN

LAKE = page(1, "Lake  Brom", "'''Lake Brom''' is in [[Oslo]].\n\n== Fish ==\n* Cod of 3 May 2021.\n{{x}}")
PAGES = (
    LAKE,
    page(2, "Brom", "#REDIRECT [[Lake Brom]]", redirect="Lake Brom"),
    page(3, "Talk:Lake", "Hello.", space=1),
    page(4, "Empty", "  "),
    page(5, "Table", "{| \n| a\n|}"),
)


def read(source: WikiArticles, calendar: Calendar = Calendar()) -> Iterator[Document | Bad | Skipped | Step]:  # noqa: B008
    for entry in source.inputs(calendar):
        for piece in source.pieces(entry):
            yield from source.read(piece)


def documents(source: WikiArticles, calendar: Calendar = Calendar()) -> dict[tuple[str, str], str]:  # noqa: B008
    found = [one for one in read(source, calendar) if isinstance(one, Document)]
    return {(one.id, f"{one.timestamp:%Y%m%d}"): one.text for one in found}


def test_an_article_is_its_title_and_its_paragraphs_and_all_other_pages_are_counted(tmp_path: Path) -> None:
    write(tmp_path, "w-20230220-pages-articles.xml.bz2", PAGES)
    source = WikiArticles(dumps=(str(tmp_path),))
    assert documents(source) == {("1", "20230220"): "Lake Brom\nLake Brom is in Oslo.\nCod of 3 May 2021."}
    skipped = Counter(one.reason for one in read(source) if isinstance(one, Skipped))
    assert skipped == {"redirect": 1, "another namespace": 1, "without text": 1, "without prose": 1}
    assert not source.inputs(Calendar())[0].group, "documents are held out by their ids, not by snapshots"
    without = documents(source.model_copy(update={"lists": False}))
    assert [*without.values()] == ["Lake Brom\nLake Brom is in Oslo."]
    sentence = source.model_copy(update={"title_as": "sentence"})
    assert [*documents(sentence).values()] == ["Lake Brom. Lake Brom is in Oslo.\nCod of 3 May 2021."]
    assert fingerprint(source.identity) != fingerprint(sentence.identity) and "title_as" in source.without_meaning()


def test_only_files_of_snapshots_within_the_calendar_are_read(tmp_path: Path) -> None:
    for day in ("20230201", "20230220", "20230301"):
        write(tmp_path, f"w-{day}.xml", [page(1, "A", f"It is {day}.")])
    source = WikiArticles(dumps=(str(tmp_path),))
    assert documents(source) == {("1", day): f"A\nIt is {day}." for day in ("20230201", "20230301")}
    first = parse(Calendar, {"initial": 202302, "last": 202302}, "test")
    assert [*documents(source, first)] == [("1", "20230201")] and source.count_outside(first) == 1
    assert source.identity == WikiArticles(dumps=("elsewhere",)).identity != source.model_copy(update={"lists": False})


def test_a_history_gives_each_page_as_it_stood_at_each_snapshot(tmp_path: Path) -> None:
    edits = (Edit("Old.", 1, "2023-01-01T00:00:00Z"), Edit("New.", 2, "2023-02-15T00:00:00Z"))
    pages = [page(1, "A", *edits), page(2, "B", Edit("Born.", 3, "2023-02-20T00:00:00Z"))]
    write(tmp_path, "w-pages-meta-history.xml", [*pages])
    source = WikiArticles(history=(str(tmp_path),), snapshots=("20230201", "20230301"))
    stood = {("1", "20230201"): "A\nOld.", ("1", "20230301"): "A\nNew.", ("2", "20230301"): "B\nBorn."}
    assert documents(source) == stood


def test_extracted_text_and_the_encyclopedia_of_a_world_are_read_as_they_are(tmp_path: Path) -> None:
    extract(tmp_path, "20230201/AA/wiki_00", [(1, "A", "[[Old]] &amp; new.\n\nTwo."), (2, "B", "")])
    with (tmp_path / "20230201/AA/wiki_00").open("a") as file:
        file.write('{"id": "9"}\n')
    source = WikiArticles(extracted=(str(tmp_path),))
    document, skipped, bad = read(source)
    assert isinstance(document, Document) and document.text == "A\n[[Old]] & new.\nTwo."
    assert isinstance(skipped, Skipped) and isinstance(bad, Bad) and bad.where.endswith("wiki_00")
    world = SyntheticWorld(towns=4, firms=4, clubs=2, offices=1, stories=0)
    source = WikiArticles(world=world, snapshots=("20230101", "20230301"))
    first = parse(Calendar, {"initial": 202301, "last": 202301}, "test")
    articles = Encyclopedia(world, source.encyclopedia).articles(date(2023, 1, 1))
    assert documents(source, first) == {(str(one.id), "20230101"): f"{one.title}\n{one.text}" for one in articles}


def test_what_cannot_be_parsed_or_is_cut_off_is_bad(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def parsed(text: str, *rest: Any) -> list[str]:
        if "x" in text:
            raise wikitext.Unparsable(wikitext.FAILED)
        return [text]

    monkeypatch.setattr("ticlm.datasets.wiki.articles.paragraphs", parsed)
    whole = dump([page(1, "A", "x"), page(2, "B", "y"), page(3, "C", "z")])
    (tmp_path / "w-20230201.xml").write_bytes(whole[: whole.index(b"<title>C")])
    failed, document, cut = read(WikiArticles(dumps=(str(tmp_path),)))
    assert isinstance(failed, Bad) and (failed.reason, failed.where.endswith("w-20230201.xml: page 1")) == (
        wikitext.FAILED,
        True,
    )
    assert isinstance(document, Document) and isinstance(cut, Bad) and cut.reason == BROKEN


def test_a_corpus_of_the_first_snapshot(tmp_path: Path) -> None:
    for day in ("20230201", "20230301"):
        write(tmp_path, f"w-{day}.xml", PAGES)
    given = {
        "name": "toy",
        "version": "1",
        "documents": {"kind": "wiki-articles", "dumps": str(tmp_path)},
        "periods": {"initial": 202302, "last": 202302},
        "splits": {"eval": 0, "tune": 0},
        "rows": {"kind": "salient-spans", "tagger": "rules", "title": True, "inputs": 64},
        "tokenizer": {"kind": "train", "vocab_size": 400},
        "length": 48,
        "executor": "process",
    }
    corpus = build.build(parse(CorpusRecipe, given, "test"), str(tmp_path / "root"))
    (period,) = corpus.periods.values()
    assert period.splits["train"].rows == 1
    (record,) = build_records.builds(corpus.store)
    assert record.parts == (Step(name="templates", read=1, dropped={"x": 1}),)
    console = Console(width=100, file=StringIO(), record=True)
    console.print(overview(corpus))
    assert "templates: 1, of which left out: 1 x" in console.export_text()
    assert {reason: period.dropped[reason] for reason in ("redirect", "without prose")} == {
        "redirect": 1,
        "without prose": 1,
    }
    (tmp_path / "w-20230201.xml").write_bytes(dump(PAGES)[:-200])
    with pytest.raises(InputError, match="broken XML; how much is lost is not known"):
        build.build(parse(CorpusRecipe, given, "test"), str(tmp_path / "other"))


def test_a_corpus_of_the_first_snapshot_and_of_what_changed_later(tmp_path: Path) -> None:
    write(tmp_path, "w-20230201.xml", PAGES)
    changed = passage("1", "Lake Brom", "Lake Brom is dry.")
    march = write_changes(str(tmp_path / "changes"), {"202303": {"changed": [changed]}, "202304": {"added": [changed]}})
    source = WikiArticles(
        dumps=(str(tmp_path / "*.xml"),), changes=ExampleDocuments(set=march, subset="changed", title=True)
    )
    calendar = parse(Calendar, {"initial": 202302, "last": 202304}, "test")
    assert documents(source, calendar) == {
        ("1", "20230201"): "Lake Brom\nLake Brom is in Oslo.\nCod of 3 May 2021.",
        ("1", "20230301"): "Lake Brom\nLake Brom is dry.",
    }
    alone = source.model_copy(update={"changes": None})
    assert fingerprint(alone.identity) == fingerprint(WikiArticles(dumps=("x.xml",)).identity)
    moved = source.model_copy(update={"changes": ExampleDocuments(set="elsewhere@1", subset="changed", title=True)})
    assert fingerprint(source.identity) == fingerprint(moved.identity) != fingerprint(alone.identity)
