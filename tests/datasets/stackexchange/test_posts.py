"""Posts: joined from three tables, and as they stood at the end of a month."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paths import SHARED
from stacksite import Dump

from ticlm.datasets.io.documents import Input
from ticlm.datasets.stackexchange import dumps
from ticlm.datasets.stackexchange.dumps import Row, Table
from ticlm.datasets.stackexchange.posts import Post, joined, label, month_of, record

CONLANG = SHARED / "stackexchange/conlang.meta.stackexchange.com.7z"
JANUARY = 2020 * 12
EDIT_TITLE, EDIT_BODY, BACK_TITLE, BACK_BODY, CLOSE, DELETE, UNDELETE = 4, 5, 7, 8, 10, 12, 13


def posts(dump: Dump, left: Counter[str] | None = None) -> dict[str, Post]:
    records = [record(table, row) for table, rows in dump.tables.items() for row in rows]
    good = [one for one in records if not isinstance(one, str)]
    return {post.id: post for post in joined(good, Counter() if left is None else left)}


def asked() -> Dump:
    dump = Dump()
    dump.ask(1, "2020-01-05", "Why?", "first", accepted=2)
    dump.answer(2, 1, "2020-01-06", "reply")
    return dump


def test_a_month_is_a_number_and_back() -> None:
    assert month_of("2020-01-31T23:59:59.999") == JANUARY
    assert label(JANUARY) == "202001" and label(JANUARY - 1) == "201912"


def test_a_post_stands_with_the_last_words_of_each_month() -> None:
    dump = asked()
    dump.change(1, "2020-01-20", EDIT_BODY, "second")
    dump.change(1, "2020-01-31T23:59:59.999", EDIT_BODY, "third")
    dump.change(1, "2020-02-01T00:00:00.000", EDIT_BODY, "fourth")
    dump.change(1, "2020-03-02", EDIT_TITLE, "Why, then?")
    dump.change(1, "2020-05-02", BACK_BODY, "third")
    dump.change(1, "2020-05-03", BACK_TITLE, "Why?")
    post = posts(dump)["1"]
    bodies = [post.body(JANUARY + n) for n in range(-1, 5)]
    assert bodies == [None, "third", "fourth", "fourth", "fourth", "third"]
    assert [post.title(JANUARY + n) for n in range(-1, 5)] == [None, "Why?", "Why?", "Why, then?", "Why, then?", "Why?"]


def test_of_two_changes_at_one_moment_the_later_row_stands() -> None:
    dump = asked()
    for text in ("b", "a"):
        dump.change(1, "2020-01-20", EDIT_BODY, text)
    assert posts(dump)["1"].body(JANUARY) == "a"


def test_tags_closing_and_the_like_change_no_text() -> None:
    dump = asked()
    dump.change(1, "2020-01-20", CLOSE, "duplicate")
    dump.change(1, "2020-01-21", 6, "<tag>")
    assert posts(dump)["1"].body(JANUARY) == "first"


def without_history(**more: str) -> Post:
    dump = Dump()
    dump.ask(1, "2020-01-05", "Why?", "a <code>x</code> &amp; b", accepted=2, **more)
    dump.tables["PostHistory"].clear()
    return posts(dump)["1"]


def test_without_history_what_stands_now_stood_always_if_it_was_never_edited() -> None:
    post = without_history()
    assert (post.title(JANUARY), post.body(JANUARY)) == ("Why?", "a x & b")


def test_without_history_what_was_edited_is_known_from_that_month_on_only() -> None:
    post = without_history(LastEditDate="2020-03-09T10:00:00.000")
    assert [post.body(JANUARY + n) for n in range(4)] == [None, None, "a x & b", "a x & b"]


def test_an_event_without_its_text_leaves_it_unknown_until_the_last_change() -> None:
    dump = asked()
    dump.change(1, "2020-02-05", EDIT_BODY)
    dump.change(1, "2020-04-05", EDIT_BODY, "known")
    assert [posts(dump)["1"].body(JANUARY + n) for n in range(4)] == ["first", None, None, "known"]


def test_a_history_that_lacks_the_beginning_says_nothing_of_it() -> None:
    dump = asked()
    dump.tables["PostHistory"].clear()
    dump.change(1, "2020-03-05", EDIT_BODY, "late")
    assert [posts(dump)["1"].body(JANUARY + n) for n in range(3)] == [None, None, "late"]


def test_a_post_is_deleted_from_one_month_to_another() -> None:
    dump = asked()
    dump.change(2, "2020-02-05", DELETE)
    dump.change(2, "2020-04-05", UNDELETE)
    dump.change(2, "2020-04-06", DELETE)
    dump.change(2, "2020-04-07", UNDELETE)
    assert [posts(dump)["2"].is_deleted(JANUARY + n) for n in range(5)] == [False, True, True, False, False]


def test_votes_count_until_the_end_of_the_month() -> None:
    dump = asked()
    dump.vote(2, "2020-01-31", times=5)
    dump.vote(2, "2020-02-01", 3, times=2)
    dump.vote(2, "2020-03-01")
    dump.vote(2, "2020-01-07", 1)
    dump.vote(2, "2020-01-07", 16)
    post = posts(dump)["2"]
    assert [post.score_at(JANUARY + n) for n in range(-1, 3)] == [0, 5, 3, 4]
    assert post.acceptance == JANUARY


def test_rows_of_posts_that_are_not_there_are_counted() -> None:
    dump = asked()
    dump.vote(9, "2020-01-07")
    dump.vote(9, "2020-01-07", 1)
    dump.change(9, "2020-01-07", EDIT_BODY, "?")
    dump.tables["Posts"].append(dump.tables["Posts"][0])
    left: Counter[str] = Counter()
    assert set(posts(dump, left)) == {"1", "2"}
    assert left == {"Votes": 2, "PostHistory": 1, "Posts": 1}


@pytest.mark.parametrize(
    ("table", "change", "reason"),
    [
        ("Posts", {"Id": ""}, "without Id"),
        ("Posts", {"Id": "x"}, "without Id"),
        ("Posts", {"Id": "²"}, "without Id"),
        ("Posts", {"Id": "9" * 5000}, "without Id"),
        ("Posts", {"CreationDate": ""}, "without date"),
        ("Posts", {"CreationDate": "yesterday"}, "unreadable date"),
        ("Posts", {"CreationDate": "2020-13-01T00:00:00.000"}, "unreadable date"),
        ("Posts", {"CreationDate": "2008-06-30T23:59:59.999"}, "before the site existed"),
        ("Posts", {"LastEditDate": "never"}, "unreadable date"),
        ("Posts", {"Score": "many"}, "unreadable score"),
        ("Posts", {"PostTypeId": "5"}, "neither question nor answer"),
        ("Posts", {"PostTypeId": "2"}, "answer without question"),
        ("Posts", {"PostTypeId": "2", "ParentId": "-1"}, "answer without question"),
        ("PostHistory", {"PostId": ""}, "without PostId"),
        ("PostHistory", {"PostHistoryTypeId": "24"}, "no change of a text"),
        ("PostHistory", {"PostHistoryTypeId": ""}, "no change of a text"),
        ("Votes", {"VoteTypeId": "5"}, "another kind of vote"),
        ("Votes", {"VoteTypeId": ""}, "another kind of vote"),
    ],
)
def test_a_row_that_says_nothing_is_counted_under_a_reason(table: Table, change: Row, reason: str) -> None:
    dump = asked()
    dump.vote(2, "2020-01-07")
    assert not isinstance(record(table, dump.tables[table][0]), str)
    assert record(table, {**dump.tables[table][0], **change}) == reason


ROWS = st.lists(
    st.tuples(
        st.sampled_from(("change", "vote")),
        st.sampled_from((1, 2)),
        st.sampled_from(
            [f"20{year}-{month:02d}-{day:02d}" for year in (20, 21) for month in (1, 2, 7) for day in (1, 28)]
        ),
        st.sampled_from((1, 2, 3, 4, 5, 7, 8, 10, 12, 13)),
        st.sampled_from((None, "", "one", "two")),
    ),
    max_size=12,
)


def with_rows(rows: list[tuple[Any, ...]]) -> Dump:
    dump = asked()
    for what, post, date, kind, text in rows:
        if what == "vote":
            dump.vote(post, date, kind)
        else:
            dump.change(post, date, kind, text)
    return dump


def standing(post: Post, month: int) -> tuple[Any, ...]:
    return post.title(month), post.body(month), post.score_at(month), post.is_deleted(month)


@given(rows=ROWS, data=st.data())
def test_the_order_of_the_rows_is_nothing(rows: list[tuple[Any, ...]], data: st.DataObject) -> None:
    records = [found for table, one in with_rows(rows).tables.items() for row in one
               if not isinstance(found := record(table, row), str)]  # fmt: skip
    shuffled = data.draw(st.permutations(records))
    assert list(joined(shuffled, Counter())) == list(joined(records, Counter()))


@given(rows=ROWS, later=ROWS, month=st.integers(JANUARY, JANUARY + 18))
def test_what_comes_after_a_month_does_not_change_how_a_post_stood_in_it(
    rows: list[tuple[Any, ...]], later: list[tuple[Any, ...]], month: int
) -> None:
    after = [row for row in later if month_of(row[2]) > month]
    before, now = posts(with_rows(rows)), posts(with_rows(rows + after))
    for name in ("1", "2"):
        title, body, *others = standing(before[name], month)
        new_title, new_body, *new_others = standing(now[name], month)
        assert new_others == others
        # what stood is the same, or (where its history has a gap that the text of the dump filled) no longer known
        assert new_title in (title, None) and new_body in (body, None)
        gaps = [row for row in rows if row[0] == "change" and row[4] is None]
        assert gaps or (new_title, new_body) == (title, body)


@pytest.mark.skipif(not CONLANG.exists(), reason="no shared data")
def test_the_last_of_the_past_of_a_real_site_is_what_its_dump_shows() -> None:
    found = [one for piece in dumps.pieces(entry_of(CONLANG)) for one in dumps.rows(piece)]
    records = [
        one for table, row in found if not isinstance(row, str) and not isinstance(one := record(table, row), str)
    ]
    everything = list(joined(records, Counter()))
    shown = {row["Id"]: row for table, row in found if table == "Posts" and not isinstance(row, str)}
    assert len(everything) == 169 and sum(post.score != 0 for post in everything) > 100
    for post in everything:
        assert post.score_at(9999 * 12) == post.score
        if post.accepted:
            assert post.title(9999 * 12) == shown[post.id]["Title"]


def entry_of(path: Path) -> Input:
    (found,) = dumps.inputs([str(path)])
    return found
