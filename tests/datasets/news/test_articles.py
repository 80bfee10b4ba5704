"""Articles of news-please and WikiExtractor: titles are first lines, dates may be given for all."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.core.fingerprint import fingerprint
from ticlm.core.periods import Calendar
from ticlm.core.settings import load
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.corpus.salient.row_maker import SalientSpans
from ticlm.datasets.io.documents import Bad, Document
from ticlm.datasets.news.articles import ArticleDocuments
from ticlm.datasets.text.taggers import MaskedTagger

ARTICLE = {
    "authors": ["A. Writer"],
    "date_download": "2021-01-02 10:00:00",
    "date_publish": "2020-05-03 08:15:00",
    "language": "en",
    "maintext": "The mayor spoke.\nNobody listened.",
    "source_domain": "news.example",
    "title": " The mayor \n speaks ",
    "url": "https://news.example/1",
}


def read(folder: Path, **settings: Any) -> list[Document | Bad]:
    reader = ArticleDocuments(paths=(str(folder),), **settings)
    inputs = reader.inputs(Calendar())
    reader.check(inputs)
    return [outcome for entry in inputs for piece in reader.pieces(entry) for outcome in reader.read(piece)]


def test_an_article_of_news_please_is_a_document(tmp_path: Path) -> None:
    (tmp_path / "one.json").write_text(json.dumps(ARTICLE, indent=2))
    others = [{**ARTICLE, "title": None}, {**ARTICLE, "date_publish": None}, {**ARTICLE, "maintext": None}]
    (tmp_path / "others.jsonl").write_text("".join(json.dumps(other) + "\n" for other in [*others, "text"]))
    (tmp_path / "two.json").write_text("{")
    first, untitled, undated, empty, other, broken = read(tmp_path)
    when = datetime(2020, 5, 3, 8, 15, tzinfo=UTC)
    text = "The mayor speaks\nThe mayor spoke.\nNobody listened."
    assert first == Document(text, "https://news.example/1", when, "news.example")
    assert isinstance(untitled, Document) and untitled.text == "\nThe mayor spoke.\nNobody listened."
    where = tmp_path / "others.jsonl"
    assert undated == Bad("without date", f"{where}:2")
    assert empty == Bad("without text", f"{where}:3", when)
    assert other == Bad("not a JSON object", f"{where}:4")
    assert broken == Bad("broken JSON line", f"{tmp_path / 'two.json'}:1")


def test_pages_of_a_dump_have_its_date(tmp_path: Path) -> None:
    page = {"id": "12", "url": "https://en.wikipedia.org/wiki?curid=12", "title": "Paris", "text": "Paris is a city."}
    (tmp_path / "wiki_00.jsonl").write_text(json.dumps(page))
    (found,) = read(tmp_path, fields={"text": "text"}, date=202005)
    assert found == Document("Paris\nParis is a city.", page["url"], datetime(2020, 5, 1, tzinfo=UTC))


def test_fields_that_fit_no_article_are_named_before_a_build(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(json.dumps({"url": "x", "body": "y", "date_publish": "2020-05-03"}))
    with pytest.raises(InputError, match=r"has text in 'maintext'.*; its columns are url, body, date_publish"):
        read(tmp_path)


def test_where_articles_lie_is_not_their_identity() -> None:
    def identity(*paths: str, **settings: Any) -> str:
        return fingerprint(ArticleDocuments(paths=paths, **settings).identity)

    assert identity("a") == identity("b", "c") == identity("a", fields={"timestamp_format": None, **_names()})
    assert len({identity("a"), identity("a", date=202005), identity("a", title="headline")}) == 3


def _names() -> dict[str, str]:
    return {"text": "maintext", "id": "url", "timestamp": "date_publish", "source": "source_domain"}


LEGACY = ("rows.tagger=masked", "rows.title=false", "filters=[]", "version=ckl")


@pytest.mark.parametrize(
    ("name", "periods", "share"),
    [
        ("cc-recentnews", ["202005-202104"], None),
        ("cc-recentnews-small", ["202005-202104"], 0.1),
        ("cc-recentnews-phases", ["202005-202010", "202011-202104"], 0.1),
        ("wikipedia-old", ["202005"], None),
    ],
)
def test_the_recipes_of_ckl_share_their_rows_and_tokenizer(name: str, periods: list[str], share: float | None) -> None:
    def packaged(*sets: str) -> CorpusRecipe:
        return load(CorpusRecipe, name, "datasets/recipes", sets)

    found = packaged("documents.paths=x")
    news = load(CorpusRecipe, "cc-recentnews", "datasets/recipes", ["documents.paths=x"])
    assert [getattr(step, "share", None) for step in found.filters if step.kind == "share"] == [share] * bool(share)
    assert list(found.periods.timeline().labels) == periods
    assert (found.rows, found.length, found.tokenizer) == (news.rows, 350, news.tokenizer)
    paths = ", ".join(f"{label.replace('-', '..')}: x.csv" for label in periods[:1])
    legacy = packaged(f"documents={{kind: masked-csv, paths: {{{paths}}}}}", *LEGACY)
    assert legacy.rows == SalientSpans(tagger=MaskedTagger(), inputs=350) and not legacy.filters
    assert legacy.identity
