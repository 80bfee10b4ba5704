"""Calendars: half of the text first, then the finest steps that have enough of it, and only what is over."""

from __future__ import annotations

from datetime import date, timedelta

import pytest

from ticlm.core.errors import InputError
from ticlm.platform.proposal.inspection import Amount
from ticlm.platform.proposal.periods import chosen

TODAY = date(2020, 6, 1)


def daily(first: date, last: date, documents: float = 2, size: float = 6_000) -> dict[date, Amount]:
    return {first + timedelta(days=at): Amount(documents, size, 3_000) for at in range((last - first).days + 1)}


def test_even_text_gives_half_to_the_first_span_and_months_after_it() -> None:
    found = chosen(daily(date(2018, 1, 1), date(2019, 12, 31)), TODAY, 14)
    assert (found.calendar.initial, found.step, found.calendar.last) == ("201801..201812", "month", "201912")
    assert found.timeline.labels[:2] == ("201801-201812", "201901")
    assert len(found.amounts) == len(found.timeline) == 13
    assert found.first.documents == 730


def test_fewer_periods_take_a_coarser_step() -> None:
    found = chosen(daily(date(2018, 1, 1), date(2019, 12, 31)), TODAY, 6)
    assert (found.step, len(found.timeline)) == ("quarter", 5)


def test_little_text_a_month_takes_a_coarser_step() -> None:
    found = chosen(daily(date(2014, 1, 1), date(2019, 12, 31), 0.3, 1_000), TODAY, 24)
    assert found.step == "quarter"
    assert all(amount.bytes > 80_000 for amount in found.amounts)


def test_the_month_of_the_newest_text_counts_only_when_it_is_over() -> None:
    days = daily(date(2018, 1, 1), date(2019, 12, 31))
    assert chosen(days, date(2019, 12, 31), 14).calendar.last == "201911"
    assert chosen(days, date(2020, 1, 1), 14).calendar.last == "201912"


def test_text_that_ends_in_the_middle_of_a_month_leaves_it_open() -> None:
    found = chosen(daily(date(2018, 1, 1), date(2019, 12, 14)), TODAY, 14)
    assert found.calendar.last == "201911"
    assert "28 documents from 2019-12-01 on wait" in found.notes[0]


def test_a_tiny_month_beside_large_ones_is_merged_into_a_quarter() -> None:
    days = daily(date(2018, 1, 1), date(2019, 12, 31), size=600_000)
    days |= {day: Amount(2, 2_000, 1_000) for day in days if (day.year, day.month) == (2019, 8)}
    assert chosen(days, TODAY, 14).step == "quarter"


def test_a_month_that_is_mostly_one_document_is_merged_into_a_quarter() -> None:
    days = daily(date(2018, 1, 1), date(2019, 12, 31), 2, 4_000)
    first = {day: Amount(2, 204_000, 200_000) for day in days if day.day == 1}
    assert chosen(days, TODAY, 14).step == "month"
    assert chosen(days | first, TODAY, 14).step == "quarter"
    giants = {day: Amount(2, 4_000_000, 3_996_000) for day in days if (day.month, day.day) == (1, 1)}
    assert chosen(days | giants, TODAY, 14).step == "month", "no step has less of it"


def test_a_date_to_come_does_not_end_a_month_before_its_text() -> None:
    days = {**daily(date(2018, 1, 1), date(2019, 12, 14)), date(2020, 9, 1): Amount(1, 100, 100)}
    found = chosen(days, TODAY, 14)
    assert found.calendar.last == "201911"
    assert "29 documents from 2019-12-01 on wait" in found.notes[0]


def test_text_of_a_few_months_is_cut_into_weeks() -> None:
    found = chosen(daily(date(2020, 1, 1), date(2020, 4, 30), 20, 60_000), TODAY, 12)
    assert found.step == "week"
    assert found.calendar.timeline().labels == found.timeline.labels


def test_dates_that_tell_only_months_or_years_take_no_finer_step() -> None:
    assert chosen(daily(date(2020, 1, 1), date(2020, 4, 30), 20, 60_000), TODAY, 12, "month").step == "month"
    assert chosen(daily(date(2010, 1, 1), date(2019, 12, 31)), TODAY, 24, "year").step == "year"


def test_text_that_doubles_every_month_still_has_a_calendar() -> None:
    days = {date(2019, month, 1): Amount(20 * 2**month, 60_000 * 2**month, 100) for month in range(1, 10)}
    found = chosen({**days, date(2019, 9, 28): Amount(1, 100, 100)}, TODAY, 14, "month")
    assert (found.step, len(found.timeline) >= 3) == ("month", True)


def test_a_few_dates_from_long_before_are_left_out() -> None:
    found = chosen({date(1980, 1, 1): Amount(2, 100, 50), **daily(date(2018, 1, 1), date(2019, 12, 31))}, TODAY, 14)
    assert found.calendar.initial == "201801..201812"
    assert "2 documents from before 2018-01-01 are left out" in found.notes[0]


def test_one_month_and_too_little_text_are_refused_in_a_line() -> None:
    with pytest.raises(InputError, match="all documents are dated 201803"):
        chosen(daily(date(2018, 3, 1), date(2018, 3, 31)), TODAY, 14)
    with pytest.raises(InputError, match=r"10 documents with 20,000 bytes of text are too little to learn from"):
        chosen({date(2018, at, 1): Amount(1, 2_000, 2_000) for at in range(1, 11)}, TODAY, 14)
