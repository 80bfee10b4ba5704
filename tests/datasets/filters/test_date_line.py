"""The line that dates a document: what it says, and with which recipes it is refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from ticlm.core.errors import InputError
from ticlm.core.settings import parse
from ticlm.datasets.corpus.recipe import CorpusRecipe
from ticlm.datasets.filters.date_line import DateLine
from ticlm.datasets.io.documents import Document

FILES = {"kind": "files", "paths": ["a.jsonl"]}


def recipe(**changes: Any) -> CorpusRecipe:
    whole = {
        "name": "dated",
        "version": "1",
        "documents": FILES,
        "filters": [{"kind": "date-line"}],
        "tokenizer": {"kind": "train", "vocab_size": 300},
        "length": 16,
    }
    return parse(CorpusRecipe, whole | changes, "recipe")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("Date: %B %Y", "Date: January 2015\n"),
        ("%d %b %Y:", "31 Jan 2015:\n"),
        ("%Y-%m-%d", "2015-01-31\n"),
    ],
)
def test_the_line_by_hand(line: str, said: str) -> None:
    document = Document("A text.", "a", datetime(2015, 1, 31, 23, tzinfo=UTC))
    found = DateLine(line=line)(document)
    assert isinstance(found, Document) and found.text == f"{said}A text."
    assert (found.id, found.timestamp) == (document.id, document.timestamp)


def test_the_line_is_part_of_the_corpus_and_holds_out_the_same_documents() -> None:
    plain, dated, other = recipe(filters=[]), recipe(), recipe(filters=[{"kind": "date-line", "line": "%Y"}])
    assert len({plain.identity, dated.identity, other.identity}) == 3
    documents = [Document("A text.", str(number), datetime(2015, 1, 31, tzinfo=UTC)) for number in range(50)]
    assert [plain.split_of(one) for one in documents] == [dated.split_of(one) for one in documents]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"filters": [{"kind": "date-line", "line": "Date"}]}, "expected one line with %Y"),
        ({"filters": [{"kind": "date-line", "line": "%Y %H"}]}, "expected one line with %Y"),
        ({"filters": [{"kind": "date-line"}, {"kind": "min_chars", "chars": 3}]}, "as the last"),
        ({"documents": {"kind": "examples", "set": "x", "subset": "all"}}, "dates of their own"),
        ({"documents": FILES | {"fields": {"timestamp_format": "%Y"}}, "periods": {"step": "year"}}, "only the year"),
        ({"rows": {"kind": "salient-spans", "tagger": {"kind": "rules"}}}, "rows of kind"),
        ({"deduplicate": {"ngram": 4}}, "an ngram above 4"),
    ],
)
def test_a_line_that_would_be_wrong_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        recipe(**changes)
    assert "\n" not in str(error.value)
