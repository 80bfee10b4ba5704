"""CSV files: rows with cells of several lines, and lines whose quotes are wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from ticlm.datasets.io import csv_rows
from ticlm.datasets.io.csv_rows import SWALLOWED, UNEVEN
from ticlm.datasets.io.records import BadRecord

HEADER = "id,input,output\n"
GOOD = "".join(f"{n},in {n},out {n}\n" for n in range(500))


def read(folder: Path, text: str) -> tuple[list[tuple[str, ...]], list[tuple[int, str]]]:
    """The cells of each row, and (line, reason) of each line without one."""
    path = folder / "x.csv"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    found = list(csv_rows.rows(str(path)))
    rows = [tuple(row.values()) for _, row in found if not isinstance(row, BadRecord)]
    return rows, [(line, row.reason) for line, row in found if isinstance(row, BadRecord)]


@pytest.mark.parametrize("bad", ['a,b,"open', 'a,"open,c', '"', 'a,b,""",'])
def test_a_quote_that_is_never_closed_costs_its_line_alone(bad: str, tmp_path: Path) -> None:
    rows, lost = read(tmp_path, f"{HEADER}{GOOD}{bad}\n{GOOD}")
    assert len(rows) == 1000 and rows[500] == ("0", "in 0", "out 0")
    assert lost == [(502, SWALLOWED)]


@pytest.mark.parametrize("closing", ['7,"a, b",c', '7,a,"c"', '"7",a,c'])
def test_a_quote_that_a_later_row_seems_to_close_swallows_none(closing: str, tmp_path: Path) -> None:
    rows, lost = read(tmp_path, f'{HEADER}{GOOD}x,y,"open\n{GOOD}{closing}\n{GOOD}')
    assert len(rows) == 1501 and rows[1000][0] == "7" and lost == [(502, SWALLOWED)]


def test_cells_of_several_lines_stay_whole(tmp_path: Path) -> None:
    cell = 'One, "two"\n\nthree\r\nfour\n'
    quoted = cell.replace('"', '""')
    rows, lost = read(tmp_path, f'{HEADER}1,"{quoted}",x\n\n2,"{quoted}","{quoted}"\n')
    assert rows == [("1", cell, "x"), ("2", cell, cell)] and not lost


def test_a_quote_within_a_cell_of_one_line_is_a_character(tmp_path: Path) -> None:
    rows, lost = read(tmp_path, f'{HEADER}1,5" disk,x\n2,"a"b,y\n3,z\n4,a,b,c\n')
    assert rows == [("1", '5" disk', "x"), ("2", "ab", "y")]
    assert lost == [(4, UNEVEN), (5, UNEVEN)]


def test_a_row_has_so_many_lines_and_no_more(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_rows, "MOST_LINES", 4)
    rows, lost = read(tmp_path, f'{HEADER}1,"a\nb\nc\nd",x\n2,"a\nb\nc\nd\ne",x\n3,y,z\n')
    assert rows == [("1", "a\nb\nc\nd", "x"), ("3", "y", "z")]
    assert lost == [(6, SWALLOWED), (7, UNEVEN), (8, UNEVEN), (9, UNEVEN), (10, UNEVEN)]


def test_a_file_of_open_quotes_is_read_in_a_time_in_proportion_and_every_line_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(csv_rows, "MOST_LINES", 100)
    monkeypatch.setattr(csv_rows, "AGAIN", 2)
    taken = 0
    lines = csv_rows._Lines._next

    def counting(self: csv_rows._Lines) -> Iterator[str]:
        nonlocal taken
        for line in lines(self):
            taken += 1
            yield line

    monkeypatch.setattr(csv_rows._Lines, "_next", counting)
    rows, lost = read(tmp_path, HEADER + 'x","\n' * 4000)  # each opens a quote, and closes none of a line before
    assert not rows and [line for line, _ in lost] == [*range(2, 4002)]
    assert taken < 5 * 4000, "without a bound: 100 times each"


def test_an_empty_file_has_no_columns(tmp_path: Path) -> None:
    assert read(tmp_path, "") == ([], []) and csv_rows.columns(str(tmp_path / "x.csv")) == ()
    assert read(tmp_path, "a,b\n") == ([], [])


def test_names_of_columns_are_told_on_one_line_of_a_bounded_length(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('"a\nb",' + "c" * 1000 + ",d" * 1000 + "\n")
    told = csv_rows.listed(csv_rows.columns(str(tmp_path / "x.csv")))
    assert told.startswith(f"a b, {'c' * 40}, d, d") and told.endswith("d and 982 more") and len(told) < 200
