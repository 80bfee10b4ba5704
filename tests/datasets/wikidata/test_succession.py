"""Changes of dated values: who followed whom, and the cases in which nobody can tell."""

from __future__ import annotations

import pytest

from ticlm.datasets.wikidata import succession
from ticlm.datasets.wikidata.dated import Held, MonthRange, months
from ticlm.datasets.wikidata.succession import successions
from ticlm.datasets.wikidata.values import StatementValue


def when(text: str) -> MonthRange:
    """A month such as 2014-05, or all months of a year such as 2014."""
    year, _, month = text.partition("-")
    first = 12 * int(year) + int(month or 1) - 1
    return MonthRange(first, first if month else first + 11)


def held(lines: str) -> list[Held]:
    """Values with their start and perhaps their end: "A 2010-01 2014-05; B 2014-05"."""
    parts = [line.split() for line in lines.split(";")]
    return [Held(StatementValue(name), when(start), when(end[0]) if end else None) for name, start, *end in parts]


def told(lines: str, gap: int = 3) -> tuple[list[str], dict[str, int]]:
    found, dropped = successions(held(lines), gap)
    changes = [f"{one.old.key}>{one.new.key} {one.month // 12}-{one.month % 12 + 1:02d}" for one in found]
    assert len(changes) + dropped.total() == len(lines.split(";"))
    return changes, {reason: count for reason, count in dropped.items() if reason != succession.FIRST}


@pytest.mark.parametrize(
    ("lines", "changes", "dropped"),
    [
        ("A 2010-01 2014-05; B 2014-05 2018-03; C 2018-03", ["A>B 2014-05", "B>C 2018-03"], {}),
        ("A 2010-01; B 2014-05; C 2018-03", ["A>B 2014-05", "B>C 2018-03"], {}),  # ends are often not written down
        ("A 2010-01 2014-05; B 2014-05; B 2014-05", ["A>B 2014-05"], {succession.TWICE: 1}),
        ("A 2010-01 2014; B 2014-05", ["A>B 2014-05"], {}),  # an end known to the year may be the month
        ("A 2010-01 2014-06; B 2014-05", ["A>B 2014-05"], {}),  # a month of handing over
        ("A 2010-01 2014-07; B 2014-05", [], {succession.OVERLAP: 1}),
        ("A 2010-01 2014-05; A 2014-05 2018-03; B 2018-03", ["A>B 2018-03"], {succession.SAME: 1}),
        ("A 2010-01 2014-05; B 2014-08", ["A>B 2014-08"], {}),
        ("A 2010-01 2014-05; B 2014-09", [], {succession.GAP: 1}),
        ("A 2010-01 2014-05; B 2014-05; C 2014-05", [], {succession.TWO: 2}),
        # B joined A, who then left C alone
        ("A 2010-01 2020-01; B 2015-01 2018-01; C 2020-01", ["A>C 2020-01"], {succession.OVERLAP: 1}),
        ("A 2010-01 2020-01; B 2015-01 2020-01; C 2020-01", [], {succession.OVERLAP: 2}),
        # B began some time in 2014: it makes no change, hides those of its year, and comes before C
        ("A 2010-01; B 2014; C 2018-03", ["B>C 2018-03"], {succession.COARSE: 1}),
        ("A 2010-01; B 2014; C 2014-03", [], {succession.COARSE: 1, succession.BESIDE_COARSE: 1}),
        ("A 2010-01; B 2014; B 2014-03", ["A>B 2014-03"], {succession.COARSE: 1}),
        # after two values in one month nobody knows which one was last
        ("A 2010-01; B 2014-05; C 2014-05; D 2016-01", [], {succession.TWO: 2, succession.OVERLAP: 1}),
        ("A 2010-01; B 2014-05 2014-05; C 2014-05 2016-01; D 2016-01", ["C>D 2016-01"], {succession.TWO: 2}),
        ("A 2010-01 2012-01; B 2012-01 2014-01; A 2014-01", ["A>B 2012-01", "B>A 2014-01"], {}),
    ],
)
def test_what_follows_what(lines: str, changes: list[str], dropped: dict[str, int]) -> None:
    assert told(lines) == (changes, dropped)


def test_the_order_of_the_statements_changes_nothing() -> None:
    lines = "A 2010-01 2020-01; B 2015-01 2018-01; C 2020-01; D 2021; E 2022-02 2022-02; F 2022-02"
    assert told(lines) == told(";".join(reversed(lines.split(";"))))


def test_seats_of_a_parliament_are_no_office() -> None:
    many = [Held(StatementValue(f"Q{n}"), MonthRange(n, n)) for n in range(succession.MOST_VALUES + 1)]
    assert successions(many, 0) == ([], {succession.MANY: len(many)})


def test_a_time_means_months() -> None:
    may = 12 * 2014 + 4
    assert months({"time": "+2014-05-12T00:00:00Z", "precision": 11}) == MonthRange(may, may)
    assert months({"time": "+00000002014-05-00T00:00:00Z", "precision": 10}) == MonthRange(may, may)
    assert months({"time": "+2014-00-00T00:00:00Z", "precision": 9}) == MonthRange(12 * 2014, 12 * 2014 + 11)
    decade = months({"time": "+2014-00-00T00:00:00Z", "precision": 8})
    assert decade is not None and decade.first <= 12 * 2010 and decade.last >= 12 * 2019 + 11
    assert months({"time": "-0044-03-15T00:00:00Z", "precision": 11}) is None
    assert months({"time": "+2014-00-00T00:00:00Z", "precision": 10}) is None
    assert months({"time": 7}) is None
