"""Time: the months of TiC-CC, how a calendar is cut, and where a date falls."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ticlm.core.errors import InputError
from ticlm.core.periods import TIC_CC_MONTHS, Calendar, Period, Timeline, span
from ticlm.core.settings import parse

POOLED = Calendar(initial="201305..201412", step="quarter", last="201506")
WEEKS = Calendar(initial="20240101..20240331", step="week", last="20240401..20240414")


def refusal(data: dict[str, Any]) -> str:
    with pytest.raises(InputError) as caught:
        parse(Calendar, data, "periods").timeline()
    return str(caught.value)


# TiC-CC


def test_tic_cc_has_114_months() -> None:
    timeline = Calendar(only="tic-cc").timeline()
    assert len(timeline) == 114 and timeline.labels == TIC_CC_MONTHS
    assert (timeline.labels[0], timeline.labels[-1]) == ("201305", "202407")
    assert " ".join(timeline.labels[:10]) == "201305 201312 201403 201404 201407 201408 201409 201410 201411 201412"


def test_months_without_a_crawl_are_absent_from_tic_cc() -> None:
    every = Calendar(initial="201305", last="202407").timeline().labels
    absent = "201306 201307 201308 201309 201310 201311 201401 201402 201405 201406 201509 201512 201601 201603 201611 "
    absent += "202202 202203 202204 202307 202308 202401"
    assert [label for label in every if label not in TIC_CC_MONTHS] == absent.split()


@pytest.mark.parametrize(
    ("months", "positions"),
    [
        ("201305 201501 201701 201901 202101 202301 202407", [0, 10, 29, 53, 77, 98, 113]),
        (
            "201403 201501 201602 201701 201801 201901 202001 202101 202201 202301 202402 202407",
            [2, 10, 20, 29, 41, 53, 65, 77, 89, 98, 108, 113],
        ),
        (
            "201305 201501 201602 201702 201712 201810 201908 202006 202104 202205 202303 202404",
            list(range(0, 120, 10)),
        ),
    ],
    ids=["oracle cutoffs", "evaluated checkpoints", "windows of deduplication"],
)
def test_months_of_tic_cc_stand_where_the_paper_has_them(months: str, positions: list[int]) -> None:
    timeline = Calendar(only="tic-cc").timeline()
    assert [timeline.index(month) for month in months.split()] == positions


def test_a_month_without_a_crawl_is_no_period_of_tic_cc() -> None:
    calendar = Calendar(only="tic-cc")
    assert calendar.place(date(2013, 6, 1)) is None
    assert calendar.place(date(2013, 5, 31)) == Period(label="201305", start=date(2013, 5, 1), end=date(2013, 6, 1))
    with pytest.raises(InputError, match="201306 is not a period of this calendar"):
        calendar.period("201306")


# pooling


def test_a_first_period_may_pool_months() -> None:
    first, second, third = POOLED.timeline().periods
    assert first == Period(label="201305-201412", start=date(2013, 5, 1), end=date(2015, 1, 1))
    assert second == Period(label="201501-201503", start=date(2015, 1, 1), end=date(2015, 4, 1))
    assert third == Period(label="201504-201506", start=date(2015, 4, 1), end=date(2015, 7, 1))


@pytest.mark.parametrize(
    ("step", "last", "labels"),
    [
        ("month", 202303, ["202211", "202212", "202301", "202302", "202303"]),
        ("quarter", "202302..202304", ["202211", "202212-202302", "202303-202305"]),
        ("half-year", "202311", ["202211", "202212-202305", "202306-202311"]),
        ("year", "202411", ["202211", "202212-202311", "202312-202411"]),
    ],
)
def test_steps_are_months_or_several_that_start_where_the_first_period_ends(
    step: Any, last: Any, labels: list[str]
) -> None:
    calendar = parse(Calendar, {"initial": 202211, "step": step, "last": last}, "periods")
    if step == "quarter":  # February to April does not end with a quarter that starts in December
        with pytest.raises(InputError, match=r"202302\.\.202304 ends inside the period 202303-202305"):
            calendar.timeline()
        calendar = parse(Calendar, {"initial": 202211, "step": step, "last": 202305}, "periods")
    assert list(calendar.timeline().labels) == labels


def test_weeks_are_counted_from_the_end_of_the_first_period() -> None:
    assert WEEKS.timeline().labels == ("202401-202403", "20240401-20240407", "20240408-20240414")
    assert WEEKS.place(date(2024, 4, 7)) == WEEKS.timeline().periods[1]
    assert WEEKS.place(date(2024, 4, 8)) == WEEKS.timeline().periods[2]


def test_months_may_be_picked() -> None:
    picked = parse(Calendar, {"only": [201305, "201401"]}, "periods")
    assert picked.timeline().labels == ("201305", "201401")
    assert picked.place(date(2013, 12, 1)) is None


# placing


@given(st.dates(date(2013, 5, 1), date(2015, 6, 30)))
def test_every_date_lies_in_the_period_that_holds_it(day: date) -> None:
    for calendar in (POOLED, Calendar(initial="201305", last="201506"), Calendar(initial="201305", step="week")):
        placed = calendar.place(day)
        assert placed is not None and placed.start <= day < placed.end
        assert calendar.period(placed.label) == placed
        if calendar.last is not None:
            assert placed in calendar.timeline().periods


@pytest.mark.parametrize("calendar", [POOLED, WEEKS])
def test_a_date_outside_a_bounded_calendar_has_no_period(calendar: Calendar) -> None:
    first, *_, last = calendar.timeline().periods
    assert calendar.place(first.start - timedelta(days=1)) is None and calendar.place(first.start) == first
    assert calendar.place(last.end) is None and calendar.place(last.end - timedelta(days=1)) == last


@pytest.mark.parametrize(
    ("calendar", "open_one"),
    [
        (Calendar(initial="202301", step="quarter", last="202306"), "202305-202307"),
        (Calendar(initial="20230102..20230131", step="week", last="20230210"), "20230208-20230214"),
        (Calendar(initial="202301", last="20230210"), "202302"),
    ],
)
def test_a_period_that_goes_on_after_the_end_holds_no_date_and_is_open(calendar: Calendar, open_one: str) -> None:
    start, end = span(open_one)
    for day in (start, end - timedelta(days=1)):
        found = calendar.open_period(day)
        assert calendar.place(day) is None and found is not None and found.label == open_one
    for day in (start - timedelta(days=1), end):
        assert calendar.open_period(day) is None
    whole = calendar.model_copy(update={"last": open_one})
    assert whole.place(start) == whole.timeline().periods[-1] and whole.open_period(start) is None


def test_an_unbounded_calendar_places_any_date() -> None:
    placed = Calendar().place(date(1815, 6, 18))
    assert placed is not None and placed.label == "181506"


def test_a_moment_is_placed_by_its_day_in_utc() -> None:
    calendar = Calendar(initial="202301", last="202302")
    east, west = timezone(timedelta(hours=2)), timezone(timedelta(hours=-2))
    labels = [
        placed.label if (placed := calendar.place(moment)) else None
        for moment in (
            datetime(2023, 2, 1, 1, tzinfo=east),
            datetime(2023, 1, 31, 23, tzinfo=west),
            datetime(2023, 1, 31, 23, tzinfo=UTC),
            datetime(2023, 1, 31, 23),
            datetime(2023, 1, 1, 1, tzinfo=east),
        )
    ]
    assert labels == ["202301", "202302", "202301", "202301", None]


# timelines


def test_a_label_outside_the_timeline_is_answered_with_its_ends() -> None:
    with pytest.raises(InputError, match=r"period 202305 is not in the timeline; it has 202301 … 202304 \(4\)"):
        Calendar(initial="202301", last="202304").timeline().index("202305")


def test_periods_are_in_order_and_do_not_overlap() -> None:
    months = Calendar(initial="202301", last="202303").timeline().periods
    for wrong in (months[::-1], (months[0], months[0]), ()):
        with pytest.raises(ValueError, match=r"overlap or are out of order|needs at least one"):
            Timeline(periods=wrong)


# errors


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({}, "give initial and last (or only)"),
        ({"initial": 202301}, "give initial and last (or only)"),
        ({"last": 202301}, "last needs initial"),
        ({"initial": 202313, "last": 202401}, "'202313' is not a span of time; write YYYYMM, YYYYMMDD or FIRST..LAST"),
        ({"initial": "May 2013", "last": 202401}, "'May 2013' is not a span of time"),
        ({"initial": "201412..201305", "last": 202401}, "201412..201305: the last month lies before the first"),
        ({"initial": 202301, "last": 202313}, "'202313' is not a span of time"),
        ({"initial": 202301, "last": 202212}, "last 202212 lies before the end of initial 202301"),
        ({"initial": "202301..202303", "last": 202302}, "last 202302 lies before the end"),
        ({"step": "week"}, "step week needs an initial span"),
        ({"initial": 202301, "step": "day", "last": 202302}, "'quarter', 'half-year' or 'year'"),
        ({"only": [202301], "initial": 202301, "last": 202302}, "only lists months by itself"),
        ({"only": []}, "only lists one month or more, each once, oldest first"),
        ({"only": [202302, 202301]}, "each once, oldest first"),
        ({"only": [202301, 202301]}, "each once, oldest first"),
        ({"only": [20230101]}, "only lists months as YYYYMM, got '20230101'"),
        ({"only": ["tic"]}, "only lists months as YYYYMM, got 'tic'"),
        ({"only": [202300]}, "'202300' is not a span of time"),
    ],
)
def test_a_calendar_that_makes_no_sense_is_refused_in_one_line(data: dict[str, Any], said: str) -> None:
    message = refusal(data)
    assert message.startswith("periods") and said in message and "\n" not in message


def test_a_label_that_cuts_a_period_is_not_one() -> None:
    assert POOLED.period("201501..201503").label == "201501-201503"
    for label in ("201305", "201501", "201502-201504"):
        with pytest.raises(InputError, match=f"{label} is not a period of this calendar"):
            POOLED.period(label)


@pytest.mark.parametrize("label", ["nonsense", "2023", "202300", ""])
def test_a_label_that_is_no_span_is_refused(label: str) -> None:
    with pytest.raises(InputError):
        POOLED.period(label)


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("201305", date(2013, 5, 1), date(2013, 6, 1)),
        ("201312", date(2013, 12, 1), date(2014, 1, 1)),
        ("20240229", date(2024, 2, 29), date(2024, 3, 1)),
        ("201305..201412", date(2013, 5, 1), date(2015, 1, 1)),
        ("201305-201412", date(2013, 5, 1), date(2015, 1, 1)),
        ("20240401-20240407", date(2024, 4, 1), date(2024, 4, 8)),
    ],
)
def test_a_span_includes_its_last_month_or_day(text: str, start: date, end: date) -> None:
    assert span(text) == (start, end)
