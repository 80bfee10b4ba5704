"""Formats of dates are told from values; where day and month can be taken for one another, that is said."""

from __future__ import annotations

from typing import Any

import pytest

from ticlm.platform.proposal.date_formats import DateFormat, told

CASES: list[tuple[list[Any], str | None]] = [
    (["2016-01-04", "2016-02-04T10:00:00Z"], None),
    ([1451865600, 1454544000], None),
    ([1451865600000, 1454544000000], "ms"),
    ([1451865600000000], "us"),
    (["1451865600000000000"], "ns"),
    ([20160104, 20160204], "iso"),
    ([2016, 2017], "%Y"),
    (["Mon, 04 Jan 2016 10:00:00 +0000"], "rfc2822"),
    (["crawl-data/CC-MAIN-2016-07/x.warc"], "crawl"),
    (["04.01.2016"], "%d.%m.%Y"),
    (["January 4, 2016"], "%B %d, %Y"),
    (["2016/01/04 10:30"], "%Y/%m/%d %H:%M"),
    (["Mon Jan 04 10:00:00 +0000 2016"], "%a %b %d %H:%M:%S %z %Y"),
    (["20160104103000"], "%Y%m%d%H%M%S"),
]


@pytest.mark.parametrize(("values", "form"), CASES)
def test_a_format_that_builds_know_is_told_from_values(values: list[Any], form: str | None) -> None:
    found = told(values)
    assert found == DateFormat(form)
    assert found.read(values[0]).year == 2016


def test_a_number_over_twelve_decides_between_day_and_month() -> None:
    assert told(["04/01/2016", "31/01/2016"]) == DateFormat("%d/%m/%Y")
    assert told(["01/04/2016", "01/31/2016"]) == DateFormat("%m/%d/%Y")


def test_a_date_for_each_month_has_the_day_that_stands_still() -> None:
    assert told([f"{month:02d}/01/2016" for month in range(1, 13)]) == DateFormat("%m/%d/%Y", "%d/%m/%Y")


def test_an_order_that_nothing_decides_is_said_to_be_open() -> None:
    assert told(["04/01/2016", "05/02/2016"]) == DateFormat("%d/%m/%Y", "%m/%d/%Y")


@pytest.mark.parametrize("values", [["soon", "later"], [3, 17, 250], [0.5], [True], [""], [], ["a text " * 20]])
def test_what_is_no_date_has_no_format(values: list[Any]) -> None:
    assert told(values) is None


def test_a_few_broken_dates_hide_no_format() -> None:
    assert told(["04.01.2016"] * 40 + ["unknown"]) == DateFormat("%d.%m.%Y")
