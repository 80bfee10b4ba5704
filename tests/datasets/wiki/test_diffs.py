"""Wiki diffs: every article of two dumps compared, also where a dump is broken or holds a page twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from wikisite import JULY, JUNE, MAY, dump, page, write

from ticlm.core.accounting import Step
from ticlm.core.store import Store
from ticlm.datasets.examples.context import BuildContext
from ticlm.datasets.wiki import staging
from ticlm.datasets.wiki.changed_texts import diffed
from ticlm.datasets.wiki.dumps import WikiDumps


@dataclass(frozen=True)
class Seen:
    """A step, as it was while it was there."""

    articles: dict[str, dict[str, object]]
    steps: dict[str, Step]
    pages: Mapping[str, int]


def compared(folder: Path, built: frozenset[str] = frozenset()) -> dict[str, Seen]:
    """What `diffed` gives for the dumps of a folder, by period."""
    wiki = WikiDumps(dumps=(f"{folder}/*.xml*",))
    inputs = tuple(wiki.files())
    context = BuildContext(Store(folder / "root"), "staging", 0, inputs, built, print)
    before = set(_staged(context))
    found: dict[str, Seen] = {}
    for step in diffed(context, wiki, inputs):
        several = (step.buckets.read(number, step.writers) for number in range(step.buckets.count))
        articles = {key: value for records in several for key, value in records}
        found[step.period.label] = Seen(articles, {one.name: one for one in step.steps}, step.statistics["pages"])
    assert before.issuperset(_staged(context)), "what was used is let go"
    return found


def _staged(context: BuildContext) -> list[str]:
    return [name for name in context.store.folders("staging") if name.startswith("diffs")]


def test_all_passages_are_there_by_the_titles_of_articles(tmp_path: Path, loop: None) -> None:
    for month, pages in zip("567", (MAY, JUNE, JULY)):
        write(tmp_path, f"w-20160{month}01.xml.bz2", pages)
    found = compared(tmp_path, frozenset({"201607"}))
    assert list(found) == ["201606"]
    articles = found["201606"].articles
    assert sorted(articles) == ["Aba", "Beb", "New", "New name"]
    assert articles["Aba"] == {
        "id": "1",
        "title": "Aba",
        "new": False,
        "text_changed": ["A lead.", "It has 3.15 units.", "***"],
        "text_unchanged": ["Aba is one.", "It is old.", "End."],
    }
    assert articles["New"]["new"] and articles["New name"]["text_changed"] == []
    assert found["201606"].pages == {"new": 1, "changed": 1, "unchanged": 2, "deleted": 1}


def test_pages_in_what_was_lost_of_a_broken_dump_are_neither_new_nor_deleted(tmp_path: Path, loop: None) -> None:
    whole = dump(JUNE)
    (tmp_path / "w-20160501.xml").write_bytes(whole[: whole.index(b"Text again")])
    (tmp_path / "w-20160601.xml").write_bytes(whole)
    (tmp_path / "w-20160701.xml").write_bytes(whole[: whole.index(b"never changes")])
    june, july = compared(tmp_path).values()
    assert june.pages == {"new": 0, "changed": 0, "unchanged": 2, "deleted": 0}
    assert june.steps["older dump"].dropped == {"broken XML": 1}
    assert june.steps["pages"].dropped == {"perhaps in the lost part of the older dump": 4}
    assert july.pages == {"new": 0, "changed": 0, "unchanged": 1, "deleted": 0}
    assert july.steps["pages"].dropped == {"perhaps in the lost part of the newer dump": 5}


def test_a_larger_dump_finds_nothing_staged_in_fewer_buckets(
    tmp_path: Path, loop: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "BUCKET_BYTES", 2000)
    for month, pages in zip("56", (MAY, JUNE)):
        write(tmp_path, f"w-20160{month}01.xml", pages)
    wiki = WikiDumps(dumps=(f"{tmp_path}/*.xml",))
    context = BuildContext(Store(tmp_path / "root"), "staging", 0, tuple(wiki.files()), frozenset(), print)
    next(diffed(context, wiki, context.inputs))  # and is killed
    write(tmp_path, "w-20160701.xml", [*JULY, *(page(100 + n, f"P{n}", f"Paragraph {n}.") for n in range(60))])
    june = compared(tmp_path)["201606"]
    assert sorted(june.articles) == ["Aba", "Beb", "New", "New name"]
    assert june.pages == {"new": 1, "changed": 1, "unchanged": 2, "deleted": 1}


def test_a_page_that_stands_twice_in_a_dump_counts_once(tmp_path: Path, loop: None) -> None:
    write(tmp_path, "w-20160501-articles.xml", JUNE)
    write(tmp_path, "w-20160501-articles-multistream.xml.bz2", JUNE)
    write(tmp_path, "w-20160601.xml", JUNE)
    steps = compared(tmp_path)["201606"].steps
    assert steps["older dump"].dropped == {"page twice in a dump": 6, "redirect": 2}
    assert steps["older dump"].kept == steps["newer dump"].kept == 6
