"""Losses behind right and wrong dates: worked by hand, and of the same tokens."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from sets import Prompter, kept, measured

from ticlm.core.examples import Example
from ticlm.platform.tasks.dated_documents import DatedPerplexity, _moved

TASK = DatedPerplexity(name="dates", examples="toy", shifts=(-12, 1), line="%b %Y", first_tokens=2)
ONE = Example("1", "a b c", about={"date": "2015-01-31"})
TWO = Example("2", "d", about={"date": "2015-02-01"})
WORDS = {
    ("Jan 2015\n", "Jan 2014\n", "Feb 2015\n", ""): [("a", 1.0), (" b", 2.0), (" c", 50.0)],
    ("Feb 2015\n", "Feb 2014\n", "Mar 2015\n", ""): [("d", 3.0)],
}


def by_heart() -> Prompter:
    """Behind the date n of the list, each token costs n more."""
    pieces = {}
    for lines, words in WORDS.items():
        text = "".join(word for word, _ in words)
        for number, line in enumerate(lines):
            own = [(word, loss + number) for word, loss in words]
            pieces[line + text] = ([(line, 9.0)] if line else []) + own
    return Prompter(pieces)


def test_the_losses_by_hand(tmp_path: Path) -> None:
    """Three tokens are scored: the third word of the first text is beyond `first_tokens`."""
    found = {title: one for (title, _), one in measured(TASK, by_heart(), kept(tmp_path, ONE, TWO)).items()}
    values = {title: one.value for title, one in found.items()}
    assert values == pytest.approx(
        {"nll": 2, "nll-12": 3, "nll+1": 4, "nll-none": 5}
        | {"difference-12": 1, "difference+1": 2, "difference-none": 3}
    )
    assert {one.n for one in found.values()} == {3}
    assert found["difference-12"].stderr == pytest.approx(0, abs=1e-9), "paired: every text has the same difference"
    assert (found["nll"].stderr or 0) > 0


@pytest.mark.parametrize(
    ("months", "day"),
    [(1, date(2015, 2, 28)), (-12, date(2014, 1, 31)), (11, date(2015, 12, 31)), (-1, date(2014, 12, 31))],
)
def test_months_are_moved_within_the_calendar(months: int, day: date) -> None:
    assert _moved(date(2015, 1, 31), months) == day


@pytest.mark.parametrize("shifts", [(0, 3), (3, 3)])
def test_the_right_date_is_no_shift(shifts: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="none may be 0"):
        DatedPerplexity(name="dates", examples="toy", shifts=shifts)
