"""Roles of columns are told from rows, whatever the columns are called."""

from __future__ import annotations

from typing import Any

import pytest

from ticlm.platform.proposal.columns import Roles, roles_of

TEXT = "Some words about the weather of this week, and what came after it."


def rows(count: int = 40, **columns: Any) -> list[dict[str, Any]]:
    """Rows of these columns; a function is asked for each row's value."""
    return [{key: made(at) if callable(made) else made for key, made in columns.items()} for at in range(count)]


def day(at: int) -> str:
    return f"2016-{at % 12 + 1:02d}-04"


@pytest.mark.parametrize("name", ["text", "body", "content", "message", "whatever"])
def test_the_text_is_the_column_with_most_words(name: str) -> None:
    columns: dict[str, Any] = {name: lambda at: f"{TEXT} {at}", "title": "Two words", "date": day}
    found = roles_of(rows(40, **columns))
    assert isinstance(found, Roles)
    assert (found.text, found.title) == (name, "title")


def test_a_nested_date_is_named_with_dots() -> None:
    found = roles_of(rows(body=lambda at: TEXT + str(at), meta=lambda at: {"date": day(at), "n": at}))
    assert isinstance(found, Roles)
    assert (found.date, found.columns) == ("meta.date", ("body", "meta.date", "meta.n"))


def test_the_time_of_writing_comes_before_that_of_an_edit_and_of_a_download() -> None:
    stamps: dict[str, Any] = {"fetched_date": "2020-01-01", "updated": day, "created_utc": day}
    found = roles_of(rows(40, text=TEXT, **stamps))
    assert isinstance(found, Roles) and found.date == "created_utc"


def test_numbers_count_as_dates_only_under_a_name_of_dates() -> None:
    assert (
        roles_of(rows(text=TEXT, score=1451865600))
        == "no column holds dates that can be read; its columns are text, score"
    )
    found = roles_of(rows(text=TEXT, posted=lambda at: 1451865600 + at * 86400))
    assert isinstance(found, Roles) and found.date == "posted"


def test_an_id_differs_from_row_to_row_unless_it_is_an_address() -> None:
    found = roles_of(rows(text=TEXT, date=day, id=lambda at: at % 7, url=lambda at: f"https://x.org/{at % 20}"))
    assert isinstance(found, Roles) and found.id == "url"
    found = roles_of(rows(text=TEXT, date=day, id=lambda at: at % 7))
    assert isinstance(found, Roles) and found.id == ""


def test_a_source_is_a_name_that_many_rows_share() -> None:
    found = roles_of(rows(text=TEXT, date=day, subreddit=lambda at: f"r{at % 3}", lang="en"))
    assert isinstance(found, Roles) and found.source == "subreddit"
    found = roles_of(rows(text=TEXT, date=day, source=lambda at: f"s{at}"))
    assert isinstance(found, Roles) and found.source == ""


def test_rows_without_text_are_refused_with_the_names_of_their_columns() -> None:
    assert roles_of(rows(n=1, date=day)) == "no column holds text; its columns are n, date"


def test_an_id_may_be_named_after_what_it_names_and_sources_may_be_many() -> None:
    rows = [
        {"content": "some words here", "created_utc": 1.6e9 + at, "doc_key": f"k{at}", "channel": f"c{at // 2}"}
        for at in range(100)
    ]
    found = roles_of(rows)
    assert isinstance(found, Roles)
    assert (found.id, found.source) == ("doc_key", "channel")


def test_text_without_spaces_is_text_and_an_address_is_none() -> None:
    found = roles_of(rows(body="今天天气很好，明天会下雨。" * 3, date=day, link=lambda at: f"https://x.org/{at}" * 5))
    assert isinstance(found, Roles) and found.text == "body"
    assert isinstance(roles_of(rows(link=lambda at: f"https://x.org/{at}", date=day)), str)


def test_a_few_numbers_among_texts_are_no_reason_to_refuse_a_column() -> None:
    found = roles_of(rows(text=lambda at: 7 if at == 3 else f"{TEXT} {at}", date=day))
    assert isinstance(found, Roles) and found.text == "text"
