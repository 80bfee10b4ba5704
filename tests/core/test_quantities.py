"""Quantities as text: one rule for counts and bytes, whoever prints them."""

import pytest

from ticlm.core import quantities
from ticlm.core.quantities import printable, size
from ticlm.datasets.corpus.show_tables import short
from ticlm.platform.analysis.numbers import count, signed


@pytest.mark.parametrize(
    ("value", "shown", "in_columns", "in_bytes"),
    [
        (0, "0", "0", "0 B"),
        (999, "999", "999", "999 B"),
        (1_000, "1.00K", "1,000", "1.00 kB"),
        (999_499, "999K", "999,499", "999 kB"),
        (999_500, "1.00M", "999,500", "1.00 MB"),
        (20_480_000, "20.5M", "20.5M", "20.5 MB"),
        (1_155_000_000_000, "1.16T", "1.16T", "1.16 TB"),
        (3 * 10**15, "3000T", "3000T", "3.00 PB"),
    ],
)
def test_a_quantity_has_three_digits_and_a_suffix(value: int, shown: str, in_columns: str, in_bytes: str) -> None:
    assert (count(value), short(value), size(value)) == (shown, in_columns, in_bytes)


def test_a_number_has_a_real_sign_and_a_missing_one_is_a_dash() -> None:
    assert [signed(value, 1) for value in (1.26, -1.26, float("nan"))] == ["1.3", "−1.3", "–"]
    assert [signed(value, 1, plus=True) for value in (1.26, 0.0, -1.26)] == ["+1.3", "0.0", "−1.3"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a name, naïve 名 👩‍👧\tand\nlines", "a name, naïve 名 👩‍👧\tand\nlines"),
        ("\x1b[2J\x07", "\\x1b[2J\\x07"),
        ("\x9b31m\r", "\\x9b31m\\r"),
        ("\u202eback\u2066", "\\u202eback\\u2066"),
        ("half \ud800", "half \\ud800"),
    ],
)
def test_what_would_steer_a_terminal_is_spelled_out(text: str, shown: str) -> None:
    assert printable(text) == shown
    assert printable(shown).encode() == shown.encode()


@pytest.mark.parametrize(
    ("count", "seconds", "shown"),
    [
        (5_318, 1.0, "5,318 cells/s"),
        (24, 2.0, "12 cells/s"),
        (7, 5.0, "1.4 cells/s"),
        (7, 15.0, "28 cells/min"),
        (1, 45.0, "1.3 cells/min"),
        (1, 120.0, "30 cells/h"),
        (1, 7200.0, "0.5 cells/h"),
        (0, 9.0, ""),
        (3, 0.0, ""),
    ],
)
def test_a_rate_is_per_as_much_time_as_one_takes(count: int, seconds: float, shown: str) -> None:
    assert quantities.rate(count, seconds, "cells") == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.2, "0 s"), (58.6, "59 s"), (59.7, "1 min 00 s"), (185, "3 min 05 s"), (7390, "2 h 03 min")],
)
def test_a_duration_is_in_words_of_a_clock(seconds: float, shown: str) -> None:
    assert quantities.duration(seconds) == shown
